"""Latency against load: every load once per block, blocks in random order (M15, M16).

A block is one life of the service. Within a block the order of loads is drawn from the study's
seed, so that drift of the machine does not line up with load. Runs whose self-check failed, or that
were not in steady state, are made again at the end of their block, the latter for longer. Where the
queue grew in two runs at a load, that is the answer, and no more is repeated there.

One load of each block, drawn by lot, is measured twice (A/A, M16): what its two runs differ by is
noise. The second run's place in the order is drawn, too, so which of the two is called the twin
says nothing about either: they can be exchanged.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from sojourn.plan import make
from sojourn.plan.axis import Axis, Target
from sojourn.plan.points import Cell, Course, Outcome, Phase, Point
from sojourn.plan.question import Known, PhaseKind, Question
from sojourn.plan.setting import LOAD, RATE, TWIN, Setting
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
    for block in range(study.run.repeats):
        name = Cell(service.label, Phase.SWEEP, block).key()
        tried = [(setting, done.at(block, setting)) for setting in order(study, name)]
        fresh = [(s, runs) for s, runs in tried if not runs and not (is_late and TWIN in s)]
        again = [
            (setting, runs)
            for setting, runs in tried
            if runs
            and make.is_open(runs, 0 if is_late else study.run.retries)
            and not _is_settled(study, done, Cell(service.label, Phase.SWEEP, block, setting))
        ]
        for setting, runs in fresh or again:
            offered_rps, fraction = _load_of(setting, axis)
            point = make.point(
                study,
                Cell(service.label, Phase.SWEEP, block, setting),
                len(runs),
                measure_s=study.run.measure_s,
                offered_rps=offered_rps,
                fraction=fraction,
                overrides=target.overrides if target else (),
            )
            point = make.longer(point, runs)
            return replace(point, offered_rps=offered_rps) if RATE in setting else point
    return None


def _is_settled(study: Study, done: make.Tried, cell: Cell) -> bool:
    """Whether a run whose queue grew need not be repeated: other blocks show the same, or will."""
    if done.at(cell.repeat, cell.setting)[-1].course is not Course.GROWS:
        return False
    blocks = range(study.run.repeats)
    if cell.repeat != blocks[-1]:
        return True
    return make.is_overloaded(o for block in blocks for o in done.at(block, cell.setting))


def _load_of(setting: Setting, axis: Axis) -> tuple[float, float]:
    """Offered load, requests/s, and the same as a share of max RPS."""
    if RATE in setting:
        rps = float(setting[RATE])
        return rps, rps / axis.rps
    return float(setting[LOAD]) * axis.rps, float(setting[LOAD])


def order(study: Study, block: str) -> tuple[Setting, ...]:
    """The settings of one block in the order in which they are measured, the twin among them."""
    lots = make.seed_of(study, block), make.seed_of(study, f"{block}/{TWIN}")
    rates = study.run.rates_rps
    name, loads = (RATE, rates) if rates else (LOAD, study.run.fractions)
    return _drawn(name, loads, *lots, is_twin=study.aa)


@lru_cache(maxsize=1 << 14)  # the plan asks for every block at every point
def _drawn(
    name: str, loads: tuple[float, ...], order_seed: int, twin_seed: int, *, is_twin: bool
) -> tuple[Setting, ...]:
    settings = [Setting.of({name: load}) for load in loads]
    random.Random(order_seed).shuffle(settings)  # noqa: S311 - not a secret
    if is_twin:
        lot = random.Random(twin_seed)  # noqa: S311 - not a secret
        load = lot.choice(loads)
        twin = Setting.of({name: load, TWIN: True})
        settings.insert(lot.randrange(len(settings) + 1), twin)
    return tuple(settings)


KIND = Sweep()
