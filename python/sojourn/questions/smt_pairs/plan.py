"""What two copies of a program on the hyper-threads of a core are worth (P21).

A study varies `neighbour`: each batch program once with `where=core`, alone on a core, and once
with `where=pair`, a copy on each of its hyper-threads. No service is asked anything: it is `null`,
whose client sends a little on another core so that a point has a length. Each combination has a
point in each block, in the order of the blocks' lots, so that both of a program are close in time.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.plan import make
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.question import Known, PhaseKind, Question
from sojourn.spec import ServiceSpec, Study

NAME = "smt_pairs"
PHASE = Phase(NAME)
RATE_RPS = 100.0  # next to nothing: the client is only there to give a point its length


class SmtPairs(Question):
    """A point in each block, of each combination."""

    name = NAME
    about = "two copies of a program on the hyper-threads of a core, compared with one alone"
    phases = (PhaseKind(name=PHASE, about="batch programs alone on a core and in pairs"),)
    needs_axis = False
    is_alone = True

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """The next block that has no point which is believed."""
        del known
        done = make.Tried(outcomes, PHASE)
        for block in range(study.run.repeats):
            cell = Cell(service.label, PHASE, block)
            tried = done.at(block, cell.setting)
            if make.is_open(tried, study.run.retries):
                return make.point(
                    study,
                    cell,
                    len(tried),
                    measure_s=study.run.measure_s,
                    offered_rps=RATE_RPS,
                )
        return None


KIND = SmtPairs()
