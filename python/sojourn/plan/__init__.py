"""Which measurement comes next: a pure function of the study and of what became of the others.

Each name is loaded when it is asked for, because models and numerics take a quarter of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import late

if TYPE_CHECKING:
    from sojourn.plan.axis import Axis, Target
    from sojourn.plan.decide import Decision
    from sojourn.plan.next import Planner, Progress, next_point, progress
    from sojourn.plan.points import Outcome, Phase, Point, Verdict
    from sojourn.plan.questions import Questions
    from sojourn.plan.rehearsal import Rehearsal, rehearse
    from sojourn.plan.resumed import again
    from sojourn.plan.search import Search

__all__ = [
    "Axis",
    "Decision",
    "Outcome",
    "Phase",
    "Planner",
    "Point",
    "Progress",
    "Questions",
    "Rehearsal",
    "Search",
    "Target",
    "Verdict",
    "again",
    "next_point",
    "progress",
    "rehearse",
]

__getattr__ = late.names(
    __name__,
    {
        "axis": ["Axis", "Target"],
        "decide": ["Decision"],
        "next": ["Planner", "Progress", "next_point", "progress"],
        "points": ["Outcome", "Phase", "Point", "Verdict"],
        "questions": ["Questions"],
        "rehearsal": ["Rehearsal", "rehearse"],
        "resumed": ["again"],
        "search": ["Search"],
    },
)
