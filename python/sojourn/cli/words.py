"""Points and outcomes in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.analysis.words import load_share
from sojourn.plan import Outcome, Point, Progress, Verdict, design, progress, questions
from sojourn.plan.setting import level_text
from sojourn.spec import Study
from sojourn.spec.levels import short
from sojourn.units import show_count, show_ns


def served(study: Study, point: Point) -> str:
    """`memcached, threads = 2`: a service and the combination of levels that a point is of."""
    levels = design.own_levels(study, point)
    named = [f"{short(key)} = {level_text(level)}" for key, level in levels.items()]
    return ", ".join([point.service, *named])


def point_words(point: Point) -> str:
    """`memcached sweep  70 %  84.0k/s  threads=2`: what is measured."""
    levels = [f"{short(k)}={level_text(v)}" for k, v in point.setting.whole_plot.items()]
    return "  ".join([_load_words(point), *levels])


def _load_words(point: Point) -> str:
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


def so_far(study: Study, point: Point, outcomes: Sequence[Outcome]) -> str:
    """`so far ≈ 100k (80k–130k)`: what all runs of a point's combination say, or ""."""
    known = _known(study, point, outcomes)
    said = (question.so_far(known) for question in questions.KINDS.values())
    return ", ".join(text for text in said if text)


def _decision(study: Study, outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """What all runs so far say about this load, which is one answer for log, page and record."""
    known = _known(study, outcome.point, outcomes)
    said = (question.said_of(known, outcome) for question in questions.KINDS.values())
    return ", ".join(text for text in said if text)


def _known(study: Study, point: Point, outcomes: Sequence[Outcome]) -> Progress:
    group = design.group_of(study, point, outcomes)
    return progress(group.study, group.study.service(group.service), group.outcomes)


def _time(ns: float | None) -> str:
    return "-" if ns is None else show_ns(ns)
