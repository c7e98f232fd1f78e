"""Points and outcomes in a few words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sojourn.analysis.words import load_share
from sojourn.plan import Outcome, Point, Verdict, progress
from sojourn.spec import Study
from sojourn.units import show_count, show_ns


def point_words(point: Point) -> str:
    """`memcached sweep  70 %  84.0k/s`: what is measured."""
    share = "" if point.fraction is None else f"{load_share(point.fraction):>6}"
    if point.offered_rps is None:
        return f"{point.service} {point.phase} closed loop"
    return f"{point.service} {point.phase} {share} {show_count(point.offered_rps)}/s"


def outcome_words(
    study: Study, outcome: Outcome, outcomes: Sequence[Outcome]
) -> tuple[str, str, str]:
    """What became of it: its numbers, a word, and the reason if there is one."""
    numbers = f"{show_count(outcome.achieved_rps)}/s"
    if outcome.point.offered_rps is not None:
        numbers += f"  mean {_time(outcome.mean_ns)}  p99 {_time(outcome.p99_ns)}"
    reason = outcome.reasons[0] if outcome.reasons else ""
    if outcome.verdict is Verdict.UNKNOWN:
        return numbers, "unknown", reason
    return numbers, _decision(study, outcome, outcomes) or str(outcome.verdict), ""


def so_far(study: Study, service: str, outcomes: Sequence[Outcome]) -> str:
    """`so far ≈ 100k (80k–130k)`: what all runs of a service say at this moment; "" if nothing."""
    search = progress(study, study.service(service), outcomes).search
    ends = search.interval_rps if search else None
    if ends is None:
        return ""
    (lo, hi), estimate = ends, getattr(search, "estimate_rps", None)
    if lo <= 0 and math.isinf(hi):
        return ""
    if lo <= 0:
        return f"so far at most {show_count(hi)}/s"
    if math.isinf(hi):
        return f"so far at least {show_count(lo)}/s"
    between = f"{show_count(lo)}–{show_count(hi)}"
    return f"so far ≈ {show_count(estimate)}/s ({between})" if estimate else f"so far {between}/s"


def _decision(study: Study, outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """What all runs so far say about this load, which is one answer for log, page and record."""
    search = progress(study, study.service(outcome.point.service), outcomes).search
    if search is None or search.posterior is None or not outcome.offered_rps:
        return ""
    p = search.posterior.holds_at(outcome.offered_rps)
    return f"meets the target: P = {p:.2f}"


def _time(ns: float | None) -> str:
    return "-" if ns is None else show_ns(ns)
