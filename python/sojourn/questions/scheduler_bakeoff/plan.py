"""What each scheduler setting of a QoS matrix can do, measured (L24, L25).

One short measurement a block of both services under each combination of levels. Before its load,
which is only there to show that both still answer, `probe` puts processes of its
own under the same levels on the server's CPU and sees what becomes of them: whether each gets the
share that its level names, whether one takes what the other leaves idle, and whether the level's
own parameter changes who waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sojourn.plan import make
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.question import Known, OfAll, PhaseKind
from sojourn.plan.setting import Setting
from sojourn.questions.qos_matrix import asks as matrix_asks
from sojourn.questions.qos_matrix import plan as qos_matrix
from sojourn.questions.together import plan as together
from sojourn.spec import Study

NAME = "scheduler_bakeoff"
PHASE = Phase(NAME)
SHARE = 0.1  # of max RPS, of each
AFTER_S = 0.5  # of load, which shows that both still answer
TRIES = 2


class SchedulerBakeoff(OfAll):
    """Asked by `properties = true` in the study's table `[qos_matrix]`."""

    name = NAME
    about = "what each scheduler setting can do: reserve, use idle time, set the order"
    phases = (
        PhaseKind(
            name=PHASE,
            about="what scheduler settings can do",
            is_bare=True,
            is_experiment=True,
            keeps=NAME,
            grows_with=("run.repeats",),  # its windows and its load have lengths of their own
        ),
    )

    def members(self, study: Study) -> tuple[str, ...]:
        """The two services of the matrix."""
        return qos_matrix.pair(study) if matrix_asks.of(study).properties else ()

    def next_of_all(
        self,
        study: Study,
        levels: Setting,
        known: Mapping[str, Known],
        outcomes: Sequence[Outcome],
    ) -> Point | None:
        """The next block; one of which nothing came is made once more."""
        if any(known[label].axis is None for label in known):
            return None
        shares = dict.fromkeys(matrix_asks.of(study).loads, SHARE)
        setting = together.setting_of(shares, levels)
        first = next(iter(shares))
        done = make.Tried((o for o in outcomes if o.point.service == first), PHASE)
        for block in range(study.run.repeats):
            tried = done.at(block, setting)
            if len(tried) < TRIES and not any(outcome.requests for outcome in tried):
                cell = Cell("", PHASE, block, setting)
                return _short(together.measurement(study, known, shares, cell, len(tried)))
        return None


def _short(point: Point) -> Point:
    """The same with little load."""
    beside = tuple(replace(member, measure_s=AFTER_S) for member in point.beside)
    return replace(point, measure_s=AFTER_S, beside=beside)


KIND = SchedulerBakeoff()
