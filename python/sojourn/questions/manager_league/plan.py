"""Which manager keeps the target, and what it leaves: a run of each in a block.

`manager` is a factor of the study, beside a neighbour that counts its work. Within a block the
managers come in an order that is drawn by lot (`plan.design`), so drift lines up with none.
`null` changes nothing. It is run twice in every block (A/A): what the two differ by is noise.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.plan import make
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.question import Known, PhaseKind, Question
from sojourn.plan.setting import LOAD, TWIN, Setting
from sojourn.spec import ServiceSpec, Study

NAME = "manager_league"
PHASE = Phase("managed")
AA = "null"  # the level that is measured twice


class ManagerLeague(Question):
    """Every load under every manager, in every block."""

    name = NAME
    about = "which manager keeps the target, and what it leaves a batch job"
    phases = (PhaseKind(name=PHASE, about="load beside a job that is managed", keeps=NAME),)
    tables = ("qos",)
    is_of_one = True
    is_alone = True

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """The next run that there is no valid one of."""
        if known.axis is None or known.target is None:
            return None
        done, retries = make.Tried(outcomes, PHASE), 0 if known.is_late else study.run.retries
        for block in range(study.run.repeats):
            for setting in settings(study):
                tried = done.at(block, setting)
                if not make.is_open(tried, retries):
                    continue
                fraction = float(setting[LOAD])
                return make.point(
                    study,
                    Cell(service.label, PHASE, block, setting),
                    len(tried),
                    measure_s=study.run.measure_s,
                    offered_rps=fraction * known.axis.rps,
                    fraction=fraction,
                    overrides=known.target.overrides,
                )
        return None


def settings(study: Study) -> tuple[Setting, ...]:
    """What one combination is measured under in each block; the A/A level has a twin."""
    once = [{LOAD: load} for load in study.run.fractions]
    twins = [{**one, TWIN: True} for one in once] if study.aa and study.manager == AA else []
    return tuple(Setting.of(one) for one in (*once, *twins))


KIND = ManagerLeague()
