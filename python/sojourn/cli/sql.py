"""`sojourn sql`: all outcomes of all records, as tables."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import lowered
from sojourn.cli.draw import escape, new_table, to_stdout
from sojourn.cli.faults import say
from sojourn.cli.options import OUTPUT_PANEL, RESULTS, AsJson, Results
from sojourn.cli.plain import put_json
from sojourn.visible import in_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sojourn.errors import Fault

LEAST = 12  # characters that a column of a table has at least, where its cells are longer
Statement = Annotated[
    str, typer.Argument(metavar="QUERY", help="A query in DuckDB's SQL.", show_default=False)
]
AsCsv = Annotated[
    bool, typer.Option("--csv", rich_help_panel=OUTPUT_PANEL, help="Write CSV to stdout.")
]


def _left_out(path: Path, fault: Fault) -> None:
    say(in_line(f"left out: {path}: {fault.what}"))


def sql(
    query: Statement, results: Results = RESULTS, as_json: AsJson = False, as_csv: AsCsv = False
) -> None:
    """Query all results with SQL.

    Tables: outcomes (measured), points (planned), resources (median and max of each point's
    samples), left_out (combinations without an answer, with the reason). Times are in ns. Each
    factor is a column. The query can only read, and sees only the results.

    In CSV, a text that a spreadsheet would compute begins with an apostrophe; JSON has it as it is.

    The numbers of a run decide nothing where its verdict is unknown or its course is not steady. A
    time is null where it is infinite or was not measured, and averages leave it out.

    \b
    Examples:
      sojourn sql "select key, offered_rps, p99_ns / 1e6 as p99_ms from outcomes"
      sojourn sql "select load, verdict, max(p99_ns) from outcomes group by 1, 2"
      sojourn sql "select key, max(achieved_rps) from outcomes group by 1" --json
      sojourn sql "select key, resource, median, max from resources"
      sojourn sql "describe outcomes"
    """
    from sojourn import store
    from sojourn.report.draw.table import inert
    from sojourn.store.sql import warm_up
    from sojourn.store.within import of_machine, within

    lowered.for_reading(results)
    warm_up()
    # DuckDB's own limit counts no single value: a huge one would end other programs.
    with within(of_machine(), threads=os.cpu_count() or 1):
        names, rows = store.query(results, query, on_fault=_left_out)
    if as_json:
        put_json([dict(zip(names, row, strict=True)) for row in rows])
    elif as_csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(map(inert, names))
        writer.writerows(map(inert, row) for row in rows)
    else:
        _print(names, [["" if cell is None else str(cell) for cell in row] for row in rows])


def _print(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table; where its columns do not fit, each row as a list of names and values."""
    console = to_stdout()
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    needed = sum(min(width, LEAST) + 1 for width in widths)
    if needed <= console.width:
        table = new_table(*map(escape, names))
        for row in rows:
            table.add_row(*map(escape, row))
        console.print(table)
        return
    for number, row in enumerate(rows, start=1):
        console.print(escape(f"row {number} of {len(rows)}"), style="dim")
        table = new_table("", "", has_head=False)
        for name, cell in zip(names, row, strict=True):
            table.add_row(escape(name), escape(cell))
        console.print(table)
