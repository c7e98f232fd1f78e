"""The co-location table that a command is given: the papers', a file's, or a record's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.cli import lowered
from sojourn.cli.draw import escape
from sojourn.cli.models_show import spread
from sojourn.errors import SpecFault, StoreFault
from sojourn.units import show_ns

if TYPE_CHECKING:
    from rich.console import Console

    from sojourn.models.colocation import Table
    from sojourn.models.gains import Admitted

NAMED_MAX = 5  # cells that are missing, and how many are named


def find(name: str, setting: str, results: Path) -> Table:
    """The table of that name.

    Args:
        name: `L28`, `L33`, a JSON file, or a record as `sojourn show` takes it.
        setting: of a record, as its report calls it, or a part of that which no other has; "": it
            has but one, or the first of those that are measured.
        results: folder of the records.

    Raises:
        SpecFault: there is none, or it has no such setting.
    """
    from sojourn import store
    from sojourn.models import colocation

    if name in colocation.BUILT_IN or Path(name).is_file():
        if setting:
            fix = "leave --setting out, or give a record"
            raise SpecFault(f"{name} is one table and has no settings", at="--setting", fix=fix)
        return colocation.load(name)
    try:
        path = store.resolve(results, name)
    except StoreFault as fault:
        try:
            return colocation.load(name)
        except SpecFault as unknown:
            fix = f"{unknown.fix}; or a record: {fault.fix}"
            raise SpecFault(unknown.what, at=unknown.at, fix=fix) from None
    lowered.for_reading(path)
    return _of_record(path, setting)


def _of_record(path: Path, setting: str) -> Table:
    """The table that a record has under one setting.

    Raises:
        SpecFault: it measured no neighbour, or has no such setting.
        StoreFault: it cannot be read.
    """
    from sojourn import pipeline, questions
    from sojourn.models import colocation

    tables = questions.tables(pipeline.judged(path), str(path))
    if not tables:
        raise SpecFault(
            "the record has no co-location table: nothing in it was measured beside a neighbour "
            'with measure = ["colocation"]',
            at=str(path),
            fix="run `sojourn run batch_colocation`, and give its record",
        )
    return colocation.chosen(tables, setting)


def head(table: Table) -> dict[str, Any]:
    """What JSON says of a table before its numbers."""
    return {
        "table": table.name,
        "from": table.label,
        "source": table.source,
        "setting": table.setting,
        "missing": list(table.missing),
    }


def table_text(table: Table) -> str:
    """A table in words: `batch_colocation (measured), same CPUs, policy = other`."""
    setting = f", {table.setting}" if table.setting else ""
    return escape(f"{table.name} ({table.label}){setting}")


def worth(table: Table, admitted_load: Admitted) -> Iterator[str]:
    """What co-location gains at the load that is admitted, with the ends of both."""
    if admitted_load.load is None and admitted_load.load_hi is None:
        return
    ends = ""
    if table.has_intervals:
        low, high = (
            "none" if load is None else f"{load:.0%}"
            for load in (admitted_load.load_lo, admitted_load.load_hi)
        )
        ends = f", {low} surely, {high} not excluded"
    load = "none" if admitted_load.load is None else f"{admitted_load.load:.0%}"
    row = asdict(admitted_load) if table.has_intervals else {"gain": admitted_load.gain}
    bound = f"{show_ns(admitted_load.bound_ns)} and a loss of {admitted_load.loss_max:.0%}"
    yield f"load within {bound}: {load}{ends}; TCO gain there {spread(row, 'gain', 2)}"


def print_doubts(console: Console, table: Table) -> None:
    """What the intervals mean, and what was to be measured and is not known."""
    if table.has_intervals:
        console.print(
            "\nin brackets: 95 % intervals by interval arithmetic, each number at its own ends"
        )
    for why in table.missing[:NAMED_MAX]:
        console.print(f"missing: {escape(why)}")
    if len(table.missing) > NAMED_MAX:
        console.print(f"missing: {len(table.missing) - NAMED_MAX} more; --json has all")
