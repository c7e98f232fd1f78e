"""Nothing is asked: the load axis is measured, and that is all."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.plan.points import Outcome, Point
from sojourn.plan.question import Known, Question
from sojourn.spec import ServiceSpec, Study


class Null(Question):
    """No point of its own."""

    name = "null"
    about = "only the load axis: the service's maximum"
    phases = ()

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """None: the load axis is measured for every question."""
        del study, service, known, outcomes
        return None


KIND = Null()
