"""The answer in words: a sentence or two per service, no rounder and no surer than the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.analysis.findings import Interval, LoadPoint, MaxLoad, Qos
from sojourn.analysis.method import Method
from sojourn.analysis.quantiles import percentile
from sojourn.plan.points import Verdict
from sojourn.units import show_count, show_ns

METHOD = Method(
    name="answer",
    about="the answer in words",
    ids=("M12", "M18", "C7"),
    source="the verdicts of METHOD",
)

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


def service(
    name: str,
    workers: int,
    *,
    qos: Qos | None,
    points: Sequence[LoadPoint],
    max_load: MaxLoad | None,
    max_rps: float | None,
    rule: str,
) -> str:
    """One service's answer."""
    who = f"{name} on {workers} {'thread' if workers == 1 else 'threads'}"
    sentences = []
    if qos is not None:
        axis = f" of its {_AXIS.get(rule, rule)} of {show_count(max_rps)}" if max_rps else ""
        sentences.append(_fits(who, qos, points, max_load, axis))
    if grown := _growth(who if qos is None else "", points, 0.99 if qos is None else qos.q):
        sentences.append(grown)
    if not sentences:
        return f"{who}: unknown; no load of it could be measured."
    return " ".join(sentences)


def _fits(
    who: str,
    qos: Qos,
    points: Sequence[LoadPoint],
    max_load: MaxLoad | None,
    axis: str,
) -> str:
    target = f"{percentile(qos.q)} ≤ {show_ns(qos.bound_ns)}"
    if max_load is not None and max_load.interval_rps and max_load.verdict is Verdict.HOLDS:
        share = f" ({_percents(max_load.fraction)}{axis})" if max_load.fraction else ""
        rates = _rates(max_load.interval_rps)
        return f"{who} keeps {target} up to {rates} requests/s{share}."
    if max_load is not None and max_load.verdict is Verdict.VIOLATED:
        least = min((rps for rps, _ in max_load.probes), default=0.0)
        return f"{who} misses {target} at every load tried, down to {show_count(least)} requests/s."
    unknown = ""
    if max_load is not None:
        why = max_load.reasons[0] if max_load.reasons else "the search did not decide"
        unknown = f"How much load {who} takes with {target} is unknown: {why}."
    swept = _swept(who, target, bracket(points), points, axis)
    if unknown and swept:
        return f"{unknown} In the sweep, {swept}"
    return unknown or swept or f"Whether {who} keeps {target} is unknown: no load was decided."


def _swept(who: str, target: str, found: Bracket, points: Sequence[LoadPoint], axis: str) -> str:
    """What the sweep alone says."""
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


def _growth(who: str, points: Sequence[LoadPoint], q: float) -> str:
    """How mean and tail grow from the lowest to the highest load that has numbers."""
    known = [
        (p.fraction, p.mean.value, tail)
        for p in sorted(points, key=lambda p: p.fraction)
        if p.mean.value is not None
        and (tail := next((e.value for e in p.quantiles if e.q == q), None)) is not None
        and math.isfinite(tail)
    ]
    if len(known) < 2:
        return ""
    (low, low_mean, low_tail), (high, high_mean, high_tail) = known[0], known[-1]
    name = percentile(q)
    text = (
        f"from {low:.0%} to {high:.0%} load the mean goes from {show_ns(low_mean)} to "
        f"{show_ns(high_mean)}, {name} from {show_ns(low_tail)} to {show_ns(high_tail)}."
    )
    return f"{who}: {text}" if who else text[0].upper() + text[1:]


def load_range(points: Sequence[LoadPoint], max_load: MaxLoad | None, max_rps: float | None) -> str:
    """Load within QoS as a share of max RPS, in words, for a table."""
    if max_load and max_load.verdict is Verdict.HOLDS and max_load.fraction and max_rps:
        return _percents(max_load.fraction)
    found = bracket(points)
    if found.holds and found.violated:
        return f"between {found.holds.fraction:.0%} and {found.violated.fraction:.0%}"
    if found.holds:
        return f"at least {found.holds.fraction:.0%}"
    if found.violated:
        return f"below {found.violated.fraction:.0%}"
    return "unknown"


def _at(point: LoadPoint) -> str:
    return f"{show_count(point.offered_rps)} requests/s ({point.fraction:.0%})"


def _why(point: LoadPoint) -> str:
    return point.reasons[0] if point.reasons else "its self-check failed"


def _rates(interval: Interval) -> str:
    return f"{show_count(interval.lo)} to {show_count(interval.hi)}"


def _percents(interval: Interval) -> str:
    return f"{100 * interval.lo:.0f}–{100 * interval.hi:.0f} %"
