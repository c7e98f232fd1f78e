"""Recordings of metriken's programs: `rezolus record`, `cachecannon --parquet`.

A row is a snapshot of counters and histograms that only grow, so the run is the last snapshot less
the first one. Both programs write the same form, and `rezolus parquet combine` joins them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sojourn.disk import columns
from sojourn.errors import SpecFault
from sojourn.importers import metriken_bins, metriken_facts
from sojourn.importers.file import File, fault
from sojourn.importers.format import Format, Options
from sojourn.importers.metriken_facts import Named
from sojourn.importers.series import Series
from sojourn.stats.independence import BATCHES
from sojourn.stats.times import Times

if TYPE_CHECKING:
    import pyarrow as pa

ROWS, VALUES = 1_000_000, 64_000_000  # of a column; a histogram's buckets are counted one by one
SERIES_MOST = 20
COLUMNS_MOST = 200  # histograms that are looked into; two machines have some 100
CUT = "the file may be cut short; record again, and wait for the tool's end"
SHORTER = "record for a shorter time, or with longer intervals"


@dataclass(frozen=True, slots=True)
class _Column:
    """A histogram of the file: its columns, what it is of, and its bins."""

    names: tuple[str, ...]
    named: Named
    bins: metriken_bins.Bins


def is_it(head: str) -> bool:
    """Whether it is a Parquet file; no other format here is one."""
    return head.startswith("PAR1")


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - units are in the file
    """A series for each histogram of times that has any; those of a load first."""
    schema = _schema(file)
    histograms = sorted(_columns(schema, file.at), key=lambda one: one.named.order)
    if not histograms:
        raise _without(schema, file.at)
    made: list[Series] = []
    left = max(0, len(histograms) - COLUMNS_MOST)
    for one in histograms[:COLUMNS_MOST]:
        series = _series(file, one, set(schema.names))
        if series and len(made) < SERIES_MOST:
            made.append(series)
        else:
            left += bool(series)
    if not made:
        raise fault("no histogram in it grew between two snapshots", file.at, "record for longer")
    if left:
        note = f"The file has {left} more histograms of times than are shown."
        made[-1] = replace(made[-1], notes=(*made[-1].notes, note))
    return made


def _without(schema: pa.Schema, at: str) -> SpecFault:
    """No histogram: another Parquet file, or a version of cachecannon that leaves them out."""
    if _text(schema.metadata, "source") == "cachecannon" and "requests_sent" in schema.names:
        what = (
            "this version of cachecannon wrote counters alone, no histogram (0.0.20-alpha.0 does)"
        )
        return fault(what, at, "use 0.0.14, or read the times that cachecannon prints")
    what = "it is no recording of rezolus or cachecannon: no column is a histogram of times"
    return fault(what, at, "give the Parquet of `rezolus record` or `cachecannon`")


def _schema(file: File) -> pa.Schema:
    import pyarrow as pa  # noqa: PLC0415 - other formats are read without it

    try:
        return columns.read_schema(file.path, is_named=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise fault(_what(error), file.at, CUT) from None


def _what(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return f"it cannot be read as Parquet: {text.splitlines()[0][:200] if text else 'damaged'}"


def _columns(schema: pa.Schema, at: str) -> Iterator[_Column]:
    source = _text(schema.metadata, "source") or "rezolus"
    for one in schema:
        about = {_plain(key): _plain(value) for key, value in (one.metadata or {}).items()}
        kind = metriken_facts.named(about, source)
        base, _, part = one.name.rpartition(":")
        if kind is None or part not in {"buckets", "bucket_indices"}:
            continue
        names = (one.name,) if part == "buckets" else (one.name, f"{base}:bucket_counts")
        yield _Column(names, kind, metriken_bins.of_powers(about, f"{at}: {one.name[:80]}"))


def _series(file: File, one: _Column, present: set[str]) -> Series | None:
    """What a histogram counted in the run; None: nothing."""
    counter = "request_errors" if one.named.has_all_requests else ""
    instance = one.names[0].rpartition("::")[0]
    counter = f"{instance}::{counter}" if instance and counter else counter
    wanted = [*one.names, "timestamp", *([counter] if counter in present else [])]
    table, at = _table(file, wanted), f"{file.at}: {one.names[0][:80]}"
    rows = metriken_bins.rows_of(table, one.names, at)
    snapshots = np.flatnonzero(~np.asarray(table.column(one.names[0]).is_null()))
    if len(snapshots) < 2:
        return None
    slices = tuple(times for times in _slices(rows, snapshots, one.bins, at) if times.n)
    times = metriken_bins.difference(rows, snapshots[0], snapshots[-1], one.bins, at)
    if not times.n:
        return None
    failed = _grown(table, counter, snapshots) if counter in present else 0
    return Series(
        facts=one.named.facts,
        name=one.named.title,
        times=times,
        slices=slices if len(slices) > 1 else (),
        requests=times.n - failed if failed <= times.n else times.n,
        failed={"errors, by cachecannon's count": failed} if failed else {},
        is_failed_known=counter in present,
        seconds=_seconds(table, snapshots, at),
        most_ns=float(times.hi_ns[-1]),
        notes=("Times of failed requests are in its histogram.",) if failed else (),
    )


def _table(file: File, wanted: list[str]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - other formats are read without it

    try:
        return columns.read_columns(
            file.path, rows=ROWS, values=VALUES, columns=wanted, is_named=True
        )
    except (OSError, ValueError, pa.ArrowException) as error:
        is_bound = "at most" in str(error) or "more than" in str(error)
        raise fault(_what(error), file.at, SHORTER if is_bound else CUT) from None


def _slices(
    rows: metriken_bins.Rows, snapshots: NDArray[np.int64], bins: metriken_bins.Bins, at: str
) -> Iterator[Times]:
    """The run in at most BATCHES pieces of whole intervals."""
    ends = np.unique(
        np.linspace(0, len(snapshots) - 1, min(BATCHES, len(snapshots) - 1) + 1).astype(int)
    )
    for first, last in pairwise(ends):
        yield metriken_bins.difference(rows, snapshots[first], snapshots[last], bins, at)


def _grown(table: pa.Table, name: str, snapshots: NDArray[np.int64]) -> int:
    """By how much a counter grew; one that shrank or is absent gives 0."""
    values = table.column(name).take([int(snapshots[0]), int(snapshots[-1])]).to_pylist()
    ends = [int(value) for value in values if isinstance(value, int)]
    return max(0, ends[1] - ends[0]) if len(ends) == 2 else 0


def _seconds(table: pa.Table, snapshots: NDArray[np.int64], at: str) -> float:
    first, last = (
        table.column("timestamp").take([int(snapshots[0]), int(snapshots[-1])]).to_pylist()
    )
    if not isinstance(first, int) or not isinstance(last, int) or last <= first:
        raise fault("its timestamps do not ascend", at, CUT)
    return (last - first) / 1e9


def _text(metadata: dict[bytes, bytes] | None, key: str) -> str:
    return _plain((metadata or {}).get(key.encode(), b""))


def _plain(raw: Any) -> str:
    return bytes(raw).decode(errors="replace")


FORMAT = Format(
    name="rezolus", about="Parquet of rezolus record, or cachecannon --parquet", is_it=is_it,
    read=read,
)  # fmt: skip
