"""Which measurement comes next: a pure function of the study and of what became of the others."""

from sojourn.plan.axis import Axis, Target
from sojourn.plan.decide import Decision
from sojourn.plan.next import Planner, Progress, next_point, progress
from sojourn.plan.points import Outcome, Phase, Point, Verdict
from sojourn.plan.questions import Questions
from sojourn.plan.rehearse import Rehearsal, rehearse
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
    "next_point",
    "progress",
    "rehearse",
]
