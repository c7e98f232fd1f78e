"""What the commands for models share: tables, times, and the exit code of a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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


def shown(ns: float | None) -> str:
    """A time for people; None is one that never ended."""
    return "inf" if ns is None else show_ns(ns)


def end(verdict: str) -> None:
    """End the command: 0 holds, 1 violated, 3 unknown."""
    codes = {"holds": Exit.OK, "violated": Exit.VIOLATED}
    raise typer.Exit(codes.get(verdict, Exit.UNKNOWN))
