"""What the commands for models share: tables, times, and the exit code of a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from sojourn.cli.draw import escape, new_table
from sojourn.errors import Exit
from sojourn.units import show_ns

if TYPE_CHECKING:
    from rich.console import Console


def print_table(console: Console, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print `rows` below `head` as a table without lines."""
    table = new_table(*head)
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    console.print(table)


def spread(row: Mapping[str, Any], name: str, digits: int) -> str:
    """A share with its interval, where it has one: `29.07% (27.52-30.61)`.

    >>> spread({"gain": 0.29, "gain_lo": 0.27, "gain_hi": 0.31}, "gain", 0)
    '29% (27-31)'
    >>> spread({"gain": 1.0}, "gain", 0), spread({}, "gain", 0)
    ('100%', 'unknown')
    """
    value, low, high = (row.get(f"{name}{end}") for end in ("", "_lo", "_hi"))
    if value is None:
        return "unknown"
    if low is None or high is None:
        return f"{value:.{digits}%}"
    return f"{value:.{digits}%} ({100 * low:.{digits}f}-{100 * high:.{digits}f})"


def shown(ns: float | None) -> str:
    """A time for people; None is one that never ended."""
    return "inf" if ns is None else show_ns(ns)


def end(verdict: str) -> None:
    """End the command: 0 holds, 1 violated, 3 unknown."""
    codes = {"holds": Exit.OK, "violated": Exit.VIOLATED}
    raise typer.Exit(codes.get(verdict, Exit.UNKNOWN))
