"""`sojourn ls`: the records there are, and the studies that can be run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.cli import lowered
from sojourn.cli.draw import escape, named, new_table, to_stdout
from sojourn.cli.options import RESULTS, AsJson, Results
from sojourn.cli.plain import put_json
from sojourn.units import show_bytes

if TYPE_CHECKING:
    from sojourn.store import Listed

_MARKS = {"holds": "green", "violated": "red"}


def ls(results: Results = RESULTS, as_json: AsJson = False) -> None:
    """List all records, newest first, and the built-in studies.

    \b
    Examples:
      sojourn ls
      sojourn ls --json | jq -r '.records[] | select(.complete) | .path'
    """
    from sojourn import store
    from sojourn.spec import studies as own

    studies = [{"name": name, "question": question} for name, question in own.asked().items()]
    lowered.for_reading(results)
    records = store.listed(results)
    if as_json:
        put_json({"studies": studies, "records": records})
        return
    console, where = to_stdout(), named(str(results))
    if records:
        show(records)
        for record, name in ((r, name) for r in records for name in r.copies):
            at = named(f"{record.path.name}/points/{name}")
            console.print(f"not counted: {at} is a copy of another point")
        total, raw = (sum(getattr(r, key) for r in records) for key in ("size_bytes", "raw_bytes"))
        of_raw = f", {show_bytes(raw)} of it raw requests" if raw else ""
        console.print(f"{counted(records)} in {where}: {show_bytes(total)}{of_raw}\n")
    else:
        console.print(f"no records in {where} yet; begin with: sojourn run latency_vs_load\n")
    table = new_table()
    table.add_column("study that can be run", no_wrap=True)
    table.add_column("question")
    for study in studies:
        table.add_row(study["name"], study["question"])
    console.print(table)


def counted(records: Sequence[Listed]) -> str:
    """How many records, in words: `1 record`, `2 records`."""
    return f"{len(records)} record{'' if len(records) == 1 else 's'}"


def show(records: Sequence[Listed]) -> None:
    """Print records to stdout as a table, a row each."""
    table = new_table()
    table.add_column("record", no_wrap=True)
    for name in ("study", "on", "verdict", "points", "size", "state"):
        is_number = name in {"points", "size"}
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for record in records:
        color = _MARKS.get(record.verdict, "yellow")
        table.add_row(
            named(record.path.name),
            named(record.study),
            named(record.machine),
            f"[{color}]{named(record.verdict or '-')}[/]",
            str(record.points),
            show_bytes(record.size_bytes),
            escape((record.complete and record.answered) or record.state),
        )
    to_stdout().print(table)
