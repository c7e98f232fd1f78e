"""Up to which load may a batch neighbour stay, and what does it keep of its pace (L27 to L30)?

It has no points of its own but those of the sweep: every load under every combination of levels,
of which one factor is the neighbour and others say how the CPUs are shared and scheduled. The
answer puts them together.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.plan.points import Outcome, Point
from sojourn.plan.question import Known, Question
from sojourn.questions.sweep.plan import next_run
from sojourn.spec import ServiceSpec, Study

NAME = "colocation"


class Colocation(Question):
    """What the sweeps beside neighbours and alone say together."""

    name = NAME
    about = "the highest load at which a batch neighbour can stay, and its pace there"
    phases = ()
    tables = ("qos", NAME)
    is_of_one = True  # its rules and its table are of one service

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """The next run of the sweep; none of its own where the sweep is asked for anyway."""
        if known.axis is None:
            return None
        return next_run(study, service, outcomes, known.axis, known.target, is_late=known.is_late)


KIND = Colocation()
