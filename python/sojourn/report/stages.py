"""The breakdown as text: a line per stage, a column per condition; reads without colour."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sojourn.analysis.findings import Breakdown, Stages
from sojourn.plan.points import Verdict
from sojourn.report import show

NAME = 12
CELL = 11


def lines(found: Breakdown, width: int) -> Iterator[str]:
    """Means per stage, totals, the client's gap and the tracer's cost, in tables that fit."""
    known = [column for column in found.columns if column.stages]
    at_once = max(1, (width - NAME) // CELL)
    for first in range(0, len(known), at_once):
        yield ""
        yield from _table(known[first : first + at_once])
    for column in found.columns:
        if column.reasons:
            line = f"- {column.name} ?: {show.sentences(column.reasons)}"
            yield from textwrap.wrap(line, width, subsequent_indent="  ")


def _table(columns: Sequence[Stages]) -> Iterator[str]:
    heads = [textwrap.wrap(named(column), CELL - 1) for column in columns]
    for row in range(max(map(len, heads))):
        yield _row("mean" if row == 0 else "", [h[row] if row < len(h) else "" for h in heads])
    for at, (stage, _) in enumerate(columns[0].stages):
        yield _row(stage, [show.time(column.stages[at][1]) for column in columns])
    yield _row("total", [show.time(column.mean_ns) for column in columns])
    yield _row("total p99", [show.time(dict(column.quantiles).get(0.99)) for column in columns])
    yield _row("client p99", [_wire(column, 0.99) for column in columns])
    yield _row("worst cause", [_cause(column) for column in columns])
    yield _row("cost p99", [_ratio(column.cost.p99) for column in columns])
    yield _row("cost CPU", [_ratio(column.cost.cpu) for column in columns])


def named(column: Stages) -> str:
    """The column's name, with a question mark where it is in doubt."""
    return column.name if column.verdict is Verdict.HOLDS else f"{column.name} ?"


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:<{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)


def _wire(column: Stages, q: float) -> str:
    return show.time(next((gap.wire_ns for gap in column.gaps if gap.q == q), None))


def _cause(column: Stages) -> str:
    return max(column.tail_causes, key=lambda pair: pair[1], default=("–", 0.0))[0]


def _ratio(ratio: float | None) -> str:
    return "–" if ratio is None else f"× {ratio:.2f}"
