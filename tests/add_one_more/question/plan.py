"""What half of the load is like: one point a block, at 50 %."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.plan import make
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.question import Known, PhaseKind, Question
from sojourn.plan.setting import LOAD, Setting
from sojourn.spec import ServiceSpec, Study

PHASE = Phase("half")
SHARE = 0.5  # of max RPS


class Half(Question):
    """One load in every block."""

    name = "half"
    about = "what half of the load is like"
    phases = (PhaseKind(name=PHASE, about="half of the load"),)

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """The next block that has no believed run."""
        if known.axis is None:
            return None
        done, setting = make.Tried(outcomes, PHASE), Setting.of({LOAD: SHARE})
        for block in range(study.run.repeats):
            tried = done.at(block, setting)
            if make.is_open(tried, study.run.retries):
                return make.point(
                    study,
                    Cell(service.label, PHASE, block, setting),
                    len(tried),
                    measure_s=study.run.measure_s,
                    offered_rps=SHARE * known.axis.rps,
                    fraction=SHARE,
                )
        return None


KIND = Half()
