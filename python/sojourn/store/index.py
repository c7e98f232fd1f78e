"""All outcomes of a record in one file, because a record may have ten thousand.

`points/*/outcome.parquet` is what counts: one file per point, whole or not at all. This file is a
copy of their rows and may be removed at any time. A row of it represents its point as long as the
point's own file has the size and the time of change that are kept beside the row; points that have
none, or another one, are read from their own files.

A point says in which folder it was measured. A folder beside that one, which somebody has copied,
is no point more.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sojourn import disk
from sojourn.errors import RunFault, StoreFault
from sojourn.store import columns, copied, files
from sojourn.store.named import OUTCOME, POINTS, number

NAME = "outcomes.parquet"
FORM = "sojourn.outcomes/1"
AT, BYTES, CHANGED = "_at", "_bytes", "_changed_ns"  # beside each row: whose it is
_BESIDE = pa.schema([(AT, pa.string()), (BYTES, pa.int64()), (CHANGED, pa.int64())])
LATER = {"rules"}  # columns that a copy of before lacks, and that follow from the others
ROWS = 1_000_000  # more points have no record
WRITE_EVERY = 256  # points; so many are read one by one after a run was killed


@dataclass(frozen=True, slots=True, order=True)
class Kept:
    """A point's own file: as a key, it is the same only while no one has written it anew."""

    number: int
    at: str
    size: int
    changed_ns: int


def present(path: Path) -> list[Kept]:
    """The points of a record that count, in the order in which they were made.

    Raises:
        StoreFault: a link leads out of the record.
    """
    if (path / POINTS).is_symlink():
        raise _linked(path / POINTS)
    try:
        with os.scandir(path / POINTS) as entries:
            every = list(entries)
    except FileNotFoundError:
        return []
    if links := [entry.path for entry in every if entry.is_symlink()]:
        raise _linked(Path(links[0]))
    return sorted(stored for entry in every if (stored := _point_file(entry.path, entry.name)))


def _linked(path: Path) -> StoreFault:
    return StoreFault(
        "this is a link, which is not followed out of a record",
        at=str(path),
        fix="remove the link, or replace it by its target",
    )


def _point_file(folder: str, name: str) -> Kept | None:
    try:
        stat = os.lstat(f"{folder}/{OUTCOME}")
    except OSError:  # in flight when its run was killed, or no folder
        return None
    return Kept(number(name), name, stat.st_size, stat.st_mtime_ns)


def rows(path: Path, own: MutableMapping[Kept, pa.Table] | None = None) -> pa.Table:
    """The rows of all points of a record, in order, each with `AT` beside it.

    Columns that a point's file lacks are null. Copies of points are left out.

    Args:
        path: of the record.
        own: rows that were read from points' own files before, of a reader that asks again and
            again: what is there is not read again, and those of now are put into it.

    Raises:
        StoreFault: a point's file is damaged or of a newer version.
    """
    return _without_copies(_rows(path, own)[0])


def copies(path: Path, known: int | None = None) -> tuple[str, ...]:
    """Folders of a record's points that are copies of others, by their names.

    Args:
        path: of the record.
        known: how many rows it has: where there are no more folders, none of them is read.

    Raises:
        StoreFault: a point's file is damaged or of a newer version.
    """
    if known is not None and len(present(path)) == known:
        return ()
    table, _ = _rows(path)
    names = table[AT].to_pylist()
    return tuple(name for name, is_own in zip(names, _own_ones(table), strict=True) if not is_own)


def counted(path: Path) -> int:
    """How many points a record has; no column is read where none of them can be a copy.

    Raises:
        StoreFault: as `rows` does, where it has to look.
    """
    names = [one.at for one in present(path)]
    return len(rows(path)) if copied.may_be(path / POINTS, names) else len(names)


def _without_copies(table: pa.Table) -> pa.Table:
    is_own = _own_ones(table)
    return table if all(is_own) else table.filter(pa.array(is_own, pa.bool_()))


def _own_ones(table: pa.Table) -> list[bool]:
    """Of each row, whether its point was measured in the folder in which it lies.

    Where its own folder is no longer there it was renamed, and is no copy; of several such ones the
    first counts.
    """
    names = table[AT].to_pylist()
    there = set(names)
    texts = (home if isinstance(home, str) else "" for home in table["folder"].to_pylist())
    homes = [home.rpartition("/")[2] for home in texts]
    first = dict(zip(reversed(homes), reversed(names), strict=True))
    return [
        home == name or (home not in there and (not home or first[home] == name))
        for home, name in zip(homes, names, strict=True)
    ]


def renewed(path: Path) -> pa.Table:
    """The same, for whoever may write into the record: it brings the copy up to date."""
    table, is_copied = _rows(path)
    if not is_copied:
        with contextlib.suppress(StoreFault):  # missed by no one but a clock
            write(path, table)
    return _without_copies(table)


def _rows(path: Path, own: MutableMapping[Kept, pa.Table] | None = None) -> tuple[pa.Table, bool]:
    """The rows, and whether the copy has just these."""
    table, there = _copied(path), present(path)
    at = {key: row for row, key in enumerate(_keys(table))}
    known = [retained for retained in there if retained in at]
    fresh = [stored for stored in there if stored not in at]
    order = [at[the_retained] for the_retained in known]
    is_copied = order == list(range(len(table)))
    if not is_copied:  # points were removed, or written anew
        table = table.take(pa.array(order, pa.int64()))
    if not fresh:
        return table, is_copied
    before = own or {}
    read = {one: before[one] if one in before else _own(path, one) for one in fresh}
    if own is not None:
        own.clear()
        own.update(read)
    together = joined(table, [*read.values()], path)
    keys = [*known, *fresh]
    if keys != there:
        order = sorted(range(len(keys)), key=keys.__getitem__)
        together = together.take(pa.array(order, pa.int64()))
    return together, False


def joined(table: pa.Table, fresh: Sequence[pa.Table], path: Path) -> pa.Table:
    """Rows below each other; a column that some of them lack is null there."""
    try:
        return pa.concat_tables([table, *fresh], promote_options="default").combine_chunks()
    except MemoryError:
        raise disk.no_memory(path) from None
    except pa.ArrowException as error:
        raise StoreFault(
            f"the outcomes of a record do not agree: {error}",
            at=str(path),
            fix="remove the folder of the point that was not written by this lab",
        ) from None


def _own(path: Path, retained: Kept) -> pa.Table:
    """One point's row from its own file."""
    return beside(columns.rows(path / POINTS / retained.at / OUTCOME), retained)


def beside(row: pa.Table, retained: Kept) -> pa.Table:
    """A row with whose it is."""
    for name, value in ((AT, retained.at), (BYTES, retained.size), (CHANGED, retained.changed_ns)):
        row = row.append_column(_BESIDE.field(name), pa.array([value], _BESIDE.field(name).type))
    return row.replace_schema_metadata(None)


def _copied(path: Path) -> pa.Table:
    """The copy; empty if there is none, it is damaged, or another version wrote it."""
    empty = pa.unify_schemas([columns.SCHEMA, _BESIDE]).empty_table().replace_schema_metadata(None)
    try:
        table = disk.read_columns(path / NAME, rows=ROWS, values=columns.VALUES)
    except (OSError, pa.ArrowException, ValueError, RunFault):  # the points' own files are there
        return empty
    metadata = table.schema.metadata or {}
    if metadata.get(b"schema", b"").decode(errors="replace") != FORM:
        return empty
    lacking = set(empty.column_names) - set(table.column_names)
    if lacking - LATER:
        return empty
    for name in lacking:
        nothing = pa.nulls(len(table), empty.schema.field(name).type)
        table = table.append_column(empty.schema.field(name), nothing)
    return table.replace_schema_metadata(None)


def _keys(table: pa.Table) -> Iterator[Kept]:
    names = table[AT].to_pylist()
    for at, size, changed in zip(
        names, table[BYTES].to_pylist(), table[CHANGED].to_pylist(), strict=True
    ):
        yield Kept(number(at), at, size, changed)


def write(path: Path, table: pa.Table) -> None:
    """Replace the copy; `table` is as `rows` gives it."""
    marked = table.replace_schema_metadata({"schema": FORM})
    files.write_whole(path / NAME, lambda file: pq.write_table(marked, file))


@dataclass(slots=True)
class Writer:
    """Keeps the copy while a record is written: every so many points, and at the end."""

    path: Path
    table: pa.Table
    fresh: list[pa.Table] = field(default_factory=list)

    def add(self, row: pa.Table, name: str) -> None:
        """A point that counts now, as it is written in its own file."""
        stored = _point_file(str(self.path / POINTS / name), name)
        if stored is None:  # removed under our hands: the next reader sees the same
            return
        self.fresh.append(beside(row, stored))
        if len(self.fresh) >= WRITE_EVERY:
            self.flush()

    def flush(self) -> None:
        """Bring all rows to disk. A copy that cannot be written is missed by no one but a clock."""
        if not self.fresh:
            return
        with contextlib.suppress(StoreFault):
            self.table, self.fresh = joined(self.table, self.fresh, self.path), []
            write(self.path, self.table)
