"""Latency against load: every fraction once per block, blocks in random order (M15, M16).

A block is one life of the service. Within a block the order of loads is drawn from the study's
seed, so that drift of the machine does not line up with load. Runs whose self-check failed are
made again at the end of their block.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from sojourn.plan import make
from sojourn.plan.axis import Axis, Target
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.questions.question import Known, PhaseKind, Question
from sojourn.plan.setting import LOAD, Setting
from sojourn.spec import ServiceSpec, Study


class Sweep(Question):
    """Every load in every block."""

    name = "sweep"
    about = "latency against load"
    phases = (PhaseKind(name=Phase.SWEEP, about="latency against load", is_read=True),)

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """The next run of the sweep."""
        if known.axis is None:
            return None
        return next_run(study, service, outcomes, known.axis, known.target, is_late=known.is_late)


def next_run(
    study: Study,
    service: ServiceSpec,
    outcomes: Sequence[Outcome],
    axis: Axis,
    target: Target | None,
    *,
    is_late: bool,
) -> Point | None:
    """The next run of the sweep; None when it is complete. Late sweeps repeat nothing."""
    done = make.Tried(outcomes, Phase.SWEEP)
    settings = {fraction: Setting.of({LOAD: fraction}) for fraction in study.run.fractions}
    for block in range(study.run.repeats):
        name = Cell(service.label, Phase.SWEEP, block).key()
        tried = {load: done.at(block, settings[load]) for load in order(study, name)}
        fresh = [fraction for fraction, runs in tried.items() if not runs]
        again = [
            fraction
            for fraction, runs in tried.items()
            if runs and make.is_open(runs, 0 if is_late else study.run.retries)
        ]
        for fraction in fresh or again:
            return make.point(
                study,
                Cell(service.label, Phase.SWEEP, block, settings[fraction]),
                len(tried[fraction]),
                measure_s=study.run.measure_s,
                offered_rps=fraction * axis.rps,
                fraction=fraction,
                overrides=target.overrides if target else (),
            )
    return None


def order(study: Study, block: str) -> tuple[float, ...]:
    """The loads of one block in the order in which they are measured."""
    fractions = list(study.run.fractions)
    random.Random(make.seed_of(study, block)).shuffle(fractions)  # noqa: S311 - not a secret
    return tuple(fractions)


KIND = Sweep()
