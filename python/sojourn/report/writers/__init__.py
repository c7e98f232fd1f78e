"""The formats in which a report can be written: a file a format, and a line here.

`--export FORMAT=FILE` names one. It is checked before anything is measured or read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from sojourn import disk, extras, kinds
from sojourn.errors import SpecFault, StoreFault
from sojourn.findings.findings import Findings
from sojourn.report import parts
from sojourn.report.writers import (
    csv,
    html,
    json,
    latex,
    markdown,
    openmetrics,
    otlp_metrics,
    otlp_traces,
    text,
)
from sojourn.report.writers.writer import Writer
from sojourn.text.near import near

WRITERS: Mapping[str, Writer] = kinds.table(
    html.WRITER,
    text.WRITER,
    json.WRITER,
    csv.WRITER,
    markdown.WRITER,
    latex.WRITER,
    openmetrics.WRITER,
    otlp_metrics.WRITER,
    otlp_traces.WRITER,
)
Exports: TypeAlias = Sequence[tuple[Writer, Path]]


ENDINGS: Mapping[str, str] = {
    ".html": "html",
    ".txt": "text",
    ".md": "markdown",
    ".csv": "csv",
    ".json": "json",
    ".tex": "latex",
}


def form_of(path: Path) -> str:
    """The format that the ending of a file's name means; "" if it is none, or of a folder.

    >>> form_of(Path("page.html")), form_of(Path("reports")), form_of(Path("v1.2"))
    ('html', '', '')
    """
    return "" if path.is_dir() else ENDINGS.get(path.suffix, "")


def asked(texts: Iterable[str]) -> Exports:
    """Format and file of each `FORMAT=FILE`.

    Raises:
        SpecFault: it is not of that form, there is no such format, or no such folder.
        HostFault: the format needs a package that is not installed.
    """
    return tuple(map(_asked, texts))


def _asked(inputs: str) -> tuple[Writer, Path]:
    name, equals, file = inputs.partition("=")
    at, known = f"--export {inputs}", ", ".join(WRITERS)
    if not equals or not file:
        raise SpecFault(
            f"'{inputs}' is not FORMAT=FILE",
            at=at,
            fix=f"write --export markdown=answer.md; {known}",
        )
    if name not in WRITERS:
        meant = near(name, WRITERS)
        hint = f"did you mean {' or '.join(meant)}? " if meant else ""
        raise SpecFault(f"there is no format '{name}'", at=at, fix=f"{hint}known: {known}")
    if what := _no_file(Path(file)):
        raise SpecFault(f"'{file}' {what}", at=at, fix="name a file in a folder that exists")
    if WRITERS[name].needs:
        extras.require(WRITERS[name].needs)
    return WRITERS[name], Path(file)


def _no_file(path: Path) -> str:
    """Why there can be no such file; "" if there can."""
    try:
        if path.is_dir():
            return "is a folder"
        return "" if path.parent.is_dir() else "is in a folder that does not exist"
    except OSError as error:  # such as a name that is too long
        return f"is no name of a file: {error.strerror}"


def export(findings: Findings, exports: Exports, of: parts.Parts) -> None:
    """Write each file; one that exists is replaced at once.

    Raises:
        StoreFault: a file cannot be written.
    """
    with parts.using(of):
        for writer, path in exports:
            replace(path, writer.content(findings), fix="name another file after --export")


def replace(path: Path, content: bytes, *, fix: str) -> Path:
    """Write a file so that a reader never sees half of it; folders above it are made."""
    try:
        disk.write_whole(path, lambda file: file.write(content), is_made=True)
    except OSError as error:
        raise StoreFault(
            f"the report cannot be written: {error.strerror or error}", at=str(path), fix=fix
        ) from error
    return path
