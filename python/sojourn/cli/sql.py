"""`sojourn sql`: all outcomes of all records, as tables."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import lowered
from sojourn.cli.draw import escape, new_table, to_stdout
from sojourn.cli.faults import say
from sojourn.cli.options import OUTPUT_PANEL, RESULTS, AsJson, Results
from sojourn.cli.plain import put_json
from sojourn.visible import in_line, visible

if TYPE_CHECKING:
    from sojourn.errors import Fault

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

    \b
    Examples:
      sojourn sql "select key, offered_rps, p99_ns / 1e6 as p99_ms from outcomes"
      sojourn sql "select load, avg(p99_ns) from outcomes group by load"
      sojourn sql "select key, max(achieved_rps) from outcomes group by 1" --json
      sojourn sql "select key, resource, median, max from resources"
      sojourn sql "describe outcomes"
    """
    from sojourn import store

    lowered.for_reading(results)
    names, rows = store.query(results, query, on_fault=_left_out)
    if as_json:
        put_json([dict(zip(names, row, strict=True)) for row in rows])
    elif as_csv:
        writer = csv.writer(sys.stdout)
        shown = visible if sys.stdout.isatty() else str  # a file has the values as they are
        writer.writerow([shown(name) for name in names])
        writer.writerows([shown(c) if isinstance(c, str) else c for c in row] for row in rows)
    else:
        table = new_table(*map(escape, names))
        for row in rows:
            table.add_row(*("" if cell is None else escape(str(cell)) for cell in row))
        to_stdout().print(table)
