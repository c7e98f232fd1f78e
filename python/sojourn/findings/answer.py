"""The answer in words: a sentence or two per service, no rounder and no surer than the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.findings.findings import Qos, ServiceFinding
from sojourn.findings.highest_load import Border, MaxLoad, is_closed
from sojourn.findings.load_point import LoadPoint
from sojourn.plan.points import Verdict
from sojourn.stats.interval import Interval
from sojourn.stats.method import Method
from sojourn.text.numbers import load_share, percent, percentile
from sojourn.units import show_count, show_ns, show_s

METHOD = Method(
    name="answer",
    about="the answer in words",
    ids=("M12", "M18", "C7"),
    source="the verdicts of METHOD",
)

_TAIL = 0.99
APART = 1.2  # ratio of the answers with and without the shield from which both are reported
NULL_RULE = "highest_asked"
_AXIS = {
    "achieved_peak": "achieved peak",
    "no_drop": "highest rate without drops",
    "qos": "highest load within QoS",
    "asked": "highest load asked",
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


def headline(finding: ServiceFinding, workers: int | None) -> str:
    """One service in a sentence: what fits, or how the tail grows if there is no target."""
    if finding.max_rps_rule == NULL_RULE:
        return instrument(finding)
    who = _who(finding, workers)
    if finding.qos is not None:
        return _fits(who, finding.qos, finding)
    grown = growth(finding, _TAIL)
    return f"{who}: {grown}" if grown else f"{who}: unknown; no two loads could be measured."


def service(finding: ServiceFinding, workers: int | None) -> str:
    """The same, and how mean and tail grow on the way."""
    return " ".join([headline(finding, workers), grown(finding)]).strip()


def grown(finding: ServiceFinding) -> str:
    """How mean and tail grow, where that is not the headline already."""
    text = growth(finding, finding.qos.q) if finding.qos else ""
    return text[:1].upper() + text[1:]


def instrument(finding: ServiceFinding) -> str:
    """What the generator itself costs, from a service that answers at once."""
    known = [
        (p.offered_rps, p.mean.value, tail)
        for p in finding.points
        if p.mean.value is not None
        and (tail := next((e.value for e in p.quantiles if e.q == _TAIL), None)) is not None
    ]
    if not known:
        return "What the instrument itself costs is unknown: no run of it is valid."
    costs = (
        f"mean {show_ns(mean)}, {percentile(_TAIL)} {show_ns(tail)} at {show_count(rps)} requests/s"
        for rps, mean, tail in known
    )
    return f"The instrument itself costs: {'; '.join(costs)}."


def _who(finding: ServiceFinding, workers: int | None) -> str:
    if workers is None:
        return finding.service
    return f"{finding.service} on {workers} {'thread' if workers == 1 else 'threads'}"


def _fits(who: str, qos: Qos, finding: ServiceFinding) -> str:
    target = f"{percentile(qos.q)} ≤ {show_ns(qos.bound_ns)}"
    axis = ""
    if finding.max_rps:
        rule = _AXIS.get(finding.max_rps_rule, finding.max_rps_rule)
        axis = f" of its {rule} of {show_count(finding.max_rps)}"
    most = finding.section(MaxLoad)
    if most is None:
        none = f"Whether {who} meets {target} is unknown, because no load was decided."
        return _swept(who, target, finding.points, axis) or none
    if most.border is None:
        why = "; ".join(most.reasons) or "the search was not begun"
        return f"How much load {who} takes with {target} is unknown: {why}."
    return " ".join(filter(None, (_answered(who, target, most.border, axis), *_beside(most))))


def _answered(who: str, target: str, border: Border, axis: str) -> str:
    if border.interval_rps.hi == 0:
        least = show_count(border.curve[0][0])
        return f"{who} misses {target} at every load tried, down to {least} requests/s."
    share = f"; {_percents(border.fraction)}{axis}" if border.fraction and is_closed(border) else ""
    rests = f"{border.runs} runs, {border.measured_s:.0f} s"
    return f"{who} keeps {target} up to {fits(border)} requests/s ({rests}{share})."


def fits(border: Border) -> str:
    """A border in words: `≈ 107k (97.0k–115k, 90 %)`, `at least 80.0k`, `at most 20.0k`."""
    lo, hi = border.interval_rps.lo, border.interval_rps.hi
    if hi <= 0:
        return "no load"
    if is_closed(border):
        between = f"{show_count(lo)}–{show_count(hi)}"
        return f"≈ {show_count(border.estimate_rps)} ({between}, {percent(border.level)})"
    if lo > 0:
        return f"at least {show_count(lo, -1)}"
    return f"at most {show_count(hi, 1)}" if math.isfinite(hi) else "an unknown number of"


def _beside(most: MaxLoad) -> tuple[str, ...]:
    """What belongs beside the number: the machine's part, and what would settle a wide answer."""
    texts: list[str] = []
    if most.border and (bare := most.scheduled) and bare.border and is_apart(most, APART):
        ran = f": {' and '.join(bare.culprits[:2])} ran there" if bare.culprits else ""
        alone = f"That is with the CPU to itself; {fits(bare.border)}"
        texts.append(f"{alone} as this machine schedules it{ran}.")
    if most.undisturbed:
        texts.append(f"Undisturbed by the machine it would be {fits(most.undisturbed)}.")
    if most.verdict is Verdict.UNKNOWN and most.reasons:
        texts.append(f"Too wide to decide by: {most.reasons[0]}.")
    if most.verdict is Verdict.UNKNOWN and (open_ := most.settle):
        texts.append(f"To {open_.why}: {open_.command} ({show_s(open_.seconds)}).")
    return tuple(texts)


def is_apart(most: MaxLoad, ratio: float) -> bool:
    """Whether the shield changes the answer by at least this ratio."""
    bare = most.scheduled.border if most.scheduled else None
    if most.border is None or bare is None or math.isinf(bare.interval_rps.hi):
        return False  # "at least" says nothing of how little it is
    return most.border.estimate_rps >= ratio * bare.estimate_rps


def _swept(who: str, target: str, points: Sequence[LoadPoint], axis: str) -> str:
    """What the sweep alone says."""
    result = bracket(points)
    holds, violated = result.holds, result.violated
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


def growth(finding: ServiceFinding, q: float) -> str:
    """How mean and tail grow from the lowest to the highest load that has numbers."""
    known = [
        (p.fraction, p.mean.value, tail)
        for p in sorted(finding.points, key=lambda p: p.fraction)
        if p.mean.value is not None
        and (tail := next((e.value for e in p.quantiles if e.q == q), None)) is not None
        and math.isfinite(tail)
    ]
    if len(known) < 2:
        return ""
    (low, low_mean, low_tail), (high, high_mean, high_tail) = known[0], known[-1]
    return (
        f"from {load_share(low)} to {load_share(high)} load the mean goes from "
        f"{show_ns(low_mean)} to {show_ns(high_mean)}, {percentile(q)} from {show_ns(low_tail)} "
        f"to {show_ns(high_tail)}."
    )


def load_range(points: Sequence[LoadPoint], max_load: MaxLoad | None) -> str:
    """Load within QoS as a share of max RPS, in words, for a table."""
    border = max_load.border if max_load else None
    if border and border.fraction and is_closed(border):
        return _percents(border.fraction)
    ends = bracket(points)
    if ends.holds and ends.violated:
        return f"between {load_share(ends.holds.fraction)} and {load_share(ends.violated.fraction)}"
    if ends.holds:
        return f"at least {load_share(ends.holds.fraction)}"
    if ends.violated:
        return f"below {load_share(ends.violated.fraction)}"
    return "unknown"


def _at(point: LoadPoint) -> str:
    return f"{show_count(point.offered_rps)} requests/s ({load_share(point.fraction)})"


def _why(point: LoadPoint) -> str:
    return point.reasons[0] if point.reasons else "its self-check failed"


def _percents(interval: Interval) -> str:
    return f"{100 * interval.lo:.0f}–{100 * interval.hi:.0f} %"
