"""Points and outcomes in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.plan import Outcome, Point, Progress, design, progress
from sojourn.plan.setting import level_text
from sojourn.questions import PLANS
from sojourn.spec import Study
from sojourn.spec.levels import short
from sojourn.text.numbers import load_share
from sojourn.units import show_count


def served(study: Study, point: Point) -> str:
    """`memcached, threads = 2`: a service and the combination of levels that a point is of."""
    levels = design.own_levels(study, point)
    named = [f"{short(key)} = {level_text(level)}" for key, level in levels.items()]
    return ", ".join([point.service, *named])


def point_words(point: Point) -> str:
    """`memcached sweep  70 %  84.0k/s  threads=2`: what is measured."""
    levels = [f"{short(k)}={level_text(v)}" for k, v in point.setting.whole_plot.items()]
    return "  ".join([f"{point.service} {point.phase} {load_words(point)}", *levels])


def load_words(point: Point) -> str:
    """`  70 % 84.0k/s`, or `closed loop`."""
    if point.offered_rps is None:
        return "closed loop"
    share = "" if point.fraction is None else f"{load_share(point.fraction):>6}"
    return f"{share} {show_count(point.offered_rps)}/s"


def so_far(study: Study, point: Point, outcomes: Sequence[Outcome]) -> str:
    """`so far ≈ 100k (80k–130k)`: what all runs of a point's combination say, or ""."""
    known = _known(study, point, outcomes)
    texts = (question.so_far(known) for question in PLANS.values())
    return ", ".join(text for text in texts if text)


def chance(study: Study, outcome: Outcome, outcomes: Sequence[Outcome]) -> float | None:
    """By all runs so far, how probable it is that this load meets its target, or None."""
    known = _known(study, outcome.point, outcomes)
    each = (question.chance_of(known, outcome) for question in PLANS.values())
    return next((one for one in each if one is not None), None)


def _known(study: Study, point: Point, outcomes: Sequence[Outcome]) -> Progress:
    known = [PLANS.known(outcome) for outcome in outcomes]
    group = design.group_of(study, point, known)
    return progress(group.study, group.study.service(group.service), group.outcomes, PLANS)
