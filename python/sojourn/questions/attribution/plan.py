"""Which factor moves the tail: one run of each combination of levels a block, at one rate (M17).

The rate is the same under every combination, so there is no load axis. The study's factors are what
is attributed to; the order within a block is that of every study with factors (`plan.design`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn import units
from sojourn.plan import make
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.question import Known, PhaseKind, Question
from sojourn.questions.attribution import asks
from sojourn.spec import ServiceSpec, Study

NAME = "attribution"
PHASE = Phase(NAME)


class Attribution(Question):
    """One point a block and combination."""

    name = NAME
    about = "which factor moves the tail, by how much, and which only seems to"
    phases = (PhaseKind(name=PHASE, about="each combination at one rate", is_read=True),)
    needs_axis = False
    tables = ("attribution",)
    is_alone = True

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """The next block that has no believed run."""
        retries = 0 if known.is_late else study.run.retries
        asked = asks.of(service)
        if asked is None:
            return None
        done = make.Tried(outcomes, PHASE)
        for block in range(study.run.repeats):
            cell = Cell(service.label, PHASE, block)
            tried = done.at(block, cell.setting)
            if make.is_open(tried, retries):
                point = make.point(
                    study,
                    cell,
                    len(tried),
                    measure_s=study.run.measure_s,
                    offered_rps=units.parse_count(asked.rate),
                )
                return make.longer(point, tried)
        return None


KIND = Attribution()
