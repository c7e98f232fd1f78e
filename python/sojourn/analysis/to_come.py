"""What an unfinished study has left to measure, and what it has not begun.

A count of what was measured alone would call a study answered that was ended after its first load.
"""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.findings.measured import StudyData
from sojourn.plan import design
from sojourn.plan.points import Point
from sojourn.plan.rehearsal import Rehearsal, rehearse
from sojourn.plan.setting import TWIN, Setting


def ahead(data: StudyData) -> Rehearsal | None:
    """What is still to be measured; None where the study is finished, or was not begun.

    Args:
        data: the study and its points; of a record that says so nothing is left.
    """
    if data.is_complete or not data.measured:
        return None
    result = rehearse(data.study, data.questions, [m.outcome for m in data.measured])
    return result if result.points else None


def open_names(data: StudyData, left: Rehearsal) -> Iterator[str]:
    """Names of questions, once for each load, pair or combination that was not begun.

    At least one: what is begun wants more blocks, or all that is left is the load axis.

    Args:
        data: the study and its points.
        left: what is to come.
    """
    begun = {_what(data, m.outcome.point) for m in data.measured}
    fresh = {_what(data, point): None for point in left.points}
    names = [what[0] for what in fresh if what[0] and what not in begun]
    yield from names or [_first(data, left)]


def _first(data: StudyData, left: Rehearsal) -> str:
    """The question of the first point that is to come; of the load axis, the first asked."""
    names = (_what(data, point)[0] for point in left.points)
    every = (q.name for s in data.study.services for q in data.questions.asked(data.study, s))
    return next(filter(None, names), next(every, ""))


def _what(data: StudyData, point: Point) -> tuple[str, str, str]:
    """(question, service, what is measured) of a point; the question is "" for the load axis.

    Where results say how many points there are, those of one combination are one thing.
    """
    question = data.questions.of_phase(point.phase)
    if question is None:
        return "", point.service, ""
    levels = design.levels_of(data.study, point)
    if any(kind.is_about for kind in question.phases):
        return question.name, point.service, levels.text
    own = {key: level for key, level in point.setting.items() if key != TWIN}
    return question.name, point.service, Setting.of(own).text
