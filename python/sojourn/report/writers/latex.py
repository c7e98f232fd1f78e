"""A table of loads for each service, in LaTeX with booktabs, for a paper."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.report import show, verdict_of_all
from sojourn.report.writers.writer import Writer
from sojourn.visible import in_line

_LETTERS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "µ": r"\textmu{}",
    "–": "--",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "∞": r"$\infty$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "`": r"\textasciigrave{}",
    "≈": r"$\approx$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "→": r"$\rightarrow$",
    "…": r"\ldots{}",
}
_TABLE = str.maketrans(_LETTERS)
_DASHES = re.compile("-(?=-)")  # two are one dash in LaTeX, and `--opt` another word


def escaped(text: str) -> str:
    r"""A text of anybody as LaTeX prints it: no command of it runs.

    >>> print(escaped(r"50_% \input{x} 3 µs"))
    50\_\% \textbackslash{}input\{x\} 3 \textmu{}s
    >>> print(escaped("--opt=~a^b#c ?`"))
    -{}-opt=\textasciitilde{}a\textasciicircum{}b\#c ?\textasciigrave{}
    """
    parted = _DASHES.sub("-\0", in_line(" ".join(text.split())))
    return parted.translate(_TABLE).replace("\0", "{}")


def content(findings: Findings) -> bytes:
    """A `table` for each service that has loads; the preamble needs `booktabs`."""
    lines = [
        "% needs \\usepackage{booktabs} and \\usepackage{textcomp}; names in other letters than",
        "% those of pdflatex need lualatex or xelatex",
    ]
    for service in findings.services:
        if service.points:
            lines += ["", *_service(findings, service)]
    return ("\n".join(lines) + "\n").encode(errors="backslashreplace")


def _service(findings: Findings, service: ServiceFinding) -> Iterator[str]:
    every = [one for point in service.points for one in point.quantiles]
    quantiles = sorted({one.q for one in every if one.q and one.value is not None})
    heads = ["load", "requests/s", "mean", *map(show.quantile, quantiles), "verdict"]
    yield r"\begin{table}"
    yield rf"  \caption{{{escaped(service.service)}: {escaped(findings.question)}}}"
    yield rf"  \begin{{tabular}}{{{'r' * (len(heads) - 1)}l}}"
    yield r"    \toprule"
    yield _row(heads)
    yield r"    \midrule"
    for point in service.points:
        known = {one.q: one for one in point.quantiles}
        numbers = map(show.with_interval, (point.mean, *map(known.get, quantiles)))
        rate = show.count(point.offered_rps)
        yield _row([show.load(point.fraction), rate, *numbers, point.verdict.value])
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    if why := verdict_of_all.text(service):
        yield rf"  \\ {{\footnotesize {escaped(why)}}}"
    yield r"\end{table}"


def _row(cells: list[str]) -> str:
    return f"    {' & '.join(map(escaped, cells))} \\\\"


WRITER = Writer(name="latex", about="a table of loads, with booktabs", content=content)
