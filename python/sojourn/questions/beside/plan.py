"""What a neighbour costs a service, and under which setting its tail gives way (L17, L18).

It measures nothing itself: it holds the sweep beside each neighbour against the sweep of the
service alone, under equal levels of everything else. So a study that asks it has `neighbour` as a
factor, with "none" among its levels, and asks for "sweep" as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.plan.points import Outcome, Point
from sojourn.plan.question import Known, Question
from sojourn.spec import ServiceSpec, Study


class Beside(Question):
    """No points of its own."""

    name = "beside"
    about = "the cost of a neighbour, and the load at which the tail doubles"
    phases = ()

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """None: the sweep measures what it needs."""
        del study, service, known, outcomes
        return None


KIND = Beside()
