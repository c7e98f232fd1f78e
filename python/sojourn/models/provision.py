"""Interference-aware provisioning: lower the load per server, keep the neighbours (L22).

A neighbour makes the tail bend at a lower load. Plan for that load, and any neighbour of the table
may stay; more servers carry the service, but their spare capacity works for someone else. What is
left to forbid is told per neighbour (L30).

What was not measured is not known to fit: a load counts only if every number that a bound asks for
is there, at it and at all loads below. Of a measured number the whole interval must meet the bound;
what that leaves out for want of certainty is the load of `Table.at_best`. Beside a neighbour the
service never does better than alone, so no limit lies above its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sojourn.errors import SpecFault
from sojourn.models.colocation import Table
from sojourn.models.colocation_row import Beside

Word = Literal["holds", "violated", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How far the load may go beside one neighbour.

    Attributes:
        neighbour: its name; "none" is the service alone.
        load: highest load of the table up to which every cell is known and meets both bounds, at
            most that of the service alone; None: none.
        fails_at: the next load of the table, at which one does not, or is not known; None: all do.
        why: what fails or is missing there.
        verdict: `holds` up to `load`; `violated` at the lowest load; `unknown`: not measured there.
    """

    neighbour: str
    load: float | None
    fails_at: float | None
    why: str
    verdict: Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The answer.

    Attributes:
        label: where the table's numbers come from.
        verdict: `violated` if the service or every neighbour fits nowhere; `unknown` if it is not
            known of any that it fits; else `holds`, for those that are neither forbidden nor
            unknown.
        load: load to plan per server, headroom taken off; None: no load fits.
        alone: the same without neighbours.
        limits: per neighbour, the tightest first, the unknown last.
        forbidden: neighbours that do not fit even at the lowest load of the table.
        unknown: neighbours of which that is not known: forbidden until they are measured.
        would_allow: (load, names) that forbidding the tightest, one after another, allows.
        servers: servers for each step of the demand; None where the table has no peak_rps.
        servers_alone: the same if there were no neighbours, on the same share of the cores.
        headroom: share taken off.
    """

    verdict: Word
    label: str
    load: float | None
    alone: float | None
    limits: tuple[Limit, ...]
    forbidden: tuple[str, ...]
    unknown: tuple[str, ...]
    would_allow: tuple[tuple[float, tuple[str, ...]], ...]
    servers: tuple[int, ...] | None
    servers_alone: tuple[int, ...] | None
    headroom: float


def provision(
    table: Table,
    *,
    bound_ns: float,
    loss_max: float = 1.0,
    headroom: float = 0.0,
    demand_rps: Sequence[float] = (),
    peak_rps: float | None = None,
) -> Plan:
    """Find the load per server that keeps the QoS target beside every neighbour that fits at all.

    Args:
        table: tails and throughputs.
        bound_ns: QoS bound on the table's quantile.
        loss_max: largest loss of a neighbour's throughput, 0 to 1. For neighbours that share the
            cores (L28) losing (load) is no loss but their place; leave it at 1 there.
        headroom: share of the load that is kept free.
        demand_rps: demand at each step or hour.
        peak_rps: requests/s of one server whose cores are all the service's, at load 1; by default
            the table's. The service on `core_share` of them serves that share of it.

    >>> from sojourn.models.colocation import L33
    >>> plan = provision(L33, bound_ns=500e3, loss_max=0.10)
    >>> plan.load, plan.alone, plan.limits[0].neighbour
    (0.6, 0.9, 'lbm')
    """
    _check(bound_ns, loss_max, headroom, demand_rps, peak_rps)
    alone = _limit(table, "none", bound_ns, 1.0)
    limits = [_capped(_limit(table, name, bound_ns, loss_max), alone) for name in table.neighbours]
    limits.sort(key=lambda limit: (limit.verdict == "unknown", limit.load or 0, limit.neighbour))
    fitting = [limit for limit in limits if limit.load is not None]
    load = min((limit.load for limit in fitting if limit.load is not None), default=None)
    load = load if limits else alone.load
    retained = 1 - headroom
    peak = table.peak_rps if peak_rps is None else peak_rps
    served = None if peak is None else peak * table.core_share
    return Plan(
        verdict=_verdict(alone, limits),
        label=table.label,
        load=_times(load, retained),
        alone=_times(alone.load, retained),
        limits=tuple(limits),
        forbidden=tuple(limit.neighbour for limit in limits if limit.verdict == "violated"),
        unknown=tuple(limit.neighbour for limit in limits if limit.verdict == "unknown"),
        would_allow=_ladder(fitting, retained),
        servers=_servers(demand_rps, served, _times(load, retained)),
        servers_alone=_servers(demand_rps, served, _times(alone.load, retained)),
        headroom=headroom,
    )


def _verdict(alone: Limit, limits: Sequence[Limit]) -> Word:
    """Nothing that fits is violated, unless it is only not known."""
    verdicts = {limit.verdict for limit in limits} or {alone.verdict}
    order: tuple[Word, ...] = ("holds", "unknown", "violated")
    return next(word for word in order if word in verdicts)


def diurnal(mean_rps: float, amplitude_rps: float, hours: int = 24) -> tuple[float, ...]:
    """Demand by hour: least at 0 h, most at noon.

    >>> [round(x) for x in diurnal(100, 50, hours=4)]
    [50, 100, 150, 100]
    """
    if not 0 <= amplitude_rps <= mean_rps or hours < 1:
        raise SpecFault(
            f"mean {mean_rps:g}, amplitude {amplitude_rps:g}, {hours} hours",
            at="demand",
            fix="give an amplitude from 0 to the mean, and 1 hour or more",
        )
    turn = 2 * math.pi / hours
    return tuple(mean_rps - amplitude_rps * math.cos(turn * hour) for hour in range(hours))


def _limit(table: Table, name: str, bound_ns: float, loss_max: float) -> Limit:
    """Climb from the lowest load and stop at the first cell that fails or is not known.

    No load above it counts: an interval of loads is planned, not a point.
    """
    passed: float | None = None
    for load in table.loads:
        why, is_known = _against(table.at(name, load), bound_ns, loss_max)
        if why:
            verdict: Word = "holds" if passed is not None else "violated" if is_known else "unknown"
            return Limit(neighbour=name, load=passed, fails_at=load, why=why, verdict=verdict)
        passed = load
    return Limit(neighbour=name, load=passed, fails_at=None, why="", verdict="holds")


def _against(row: Beside | None, bound_ns: float, loss_max: float) -> tuple[str, bool]:
    """What speaks against a cell ("": nothing), and whether that is known or only not excluded.

    A cell fails if all of an interval is beyond a bound, and is not known if a part of it is.
    """
    row = row or Beside(neighbour="nobody", load=0)
    least_ns, most_ns = row.tail_least_ns, row.tail_most_ns
    least, most = row.throughput_least, row.throughput_most
    loss_max += 1e-9  # a loss of exactly the most that may be fits
    tail, loss = f"tail {_span_us(least_ns, most_ns)} µs", f"loses {_span_share(most, least)}"
    checks = (
        (least_ns is not None and least_ns > bound_ns, f"{tail} > {bound_ns / 1e3:g} µs", True),
        (most is not None and 1 - most > loss_max, f"{loss} > {loss_max:.0%}", True),
        (least_ns is None, "tail not measured", False),
        (most_ns is None, f"{tail} or more", False),
        ((most_ns or 0.0) > bound_ns, f"{tail}: above or below {bound_ns / 1e3:g} µs", False),
        (least is None and loss_max < 1, "loss not measured", False),
        (
            1 - (1.0 if least is None else least) > loss_max,
            f"{loss}: more or less than {loss_max:.0%}",
            False,
        ),
    )
    return next(((why, is_known) for fails, why, is_known in checks if fails), ("", True))


def _span_us(least_ns: float | None, most_ns: float | None) -> str:
    ends = [f"{ns / 1e3:.0f}" for ns in (least_ns, most_ns) if ns is not None]
    return " to ".join(dict.fromkeys(ends))


def _span_share(most: float | None, least: float | None) -> str:
    """What is lost, from the most and the least that is stored."""
    ends = [f"{1 - retained:.0%}" for retained in (most, least) if retained is not None]
    return " to ".join(dict.fromkeys(ends))


def _capped(limit: Limit, alone: Limit) -> Limit:
    """At most what the service can do alone, and nothing where that is nothing."""
    if alone.load is not None and (limit.load or 0.0) <= alone.load:
        return limit
    if alone.verdict == "unknown" and limit.verdict == "violated":
        return limit
    return replace(
        alone, neighbour=limit.neighbour, why=f"the service alone: {alone.why or 'no higher load'}"
    )


def _ladder(fitting: Sequence[Limit], value: float) -> tuple[tuple[float, tuple[str, ...]], ...]:
    """Load that fits if all neighbours tighter than it are forbidden, step by step."""
    steps: list[tuple[float, tuple[str, ...]]] = []
    for load in sorted({limit.load for limit in fitting if limit.load is not None}):
        out = tuple(limit.neighbour for limit in fitting if (limit.load or 0) < load)
        if out:
            steps.append((load * value, out))
    return tuple(steps)


def _servers(
    demand: Sequence[float], peak: float | None, load: float | None
) -> tuple[int, ...] | None:
    if not demand or peak is None or not load:
        return None
    return tuple(math.ceil(rps / (peak * load) - 1e-9) for rps in demand)


def _times(load: float | None, share: float) -> float | None:
    return None if load is None else load * share


def _check(
    bound_ns: float, loss_max: float, headroom: float, demand: Sequence[float], peak: float | None
) -> None:
    wrong = (
        (not bound_ns > 0, f"the QoS bound is {bound_ns:g} ns", "bound", "give a time above 0"),
        (not 0 <= loss_max <= 1, f"loss_max is {loss_max:g}", "loss_max", "give 0 to 1"),
        (not 0 <= headroom < 1, f"headroom is {headroom:g}", "headroom", "give 0 to below 1"),
        (
            peak is not None and not 0 < peak < math.inf,
            f"peak_rps is {peak}",
            "peak_rps",
            "give requests/s above 0, or leave it out",
        ),
        (
            any(not 0 <= rps < math.inf for rps in demand),
            "a demand is negative or infinite",
            "demand",
            "give requests/s of 0 or more",
        ),
    )
    for is_wrong, what, at, fix in wrong:
        if is_wrong:
            raise SpecFault(what, at=at, fix=fix)
