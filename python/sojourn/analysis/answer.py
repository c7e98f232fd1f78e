"""The answer in words: a sentence or two per service, no rounder and no surer than the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.analysis.findings import Interval, LoadPoint, MaxLoad, Qos, ServiceFinding
from sojourn.analysis.method import Method
from sojourn.analysis.words import percent, percentile
from sojourn.plan.points import Verdict
from sojourn.units import show_count, show_ns

METHOD = Method(
    name="answer",
    about="the answer in words",
    ids=("M12", "M18", "C7"),
    source="the verdicts of METHOD",
)

_TAIL = 0.99
NULL_RULE = "highest_asked"
_AXIS = {
    "achieved_peak": "achieved peak",
    "no_drop": "highest rate without drops",
    "qos": "highest load within QoS",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Where a sweep's loads stop meeting the target.

    Attributes:
        holds: highest load that holds, with every decided load below it; None: not one.
        violated: lowest load that does not; None: not one.
    """

    holds: LoadPoint | None
    violated: LoadPoint | None


def bracket(points: Sequence[LoadPoint]) -> Bracket:
    """The loads on either side of the border; unknown loads between them stay between."""
    ordered = sorted(points, key=lambda p: p.offered_rps)
    violated = next((p for p in ordered if p.verdict is Verdict.VIOLATED), None)
    held = [
        p
        for p in ordered
        if p.verdict is Verdict.HOLDS and (violated is None or p.offered_rps < violated.offered_rps)
    ]
    return Bracket(holds=held[-1] if held else None, violated=violated)


def headline(found: ServiceFinding, workers: int | None) -> str:
    """One service in a sentence: what fits, or how the tail grows if there is no target."""
    if found.max_rps_rule == NULL_RULE:
        return instrument(found)
    who = _who(found, workers)
    if found.qos is not None:
        return _fits(who, found.qos, found)
    grown = growth(found, _TAIL)
    return f"{who}: {grown}" if grown else f"{who}: unknown; no two loads could be measured."


def service(found: ServiceFinding, workers: int | None) -> str:
    """The same, and how mean and tail grow on the way."""
    grown = growth(found, found.qos.q) if found.qos else ""
    return " ".join([headline(found, workers), grown[:1].upper() + grown[1:]]).strip()


def instrument(found: ServiceFinding) -> str:
    """What the generator itself costs, from a service that answers at once."""
    known = [
        (p.offered_rps, p.mean.value, tail)
        for p in found.points
        if p.mean.value is not None
        and (tail := next((e.value for e in p.quantiles if e.q == _TAIL), None)) is not None
    ]
    if not known:
        return "What the instrument itself costs is unknown: no run of it can be believed."
    costs = (
        f"mean {show_ns(mean)}, {percentile(_TAIL)} {show_ns(tail)} at {show_count(rps)} requests/s"
        for rps, mean, tail in known
    )
    return f"The instrument itself costs: {'; '.join(costs)}."


def _who(found: ServiceFinding, workers: int | None) -> str:
    if workers is None:
        return found.service
    return f"{found.service} on {workers} {'thread' if workers == 1 else 'threads'}"


def _fits(who: str, qos: Qos, found: ServiceFinding) -> str:
    target = f"{percentile(qos.q)} ≤ {show_ns(qos.bound_ns)}"
    axis = ""
    if found.max_rps:
        rule = _AXIS.get(found.max_rps_rule, found.max_rps_rule)
        axis = f" of its {rule} of {show_count(found.max_rps)}"
    most = found.max_load
    if most is not None and most.interval_rps and most.verdict is Verdict.HOLDS:
        share = f" ({_percents(most.fraction)}{axis})" if most.fraction else ""
        return f"{who} keeps {target} up to {_rates(most.interval_rps)} requests/s{share}."
    if most is not None and most.verdict is Verdict.VIOLATED:
        least = min((rps for rps, _ in most.probes), default=0.0)
        return f"{who} misses {target} at every load tried, down to {show_count(least)} requests/s."
    unknown = ""
    if most is not None:
        why = most.reasons[0] if most.reasons else "the search did not decide"
        unknown = f"How much load {who} takes with {target} is unknown: {why}."
    swept = _swept(who, target, found.points, axis)
    if unknown and swept:
        return f"{unknown} In the sweep, {swept}"
    return unknown or swept or f"Whether {who} keeps {target} is unknown: no load was decided."


def _swept(who: str, target: str, points: Sequence[LoadPoint], axis: str) -> str:
    """What the sweep alone says."""
    found = bracket(points)
    holds, violated = found.holds, found.violated
    if holds and violated:
        doubt = [p for p in points if holds.offered_rps < p.offered_rps < violated.offered_rps]
        between = (
            f"; between them {len(doubt)} load{'s' if len(doubt) > 1 else ''} stayed unknown"
            if doubt
            else ""
        )
        return (
            f"{who} keeps {target} at {_at(holds)} and misses it at {_at(violated)}{axis}{between}."
        )
    if holds:
        above = [p for p in points if p.offered_rps > holds.offered_rps]
        beyond = f"; above that it is unknown: {_why(above[0])}" if above else ""
        most = "the highest load measured" if not above else "the highest load that was decided"
        return f"{who} keeps {target} up to {_at(holds)}{axis}, {most}{beyond}."
    if violated:
        return f"{who} misses {target} at {_at(violated)}{axis}; no lower load was shown to hold."
    return ""


def growth(found: ServiceFinding, q: float) -> str:
    """How mean and tail grow from the lowest to the highest load that has numbers."""
    known = [
        (p.fraction, p.mean.value, tail)
        for p in sorted(found.points, key=lambda p: p.fraction)
        if p.mean.value is not None
        and (tail := next((e.value for e in p.quantiles if e.q == q), None)) is not None
        and math.isfinite(tail)
    ]
    if len(known) < 2:
        return ""
    (low, low_mean, low_tail), (high, high_mean, high_tail) = known[0], known[-1]
    return (
        f"from {percent(low)} to {percent(high)} load the mean goes from {show_ns(low_mean)} to "
        f"{show_ns(high_mean)}, {percentile(q)} from {show_ns(low_tail)} to {show_ns(high_tail)}."
    )


def load_range(points: Sequence[LoadPoint], max_load: MaxLoad | None) -> str:
    """Load within QoS as a share of max RPS, in words, for a table."""
    if max_load and max_load.verdict is Verdict.HOLDS and max_load.fraction:
        return _percents(max_load.fraction)
    found = bracket(points)
    if found.holds and found.violated:
        return f"between {percent(found.holds.fraction)} and {percent(found.violated.fraction)}"
    if found.holds:
        return f"at least {percent(found.holds.fraction)}"
    if found.violated:
        return f"below {percent(found.violated.fraction)}"
    return "unknown"


def _at(point: LoadPoint) -> str:
    return f"{show_count(point.offered_rps)} requests/s ({percent(point.fraction)})"


def _why(point: LoadPoint) -> str:
    return point.reasons[0] if point.reasons else "its self-check failed"


def _rates(interval: Interval) -> str:
    return f"{show_count(interval.lo)} to {show_count(interval.hi)}"


def _percents(interval: Interval) -> str:
    return f"{100 * interval.lo:.0f}–{100 * interval.hi:.0f} %"
