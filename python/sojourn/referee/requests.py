"""Requests as the server's side saw them: arrival and end of the reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sojourn.disk.columns import read_columns, read_schema
from sojourn.disk.spent import no_memory
from sojourn.errors import RunFault

Times = NDArray[np.int64]
MOST = 50_000_000  # requests of a trace
TIMES = ("start_ns", "first_ns", "end_ns", "connection")  # of `sojourn-trace --times`
COLUMNS = ("start_ns", "total_ns", "drain_ns", "tx_ns", "connection", "bytes_in", "bytes_out")


@dataclass(frozen=True, kw_only=True)
class Requests:
    """Requests in order of arrival; all arrays have the shape (n,).

    Attributes:
        start_ns: the first segment came in, `CLOCK_MONOTONIC`, ascending.
        first_ns: the first segment of the reply was queued.
        end_ns: the last one was given to the driver.
        connection: a number for each connection, unique while it is open.
    """

    start_ns: Times
    first_ns: Times
    end_ns: Times
    connection: Times

    @property
    def n(self) -> int:
        """How many requests there are."""
        return len(self.start_ns)

    @property
    def seconds(self) -> float:
        """From the first arrival to the last one, s."""
        return float(self.start_ns[-1] - self.start_ns[0]) / 1e9 if self.n else 0.0

    @property
    def mean_rps(self) -> float:
        """Arrivals per second between the first and the last one; 0 with fewer than two."""
        return (self.n - 1) / self.seconds if self.seconds > 0 else 0.0

    @property
    def total_ns(self) -> Times:
        """From arrival to the end of the reply."""
        return self.end_ns - self.start_ns

    @cached_property
    def connections(self) -> int:
        """How many connections sent at least one."""
        return len(np.unique(self.connection))

    @cached_property
    def replies_ns(self) -> Times:
        """Ends of all replies, ascending."""
        return np.sort(self.end_ns)

    @cached_property
    def most_in_flight(self) -> int:
        """The most requests that had come and were not answered; 0 without requests."""
        return int(self.in_flight(self.start_ns).max()) if self.n else 0

    def in_flight(self, at_ns: Times) -> Times:
        """Requests that had come and were not answered at some moments."""
        came = np.searchsorted(self.start_ns, at_ns, side="right")
        return np.asarray(came - np.searchsorted(self.replies_ns, at_ns, side="right"), np.int64)

    def between(self, begin_ns: int, end_ns: int) -> Requests:
        """Those that came in a span of time."""
        which = slice(*np.searchsorted(self.start_ns, (begin_ns, end_ns)))
        return Requests(
            start_ns=self.start_ns[which],
            first_ns=self.first_ns[which],
            end_ns=self.end_ns[which],
            connection=self.connection[which],
        )


def of_columns(columns: Mapping[str, Times]) -> Requests:
    """Requests from a trace's columns; their rows may be in any order."""
    order = np.argsort(columns["start_ns"], kind="stable")
    start = columns["start_ns"][order]
    end = start + np.maximum(columns["total_ns"][order], 0)
    after_first = columns["drain_ns"][order] + columns["tx_ns"][order]
    return Requests(
        start_ns=start,
        first_ns=np.maximum(start, end - after_first),
        end_ns=end,
        connection=columns["connection"][order],
    )


def of_times(columns: Mapping[str, Times]) -> Requests:
    """Requests from their times; rows may be in any order."""
    order = np.argsort(columns["start_ns"], kind="stable")
    return Requests(**{name: columns[name][order] for name in TIMES})


def read(path: Path) -> Requests:
    """The records of `sojourn-trace --records`, or of `--times`.

    Raises:
        RunFault: the file cannot be read.
    """
    import pyarrow as pa  # noqa: PLC0415 - commands that read no record start without it

    try:
        is_times = {*TIMES} <= {*read_schema(path).names}
        names = TIMES if is_times else COLUMNS
        table = read_columns(path, rows=MOST, values=MOST, columns=names)
        columns = {name: np.asarray(table.column(name).to_numpy(), np.int64) for name in names}
    except MemoryError:  # one of Arrow's errors too
        raise no_memory(path) from None
    except (OSError, ValueError, pa.ArrowException) as error:
        raise RunFault(
            f"the records of the trace cannot be read: {error}",
            at=str(path),
            fix="trace for a shorter time, or at a lower load",
        ) from error
    return of_times(columns) if is_times else of_columns(columns)
