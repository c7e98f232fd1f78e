"""Which measurement comes next: a pure function of the study and of what became of the others."""

from sojourn.plan.next import next_point
from sojourn.plan.points import Outcome, Phase, Point, Verdict

__all__ = ["Outcome", "Phase", "Point", "Verdict", "next_point"]
