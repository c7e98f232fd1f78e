"""Points and outcomes in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.analysis.words import load_share
from sojourn.plan import Outcome, Point, Verdict, progress, questions
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
    known = progress(study, study.service(service), outcomes)
    said = (question.so_far(known) for question in questions.KINDS)
    return ", ".join(text for text in said if text)


def _decision(study: Study, outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """What all runs so far say about this load, which is one answer for log, page and record."""
    known = progress(study, study.service(outcome.point.service), outcomes)
    said = (question.said_of(known, outcome) for question in questions.KINDS)
    return ", ".join(text for text in said if text)


def _time(ns: float | None) -> str:
    return "-" if ns is None else show_ns(ns)
