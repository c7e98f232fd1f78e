"""The breakdown in words: a line per stage, a column per condition; the text that holds it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sojourn.analysis.findings import Breakdown, Stages
from sojourn.plan.points import Verdict
from sojourn.report import show

NAME = 12
CELL = 11
CPU = {
    "user_share": "CPU user",
    "kernel_share": "CPU kernel",
    "softirq_share_of_kernel": "its softIRQ",
}


def lines(found: Breakdown, width: int) -> Iterator[str]:
    """Means per stage, totals, the client's gap and the tracer's cost, in tables that fit."""
    columns = known(found)
    at_once = max(1, (width - NAME) // CELL)
    for first in range(0, len(columns), at_once):
        yield ""
        yield from _table(columns[first : first + at_once])
    for column in found.columns:
        if column.reasons:
            line = f"- {column.name} ?: {show.sentences(column.reasons)}"
            yield from textwrap.wrap(line, width, subsequent_indent="  ")


def known(found: Breakdown | None) -> tuple[Stages, ...]:
    """The columns that hold something."""
    return tuple(c for c in found.columns if c.stages) if found else ()


def _table(columns: Sequence[Stages]) -> Iterator[str]:
    heads = [textwrap.wrap(named(column), CELL - 1) for column in columns]
    for row in range(max(map(len, heads))):
        yield _row("mean" if row == 0 else "", [h[row] if row < len(h) else "" for h in heads])
    for name, cells in rows(columns):
        yield _row(name, cells)


def rows(columns: Sequence[Stages], *, is_tail: bool = False) -> list[tuple[str, list[str]]]:
    """(name, a cell per column): stages and what they add to; of all requests, or at p99 and above.

    For all requests also the client's p99, the tracer's cost, and who used the CPU (L11); for the
    tail its causes (L3).
    """
    found: list[tuple[str, list[str]]] = []
    for at, (stage, _) in enumerate(columns[0].tail if is_tail else columns[0].stages):
        times = [(c.tail if is_tail else c.stages)[at][1] for c in columns]
        found.append((stage, [show.time(ns) for ns in times]))
    if is_tail:
        found.append(("total", [show.time(c.tail_mean_ns) for c in columns]))
        return found + _shares([c.tail_causes for c in columns])
    return [
        *found,
        ("total", [show.time(c.mean_ns) for c in columns]),
        ("total p99", [show.time(dict(c.quantiles).get(0.99)) for c in columns]),
        ("client p99", [_wire(c, 0.99) for c in columns]),
        ("worst cause", [_cause(c) for c in columns]),
        ("cost p99", [_ratio(c.cost.p99) for c in columns]),
        ("cost CPU", [_ratio(c.cost.cpu) for c in columns]),
        *_shares([c.cpu for c in columns]),
    ]


def _shares(columns: Sequence[Sequence[tuple[str, float]]]) -> list[tuple[str, list[str]]]:
    names = list(dict.fromkeys(name for column in columns for name, _ in column))
    return [
        (CPU.get(name, name), [show.share(dict(column).get(name)) for column in columns])
        for name in names
    ]


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
