"""A record's co-location table: what `batch_colocation` measured, as provisioning and cost read it.

A table holds one setting, for who schedules how shares what: the service alone, each neighbour, and
the geometric mean of all neighbours at each load at which every one of them is known (L28), its
ends those of the geometric means of the ends. A number is there with the ends of its 95 %
interval; one without an interval has none and is taken as it is, which `missing` says. Cells that
could not be believed are empty, and `missing` has them with their reasons.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from sojourn.findings.findings import Findings
from sojourn.models.colocation import ALONE, MEAN, Table
from sojourn.models.colocation_row import Beside
from sojourn.questions.colocation.cells import SharedCell
from sojourn.questions.colocation.judge import Colocation, Shared
from sojourn.text.numbers import load_share

LATEST_NS = 3.6e12  # of a request that never completed, as the generator's log has it


def tables(findings: Findings, *, source: str = "") -> tuple[Table, ...]:
    """A table for each setting under which a neighbour was measured, in the study's order."""
    section = findings.section(Colocation)
    if section is None:
        return ()
    settings = dict.fromkeys(one.setting for one in section.shared if one.neighbour)
    left = tuple(one.text for one in findings.left_out)
    return tuple(_table(findings, section, setting, source, left) for setting in settings)


def _table(
    findings: Findings, colocation: Colocation, setting: str, source: str, left: Sequence[str]
) -> Table:
    beside = [one for one in colocation.shared if one.neighbour and one.setting == setting]
    alone = _alone(colocation.shared, beside[0])
    parts = [(ALONE, alone)] if alone else []
    parts += [(one.neighbour, one) for one in beside]
    rows = [_row(name, cell) for name, one in parts for cell in one.cells]
    missing = [why for name, one in parts for cell in one.cells for why in _missing(name, cell)]
    if alone is None:
        missing.append("the service was not measured alone under this setting")
    share = beside[0].core_share
    return Table(
        name=findings.study,
        label="measured",
        source=source or findings.study,
        service=colocation.service,
        q=colocation.q,
        core_share=share,
        peak_rps=colocation.max_rps / share if colocation.max_rps else None,
        setting=setting,
        missing=(*left, *missing),
        rows=(*rows, *_means(rows, [one.neighbour for one in beside])),
    )


def _alone(shared: Sequence[Shared], beside: Shared) -> Shared | None:
    """The service alone under the same levels of all factors but the neighbour."""
    own = f"neighbour's {beside.scheduled}" if beside.scheduled else ""
    levels = beside.setting.removeprefix(beside.place).removeprefix(", ")
    levels = levels.removeprefix(own).removeprefix(", ") if own else levels
    selected = [one for one in shared if not one.neighbour and one.setting == levels]
    return selected[0] if selected else None


def _row(name: str, cell: SharedCell) -> Beside:
    """A cell as the table has it; requests that never completed are an hour late."""
    tail = cell.tail
    lo = _finite(tail.lo) if tail else None
    hi = tail.hi if tail and math.isfinite(tail.hi) else None
    is_known = cell.tail_ns is not None and math.isfinite(cell.tail_ns)
    tail_ns = cell.tail_ns if is_known and (hi is not None or tail is None) else None
    retained, ends = (cell.kept.share, cell.kept.interval) if cell.kept else (None, None)
    most = cell.kept.most if cell.kept else 1.0  # a table's throughput is of the pace alone
    return Beside(
        neighbour=name,
        load=cell.load,
        tail_ns=tail_ns,
        tail_lo_ns=_finite(cell.tail_ns) if lo is None and not is_known else lo,
        tail_hi_ns=hi if tail_ns is not None else None,
        throughput=_share(retained, most),
        throughput_lo=_share(ends.lo if ends else None, most),
        throughput_hi=_share(ends.hi if ends else None, most),
    )


def _finite(ns: float | None) -> float | None:
    return None if ns is None else max(1.0, min(ns, LATEST_NS))


def _share(value: float | None, most: float) -> float | None:
    """No neighbour does more than it was asked for, or than alone: what is above is chance."""
    return None if value is None else most * min(1.0, value)


def _missing(name: str, cell: SharedCell) -> Iterator[str]:
    """What is not known of a cell, and why."""
    where = f"{name} at {load_share(cell.load)} load"
    if cell.tail_ns is None:
        yield f"{where}: no tail: {cell.why.partition('; ')[0] or 'not measured'}"
    if name == ALONE:
        return
    pace = cell.kept
    if pace is None or pace.share is None:
        yield f"{where}: no throughput: {pace.reason if pace else 'it reported no progress'}"
    elif pace.interval is None:
        yield f"{where}: its throughput has no interval: {pace.reason}"


def _means(rows: Sequence[Beside], neighbours: Sequence[str]) -> Iterator[Beside]:
    """Geometric means of the neighbours' throughputs, where all of them are known."""
    by_load: dict[float, Mapping[str, Beside]] = {}
    for row in rows:
        by_load[row.load] = {**by_load.get(row.load, {}), row.neighbour: row}
    for load, own in sorted(by_load.items()):
        each = [own[name] for name in neighbours if name in own]
        known = [row.throughput for row in each if row.throughput is not None]
        if len(known) < len(neighbours):
            continue
        ends = [(row.throughput_lo, row.throughput_hi) for row in each]
        lows = [lo for lo, _ in ends if lo is not None]
        highs = [hi for _, hi in ends if hi is not None]
        is_sure = len(lows) == len(highs) == len(known)
        yield Beside(
            neighbour=MEAN,
            load=load,
            throughput=_mean(known),
            throughput_lo=_mean(lows) if is_sure else None,
            throughput_hi=_mean(highs) if is_sure else None,
        )


def _mean(shares: Sequence[float]) -> float:
    """The geometric mean, which is 0 where one of them is.

    >>> round(_mean([0.25, 1.0]), 12), _mean([0.0, 1.0])
    (0.5, 0.0)
    """
    if min(shares) <= 0:
        return 0.0
    return math.exp(math.fsum(map(math.log, shares)) / len(shares))
