"""What the records of a results folder give to the tables of `sojourn sql`, each record checked.

A record may have come from anywhere. One that is damaged, or forged, is left out and named, so that
it keeps no one from the others; what is given on has the lab's own columns and settings only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from sojourn import disk
from sojourn.errors import Fault, StoreFault
from sojourn.store import files, index
from sojourn.store.columns import SCHEMA, as_map_rows, setting_of
from sojourn.store.listing import own
from sojourn.store.named import FROM, POINTS, shown
from sojourn.store.profiles import Profiles
from sojourn.store.record import OF_RECORD, left_out_of, manifest_of

_BESIDE = [index.AT, index.BYTES, index.CHANGED]
_SETTING = ("key", "phase", "fraction", "point_rps", "setting")
LEFT = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in (*FROM, "service", "state")),
        pa.field("levels", SCHEMA.field("setting").type),
        *(pa.field(name, pa.string()) for name in ("reason", "fix")),
    ]
)
USED = pa.schema(
    [
        *((name, pa.string()) for name in FROM),
        ("key", pa.string()),
        ("service", pa.string()),
        ("resource", pa.string()),
        ("unit", pa.string()),
        ("samples", pa.int64()),
        ("median", pa.float64()),
        ("max", pa.float64()),
        ("capacity", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one record gives to the tables: where it comes from, and its rows."""

    home: Mapping[str, str]
    rows: pa.Table
    left: pa.Table
    used: pa.Table


OnFault: TypeAlias = Callable[[Path, Fault], None]
Before: TypeAlias = Callable[[], None]


def parts(
    results: Path,
    on_fault: OnFault | None,
    *,
    has_resources: bool = False,
    before: Before | None = None,
) -> Iterator[Part]:
    """What each record of a folder gives; one that cannot be read is handed to `on_fault`.

    So is a folder that is a copy of a point: the record counts without it.

    Args:
        results: folder of the records.
        on_fault: takes a record that cannot be read, and why.
        has_resources: read the resources of each point, too.
        before: is called before each record, and raises where there is no time for it.

    Raises:
        Fault: a record cannot be read, and there is no `on_fault`; or `before` raised it.
    """
    profiles = Profiles(results)
    for path in own(results):
        if before:
            before()
        try:
            with files.readable(path, OF_RECORD):
                part = _part(path, profiles, has_resources=has_resources)
                copied = index.copies(path, len(part.rows))
        except Fault as fault:
            if on_fault is None:
                raise
            on_fault(path, fault)
        else:
            if on_fault is not None:
                for name in copied:
                    on_fault(path / POINTS / name, _a_copy(path))
            yield part
    profiles.keep()


def _a_copy(path: Path) -> StoreFault:
    return StoreFault(
        "it is a copy of another point",
        at=str(path),
        fix="move it out of the record: the points count without it",
    )


def _part(path: Path, profiles: Profiles, *, has_resources: bool) -> Part:
    """One record, all of it checked: texts of it become part of statements after this."""
    manifest_of(path)  # a newer version is refused, as everywhere
    profiles.of(path)  # and a study that cannot be read
    table = index.rows(path)
    for row in table.select(list(_SETTING)).to_pylist():
        try:
            setting_of(row)
        except ValueError as error:
            raise StoreFault(
                f"the setting of a point cannot be read: {error}",
                at=str(path),
                fix="take the record out of the folder; it was damaged or not written here",
            ) from None
    home = dict(zip(FROM, map(shown, path.parts[-len(FROM) :]), strict=True))
    try:
        own_columns = table.select([*SCHEMA.names, *_BESIDE])
        rows = pa.concat_tables([SCHEMA.empty_table(), own_columns], promote_options="default")
    except MemoryError:
        raise disk.no_memory(path) from None
    except pa.ArrowException as error:
        raise StoreFault(
            f"its outcomes are not of the lab's form: {error}", at=str(path), fix=OF_RECORD
        ) from None
    left = [{**home, **one.table, "levels": as_map_rows(one.levels)} for one in left_out_of(path)]
    used = list(_used(path, table, home)) if has_resources else []
    return Part(
        home=home,
        rows=rows,
        left=pa.Table.from_pylist(left, schema=LEFT),
        used=pa.Table.from_pylist(used, schema=USED),
    )


def _used(path: Path, table: pa.Table, home: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """A row for each resource of each point: median and most of the samples of its measured part.

    Raises:
        StoreFault: a file is damaged, or of a newer version.
    """
    import numpy as np  # noqa: PLC0415 - most queries ask for no resources

    from sojourn.host.usage.resource import BY_NAME  # noqa: PLC0415
    from sojourn.samples import resources  # noqa: PLC0415

    for row in table.select(["key", "service", index.AT]).to_pylist():
        samples = resources.read(path / POINTS / row[index.AT])
        if samples is None:
            continue
        for name, values in zip(samples.names, samples.values, strict=True):
            report = values[~np.isnan(values)]
            if len(report):
                yield {
                    **home,
                    "key": row["key"],
                    "service": row["service"],
                    "resource": name,
                    "unit": BY_NAME[name].unit,
                    "samples": len(report),
                    "median": float(f"{np.median(report):.6g}"),
                    "max": float(f"{report.max():.6g}"),
                    "capacity": samples.capacity.get(name),
                }


def files_of(results: Sequence[Part]) -> pa.Table:
    """The rows of all records as their files have them, with what says where they come from."""
    form = pa.schema([*SCHEMA, *(pa.field(name, pa.string()) for name in FROM)])
    tables = [form.empty_table()]
    for part in results:
        table = part.rows
        for name in FROM:
            table = table.append_column(name, pa.repeat(pa.scalar(part.home[name]), len(table)))
        tables.append(table.drop_columns(_BESIDE))
    return pa.concat_tables(tables, promote_options="default")
