"""A service beside a neighbour: what it costs, where the tail breaks, and the simulator's order."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from sojourn.findings.findings import Findings
from sojourn.questions.beside import figure
from sojourn.questions.beside.costs import Beside, BesideSection
from sojourn.questions.beside.words import break_words, share_words, tail_ns, time_words
from sojourn.report import people, show
from sojourn.report.draw.table import Table
from sojourn.report.section import GAP, Shown
from sojourn.text.numbers import percent, percentile

NAME = "beside"
BREAKS = (
    "Where the tail is twice that alone, and the pace of the neighbour as a share of its pace alone"
)
COSTS = "A request beside the neighbour, less one alone, at equal load"
ORDER = "The simulator's order of the settings against the measured one"
ROWS_MAX = 1_000
NAMED_MAX = 3
COLUMN_MAX = 34


class BesideShown(Shown):
    """A part of the report for itself, which is reported first."""

    name = NAME
    template = ""
    study_template = "study_tables.html.j2"
    study_link = (NAME, "Beside a neighbour")
    leads = True
    figures = (figure.KIND,)

    def study_head(self, findings: Findings) -> Iterator[str]:
        """The answer, then what the simulator says, then why something is open."""
        if section := findings.section(BesideSection):
            yield from filter(None, [section.answer, section.order_words])
            yield from (f"{why}." for why in section.reasons)

    def study_data(self, findings: Findings) -> Iterator[tuple[str, Table]]:
        """Three tables: breaks, costs at every load, pairs of settings."""
        section = findings.section(BesideSection)
        if not section:
            return
        yield BREAKS, _breaks(section)
        yield COSTS, _costs(section)
        if section.order:
            yield ORDER, _order(section)

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """The same tables, as text."""
        for caption, table in self.study_data(findings):
            yield f"{caption} ".ljust(width, "=")
            yield from lines(table, width)


def lines(table: Table, width: int) -> Iterator[str]:
    """A table as text; a cell that is too wide for its column goes on below."""
    shown = people.table(table, limit=ROWS_MAX)
    every = [shown.columns, *shown.rows]
    wide = [min(COLUMN_MAX, max(len(row[at]) for row in every)) for at in range(len(every[0]))]
    for row in every:
        parts = [textwrap.wrap(cell, size) or [""] for cell, size in zip(row, wide, strict=True)]
        for line in range(max(map(len, parts))):
            cells = (part[line] if line < len(part) else "" for part in parts)
            text = "".join(c.ljust(size + GAP) for c, size in zip(cells, wide, strict=True))
            yield text.rstrip()[: max(width, sum(wide) + GAP * len(wide))]


def _breaks(section: BesideSection) -> Table:
    rows = tuple(
        (
            one.service,
            one.setting or "as it is",
            one.neighbour,
            f"{percentile(one.q)} {break_words(one.breaks)}",
            share_words(one.kept) if one.kept else "not known",
            _others(one),
        )
        for one in section.found
    )
    columns = ("service", "setting", "neighbour", "breaks", "kept", "others_there")
    return Table(columns=columns, rows=rows)


def _others(one: Beside) -> str:
    """Who was neither service nor neighbour; behind a shield no one looks."""
    if one.others is None:
        return "not measured"
    named = ", ".join(f"{task} {percent(share)}" for task, share in one.others[:NAMED_MAX])
    return named or "no task over 0.5 %"


def _costs(section: BesideSection) -> Table:
    rows = tuple(
        (
            one.setting or "as it is",
            one.neighbour,
            show.load(row.load),
            tail_ns(row.alone_ns),
            tail_ns(row.beside_ns),
            _times(row.ratio.value, row.ratio.interval) if row.ratio else "–",
            time_words(row.mean_ns) if row.mean_ns else "–",
            time_words(row.tail_ns) if row.tail_ns else "–",
            share_words(row.kept) if row.kept else "–",
        )
        for one in section.found
        for row in one.rows
    )
    tail = percentile(section.found[0].q) if section.found else "tail"
    columns = (
        "setting",
        "neighbour",
        "load",
        f"{tail}_alone",
        f"{tail}_beside",
        "times",
        "mean_more",
        f"{tail}_more",
        "kept",
    )
    return Table(columns=columns, rows=rows)


def _times(value: float, ends: object) -> str:
    lo, hi = getattr(ends, "lo", None), getattr(ends, "hi", None)
    between = f" ({_ratio(lo)} to {_ratio(hi)})" if lo is not None and hi is not None else ""
    return f"{_ratio(value)}{between}"


def _ratio(value: float) -> str:
    return "∞" if value == float("inf") else f"{value:.3g}"


def _order(section: BesideSection) -> Table:
    rows = tuple(
        (
            f"{pair.one} before {pair.other}",
            " and ".join(_at(load) for load in pair.simulated),
            " and ".join(pair.measured),
            pair.verdict,
        )
        for pair in section.order
    )
    columns = ("simulated_order", "simulated_breaks", "measured_breaks", "verdict")
    return Table(columns=columns, rows=rows)


def _at(load: float) -> str:
    return "never" if load == float("inf") else show.load(load)


KIND = BesideShown()
