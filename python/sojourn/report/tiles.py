"""The first thing that is said of a service: its number, how sure, and what would settle it.

Page and terminal show the same tiles; nothing here is computed but places on a bar.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sojourn import units
from sojourn.analysis import answer
from sojourn.analysis.findings import Border, MaxLoad, Scheduled, ServiceFinding, Settle
from sojourn.plan.points import Verdict
from sojourn.report import show
from sojourn.report.draw.lookup import of_point, tail_q

WORTH = answer.APART  # a ratio above which what took the server's CPU is part of the answer
CULPRITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """An interval on the load axis: all places as shares of its length, in [0, 1].

    Attributes:
        end: what the axis ends with, in words.
        is_open_low, is_open_high: nothing was seen to hold, or to fail.
    """

    lo: float
    hi: float
    at: float
    end: str
    is_open_low: bool
    is_open_high: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One service's answer.

    Attributes:
        number, unit: the answer; `unknown` without a unit if there is none.
        said: how sure it is and what it rests on, or what the number is.
        target: the QoS target; "" without one.
        why: what stands in the way, for an answer that is no narrow interval.
        notes: what else belongs to the answer: the machine's share in it.
    """

    service: str
    verdict: Verdict
    number: str
    unit: str
    said: str
    target: str
    bar: Bar | None
    why: str
    notes: tuple[str, ...]
    settle: Settle | None

    @property
    def line(self) -> str:
        """Number, unit and interval: `≈ 107k requests/s (97k–115k, 90 %; 36 runs, 82 s)`."""
        words = " ".join(word for word in (self.number, self.unit) if word)
        return f"{words} ({self.said})" if self.said else words


def of_service(service: ServiceFinding) -> Tile:
    """The tile of a service, with or without a target."""
    search = service.max_load
    number, unit, said = _answer(service)
    found = search.border if search else None
    return Tile(
        service=service.service,
        verdict=service.verdict,
        number=number,
        unit=unit,
        said=said,
        target=target(service),
        bar=_bar(found, service.max_rps) if found else None,
        why=_why(service) if service.verdict is Verdict.UNKNOWN else "",
        notes=tuple(_notes(search)) if search else (),
        settle=search.settle if search else None,
    )


def target(service: ServiceFinding) -> str:
    """The QoS target in short, such as `p99 ≤ 1 ms`; "" without one."""
    qos = service.qos
    return f"{show.quantile(qos.q)} ≤ {show.time(qos.bound_ns)}" if qos else ""


def short(service: ServiceFinding) -> str:
    """The answer in a word or two, for a headline: `≈ 107k/s`."""
    number, unit, _ = _answer(service)
    if unit == "requests/s":
        return f"{number}/s"
    is_tail = service.max_load is None and service.points and number != "unknown"
    return f"{show.quantile(tail_q(service))} {number}" if is_tail and not unit else number


def _answer(service: ServiceFinding) -> tuple[str, str, str]:
    """(number, unit, what is said of it)."""
    search = service.max_load
    if search is not None:
        return _of_search(search)
    if service.qos is not None and service.points:
        return answer.load_range(service.points, None), "of max RPS", "by the sweep alone"
    return _of_tail(service)


def _of_search(search: MaxLoad) -> tuple[str, str, str]:
    if search.border is not None:
        number = show.border(search.border)
        unit = "" if number in {"unknown", "no load"} else "requests/s"
        return number, unit, f"{show.within(search.border)}; {show.basis(search.border)}"
    return "unknown", "", "no run can be believed"


def _of_tail(service: ServiceFinding) -> tuple[str, str, str]:
    """Without a target the number is the tail at the highest load that has one."""
    q = tail_q(service)
    for point in reversed(service.points):
        found = of_point(point, q)
        if found is not None and found.value is not None and math.isfinite(found.value):
            where = f"{show.quantile(q)} at {show.count(point.offered_rps)} requests/s"
            if service.max_rps_rule == answer.NULL_RULE:
                where += ", the instrument's own"
            return show.time(found.value), "", where
    columns = service.breakdown.columns if service.breakdown else ()
    for column in columns:
        if column.mean_ns is not None:
            return show.time(column.mean_ns), "", f"mean in the server, {column.name}"
    return "unknown", "", ""


def _bar(found: Border, max_rps: float | None) -> Bar:
    lo, hi = found.interval_rps.lo, found.interval_rps.hi
    ends = [found.estimate_rps, lo, *([hi] if math.isfinite(hi) else [])]
    # Loads above max RPS are tried too; then the axis goes on to them.
    top = max(max_rps or 0.0, *ends) or 1.0
    is_max = max_rps is not None and top == max_rps
    return Bar(
        lo=lo / top,
        hi=min(1.0, hi / top),
        at=found.estimate_rps / top,
        end=f"{show.round_count(top)}{' max' if is_max else ''}",
        is_open_low=lo <= 0,
        is_open_high=not math.isfinite(hi),
    )


def _why(service: ServiceFinding) -> str:
    """The first reason, without the code of its rule."""
    search = service.max_load
    reasons = (*(search.reasons if search else ()), *service.reasons)
    return show.uncoded(reasons[0]) if reasons else ""


def _notes(search: MaxLoad) -> list[str]:
    notes = []
    found, other = search.border, search.undisturbed
    if found is not None and other is not None and _is_worth(other, found):
        notes.append(
            f"undisturbed {show.border(other)} ({show.within(other)}):"
            " the machine decides, not the service"
        )
    if found is not None and search.scheduled is not None:
        notes += _scheduled(found, search.scheduled)
    return notes


def _scheduled(found: Border, scheduled: Scheduled) -> list[str]:
    """What the machine makes of the service, if that is much less than it can."""
    who = f": {show.listed(scheduled.culprits, CULPRITS)} ran there" if scheduled.culprits else ""
    other = scheduled.border
    if other is not None and _is_worth(found, other):
        own, there = _number(found), _number(other)
        return [f"{own} with the CPU to itself; {there} as this machine schedules it{who}"]
    pair = scheduled.quantile_ns
    if pair is not None and pair[1] > WORTH * pair[0]:
        own, there = (show.time(ns) for ns in pair)
        at = f"{show.round_count(scheduled.at_rps)} requests/s"
        return [f"at {at} {own} with the CPU to itself; {there} as this machine schedules it{who}"]
    return []


def _is_worth(more: Border, less: Border) -> bool:
    """Whether they differ by more than is usual; "at least" says nothing of how little it is."""
    is_known = math.isfinite(less.interval_rps.hi)
    return is_known and more.estimate_rps > WORTH * less.estimate_rps


def _number(found: Border) -> str:
    lo, hi = found.interval_rps.lo, found.interval_rps.hi
    if lo > 0 and math.isfinite(hi):
        inside = f"{show.round_count(lo)}–{show.round_count(hi)}"
        return f"{show.round_count(found.estimate_rps)} ({inside})"
    return show.border(found)


def settles(settle: Settle) -> str:
    """What the settling command is for and how long it takes: `To find …, 3 min 11 s`."""
    return f"To {settle.why}, {units.show_s(settle.seconds)}"
