"""Where the time of each request goes: the points of `plan.traced`, as a question (M21)."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.plan import traced
from sojourn.plan.points import Outcome, Phase, Point
from sojourn.plan.question import Known, PhaseKind, Question
from sojourn.spec import ServiceSpec, Study


class Breakdown(Question):
    """Every setting with the tracer and without; a study with `trace = true` asks it, too."""

    name = "breakdown"
    about = "where the time of each request goes, stage by stage"
    phases = (
        PhaseKind(name=Phase.TRACE, about="where the time goes, with the tracer and without"),
    )

    def is_asked(self, study: Study, service: ServiceSpec) -> bool:
        """By its name, or of all loads by the study."""
        return bool(traced.settings(study, service))

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """The next traced point, or its untraced twin."""
        if known.axis is None:
            return None
        return traced.next_run(study, service, outcomes, known.axis, is_late=known.is_late)


KIND = Breakdown()
