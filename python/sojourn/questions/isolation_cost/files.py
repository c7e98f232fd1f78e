"""How long isolation mechanisms took to apply, and the requests around single changes under load.

`isolation_cost.json` is written by whoever applied them (`probe`). Its
changes are told on the clock of the result's `started_unix_ns`, so requests that were due within a
window before or after each are found by the client's own log.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AliasChoices, Field

from sojourn.findings.measured import Measured
from sojourn.plan.left_out import OLD_FIX
from sojourn.plan.points import Outcome
from sojourn.samples import raw
from sojourn.samples.contract import Table, load_result, table_of
from sojourn.samples.names import LOAD, RAW

FILE, FORM, MAJOR = "isolation_cost.json", "sojourn.isolation_cost", 1
WINDOW_NS = 50_000_000  # before and after a change

Floats = NDArray[np.float64]


class CostTable(Table):
    """One mechanism, as `timing.Timed.as_json` has it; times in ns."""

    name: str
    about: str
    is_restart: bool
    one: str
    levels: tuple[str, str]
    missing: str
    fix: str = Field(validation_alias=AliasChoices("fix", OLD_FIX))
    failed: str
    ns: list[int]
    runs: list[tuple[int, int, int]]
    changes: list[tuple[int, int]]
    lab_ns: list[int]
    amiss: list[str]
    checks: int
    probed: list[list[Annotated[int, Field(gt=0, lt=1 << 63)]]] = Field(default_factory=list)


class CostFile(Table):
    """One point; shares are of the time of all CPUs while mechanisms were applied, 0 to 1."""

    host: str
    mechanisms: list[CostTable]
    length_s: float | None = None
    busy_share: float | None = None
    others_share: float | None = None
    steal_share: float | None = None
    counts: dict[str, int] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """Sojourn times, ns, of the requests due before and from one single change on; `inf`: lost."""

    before: Floats
    after: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """One point.

    Attributes:
        file: what was written.
        changes: the single changes of each mechanism that had requests on both sides.
    """

    file: CostFile
    changes: dict[str, tuple[Change, ...]]


def read(folder: Path, outcome: Outcome) -> Costs | None:
    """What was applied at a point; None if nothing was.

    Raises:
        StoreFault: a file is damaged, or of a newer version.
    """
    del outcome
    if not (folder / FILE).exists():
        return None
    result = table_of(CostFile, folder / FILE, FORM, MAJOR, what="file of isolation costs")
    return Costs(file=result, changes=_changes(folder, result))


def _changes(folder: Path, cost_file: CostFile) -> dict[str, tuple[Change, ...]]:
    requests = raw.requests(folder / RAW)
    if requests is None or not any(one.changes for one in cost_file.mechanisms):
        return {}
    due_ns, sojourn_ns = requests
    zero = load_result(folder / LOAD).started_unix_ns
    return {
        one.name: tuple(
            change
            for begin, end in apart(one.changes)
            if (change := around(due_ns, sojourn_ns, begin - zero, end - zero)) is not None
        )
        for one in cost_file.mechanisms
    }


def apart(changes: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Begin and end, ns, of the changes that the windows of the change before do not reach."""
    over_ns = -math.inf
    for begin, end in changes:
        if begin - WINDOW_NS >= over_ns:
            yield begin, end
        over_ns = end + WINDOW_NS


def around(due_ns: Floats, sojourn_ns: Floats, begin_ns: float, end_ns: float) -> Change | None:
    """The requests due before a change, and while it lasts and after it.

    None unless the windows of both sides are there as a whole.

    Args:
        due_ns: intended arrivals, ascending, ns.
        sojourn_ns: of each.
        begin_ns: of the change, on the same clock.
        end_ns: likewise.
    """
    edges = np.array([begin_ns - WINDOW_NS, begin_ns, end_ns + WINDOW_NS])
    if due_ns.size == 0 or edges[0] < due_ns[0] or edges[-1] > due_ns[-1]:
        return None
    first, middle, last = np.searchsorted(due_ns, edges)
    return Change(before=sojourn_ns[first:middle], after=sojourn_ns[middle:last])


def of(measured: Measured) -> Costs | None:
    """Of a point as it was read: what was applied at it; None if nothing was."""
    return measured.own if isinstance(measured.own, Costs) else None
