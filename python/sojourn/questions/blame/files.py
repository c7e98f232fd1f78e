"""What was stopped when while a point was measured, and the requests of each of these windows.

`blame.json` is written by whoever stopped suspects (`probe`). Its windows are told on
the clock of the result's `started_unix_ns`, so a request belongs to the window in which it was due.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sojourn.findings.measured import Measured
from sojourn.plan.points import Outcome
from sojourn.samples import raw
from sojourn.samples.contract import Table, load_result, table_of
from sojourn.samples.names import HOST, LOAD, RAW
from sojourn.samples.traced import TraceResult, trace_result
from sojourn.samples.versioned import read_json

FILE, FORM, MAJOR = "blame.json", "sojourn.blame", 1

Floats = NDArray[np.float64]


class SuspectTable(Table):
    """Who was suspected: as the study names it, and what the kernel calls its threads.

    Attributes:
        scripts: what an interpreter runs, for each of `pids`; "": nothing. () in older records.
    """

    name: str
    pids: list[int] = Field(default_factory=list)
    scripts: list[str] = Field(default_factory=list)
    tids: list[int] = Field(default_factory=list)
    comms: list[str] = Field(default_factory=list)


class ServedTable(Table):
    """What was added in a window to counters of the service and its CPUs (`counters.Served`)."""

    run_ns: int
    wait_ns: int
    disk_bytes: int
    busy_ns: int
    softirq_ns: int


class UseTable(Table):
    """The same of a suspect.

    Attributes:
        cpu_ns: CPU time of its processes; disk_bytes: to and from disks.
        members: its processes that lived at either end; None: it never has any, or the log is
            older.
    """

    cpu_ns: int
    disk_bytes: int
    members: int | None = None


class WindowTable(Table):
    """A window as it was stored; times in ns since 1970, `stopped` numbers of suspects."""

    block: int
    stopped: list[int]
    from_ns: int
    to_ns: int
    applied_ns: int
    service: ServedTable
    suspects: list[UseTable]


class BlameFile(Table):
    """The log of one point, as it was written."""

    suspects: list[SuspectTable]
    failed: str = ""
    windows: list[WindowTable] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Window:
    """A window with its requests.

    Attributes:
        block: of the study and of the log: windows of one block are compared.
        stopped: numbers of the suspects that were.
        sojourn_ns: of the requests due in it, in order; `inf`: never completed.
        length_s: the part that counts.
        entry: of the log, as it is written there.
    """

    block: tuple[int, int]
    stopped: frozenset[int]
    sojourn_ns: Floats
    length_s: float
    entry: WindowTable

    def has(self, number: int) -> bool:
        """Whether a suspect has processes at one of its ends, as far as that is known."""
        return self.entry.suspects[number].members != 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Blamed:
    """One point.

    Attributes:
        file: what was written.
        windows: those that had requests.
        trace: what the tracer found; None: it did not run.
        why: why it did not; "" if it did, or was not to.
    """

    file: BlameFile
    windows: tuple[Window, ...] = ()
    trace: TraceResult | None = None
    why: str = ""


def read(folder: Path, outcome: Outcome) -> Blamed | None:
    """What was done at a point; None if nothing was.

    Args:
        folder: of the point.
        outcome: of it; one without requests failed, and what it left may be damaged.

    Raises:
        StoreFault: a file is damaged, or of a newer version.
    """
    if not outcome.requests or not (folder / FILE).exists():
        return None
    repeat = outcome.point.repeat
    result = table_of(BlameFile, folder / FILE, FORM, MAJOR, what="log of stopped suspects")
    seen = read_json(folder / HOST) if (folder / HOST).exists() else {}
    return Blamed(
        file=result,
        windows=_windows(folder, result, repeat),
        trace=trace_result(folder),
        why=str(seen.get("blame_look", {}).get("why", "")),
    )


def _windows(folder: Path, blame_file: BlameFile, repeat: int) -> tuple[Window, ...]:
    requests = raw.requests(folder / RAW) if blame_file.windows else None
    if requests is None:
        return ()
    zero = load_result(folder / LOAD).started_unix_ns
    return tuple(
        window
        for table in blame_file.windows
        if (window := cut(requests, table, zero, repeat)).sojourn_ns.size
    )


def cut(requests: tuple[Floats, Floats], table: WindowTable, zero_ns: int, repeat: int) -> Window:
    """The requests that were due in a window.

    Args:
        requests: intended arrivals, ascending, and sojourn times, ns.
        table: the window.
        zero_ns: of the clock of the former, ns since 1970.
        repeat: block of the study.
    """
    due_ns, sojourn_ns = requests
    edges = [table.from_ns - zero_ns, table.to_ns - zero_ns]
    first, last = np.searchsorted(due_ns, np.array(edges, np.float64))
    return Window(
        block=(repeat, table.block),
        stopped=frozenset(table.stopped),
        sojourn_ns=sojourn_ns[first:last],
        length_s=(table.to_ns - table.from_ns) / 1e9,
        entry=table,
    )


def of(measured: Measured) -> Blamed | None:
    """Of a point as it was read: what was stopped at it; None if nothing was."""
    return measured.own if isinstance(measured.own, Blamed) else None
