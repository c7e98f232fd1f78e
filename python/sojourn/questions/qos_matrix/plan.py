"""Two services under every pair of loads: which of them meets its QoS target (L19, C22).

Not every pair is measured. Who meets its target does so with less load of its own and beside less
of the other's, so each service's cells form a staircase (`plan/frontier.py`), and one measurement
reports many cells of both. The next pair is the one of which least is known. A tenth of all pairs,
drawn before anything is known, is measured in any case: if these are not what follows from the
others, the services are not as was assumed, and the report says so. With `full = true` every pair
is measured.

Lives of the services are fresh after every few measurements, so that no start decides a frontier.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sojourn import late
from sojourn.plan import evidence, frontier, make
from sojourn.plan.axis import Target
from sojourn.plan.curve import Floats
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.question import Known, OfAll, PhaseKind
from sojourn.plan.setting import Setting
from sojourn.questions.qos_matrix import asks
from sojourn.questions.together import plan as together
from sojourn.spec import Study

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np = late.module("numpy")

NAME = "qos_matrix"
PHASE = Phase(NAME)
LIFE = 8  # measurements of one start of both services
MOST = 4  # measurements of one pair, believed or not; what is open then stays open

DOUBTED = 0.9  # a pair whose own run says this, against what follows from others, is measured again

Pair = tuple[int, int]  # number of the first service's load, and of the second's


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement of a pair of which both runs were believed.

    Attributes:
        pair: which; block: of which start of the services.
        outcomes: by service.
    """

    pair: Pair
    block: int
    outcomes: Mapping[str, Outcome]


@dataclass(frozen=True, slots=True)
class State:
    """What is known of every pair so far.

    Attributes:
        labels: of both services; the first gives the rows.
        chances: by service, a matrix (rows, columns): the chance that it meets its target.
        own: the same from the pair's own measurements alone; 0.5 where there are none.
        told: by service, 1 where it surely meets its target, -1 where it surely misses it, else 0.
        runs: how often each pair was measured and believed; tried: or not believed.
        measured: in order.
    """

    labels: tuple[str, str]
    chances: Mapping[str, Floats]
    own: Mapping[str, Floats]
    told: Mapping[str, Floats]
    runs: Floats
    tried: Mapping[Pair, int] = field(default_factory=dict)
    measured: tuple[Measured, ...] = ()

    def against(self, sure: float, runs: int = 1) -> tuple[Pair, ...]:
        """Pairs whose own runs, `runs` at least, say the opposite of what follows from all."""
        result = np.zeros(self.runs.shape, dtype=bool)
        for label in self.labels:
            own, all_ = self.own[label], self.chances[label]
            result |= (own >= sure) & (all_ < 0.5)  # even
            result |= (own <= 1 - sure) & (all_ > 0.5)
        return pairs_of(result & (self.runs >= runs))


def pairs_of(chosen: npt.NDArray[np.bool_]) -> tuple[Pair, ...]:
    """The pairs at which an array is true, row by row."""
    return tuple((int(row), int(column)) for row, column in np.argwhere(chosen))


class QosMatrix(OfAll):
    """Both, one or none meets its target; asked by the study's table `[qos_matrix]`."""

    name = NAME
    about = "two services under every pair of loads: which of them meets its QoS target"
    phases = (
        PhaseKind(
            name=PHASE,
            about="two services under pairs of loads",
            is_about=True,
            is_bare=True,
            is_decided=True,  # of two clients on one CPU each makes the other late
            grows_with=("run.measure_s",),
        ),
    )

    def members(self, study: Study) -> tuple[str, ...]:
        """Both, in the order of the table: rows, then columns."""
        return pair(study)

    def next_of_all(
        self,
        study: Study,
        levels: Setting,
        known: Mapping[str, Known],
        outcomes: Sequence[Outcome],
    ) -> Point | None:
        """The pair of which least is known; None when all are."""
        if any(known[label].axis is None or known[label].target is None for label in known):
            return None  # its own answer says why
        targets = {label: it.target for label, it in known.items() if it.target}
        so_far = state(study, levels, targets, outcomes)
        if (pair := _next(study, so_far)) is None:
            return None
        loads = asks.of(study).loads
        shares = {
            label: loads[label][number] for label, number in zip(so_far.labels, pair, strict=True)
        }
        setting = together.setting_of(shares, levels)
        block = _block(so_far, pair, outcomes)
        tried = (o.point for o in outcomes if o.point.service == so_far.labels[0])
        attempt = sum(p.repeat == block and p.setting.text == setting.text for p in tried)
        cell = Cell("", PHASE, block, setting)
        return together.measurement(study, known, shares, cell, attempt)


def pair(study: Study) -> tuple[str, ...]:
    """Labels of both services; () where the study lacks one, as when each is looked at alone."""
    labels = tuple(asks.of(study).loads)
    return labels if {one.label for one in study.services}.issuperset(labels) else ()


def state(
    study: Study, levels: Setting, targets: Mapping[str, Target], outcomes: Iterable[Outcome]
) -> State:
    """What all measurements under one combination of levels say.

    Args:
        study: with a `qos_matrix`.
        levels: of the study's factors.
        targets: of both services, by label.
        outcomes: of all services; those of other questions are ignored.
    """
    first, second = asks.of(study).loads
    measured, tried = _measured(study, levels, [o for o in outcomes if o.point.phase is PHASE])
    shape = tuple(len(loads) for loads in asks.of(study).loads.values())
    runs = np.zeros(shape)
    for one in measured:
        runs[one.pair] += 1
    chances, own, reports = {}, {}, {}
    for label, target in ((first, targets[first]), (second, targets[second])):
        weights = _weights(label, target, measured, shape)
        own[label] = 1 / (1 + np.exp(-weights))
        if asks.of(study).full:
            chances[label] = own[label]
        elif label == first:
            chances[label] = frontier.chances(weights)
        else:  # its own loads are the columns
            chances[label] = frontier.chances(weights.T).T
        reports[label] = _sure_chances(chances[label], weights, asks.of(study))
    return State((first, second), chances, own, reports, runs, tried, measured)


def _sure_chances(chances: Floats, weights: Floats, asked: asks.QosMatrix) -> Floats:
    """Where the chance is sure and a run says the same: of that pair, or of one that implies it.

    Before anything is measured most staircases hold at the lowest loads and fail at the highest;
    that is no finding.
    """
    says_satisfied, says_missed = weights > 0, weights < 0
    if not asked.full:  # more load of either met it, or less missed it
        for axis in (0, 1):
            says_satisfied = np.flip(
                np.logical_or.accumulate(np.flip(says_satisfied, axis), axis), axis
            )
            says_missed = np.logical_or.accumulate(says_missed, axis)
    satisfied = (chances >= asked.sure) & says_satisfied
    missed = (chances <= 1 - asked.sure) & says_missed
    values: Floats = satisfied.astype(np.float64) - missed
    return values


def _weights(
    label: str, target: Target, measured: Sequence[Measured], shape: tuple[int, ...]
) -> Floats:
    """What the runs of one service report of each pair."""
    runs = [(one.pair, evidence.trials([one.outcomes[label]], (PHASE,))) for one in measured]
    sizes = evidence.sizes(
        [trial for _, outcome in runs for trial in outcome], target.bound_ns / 1e9
    )
    weights = np.zeros(shape)
    for pair, result in runs:
        for trial in result:
            as_one, _ = sizes.at(trial.rps)  # misses that count as one
            weights[pair] += frontier.weight(trial.requests / as_one, trial.over / as_one, target.q)
    return weights


def _measured(
    study: Study, levels: Setting, outcomes: Sequence[Outcome]
) -> tuple[tuple[Measured, ...], Mapping[Pair, int]]:
    """The measurements that count, and how often each pair was tried."""
    loads = asks.of(study).loads
    first, second = loads
    number_of = {
        together.setting_of({first: a, second: b}, levels).text: (row, column)
        for row, a in enumerate(loads[first])
        for column, b in enumerate(loads[second])
    }
    by_cell: dict[tuple[int, Pair], dict[str, list[Outcome]]] = {}
    tried: dict[Pair, int] = {}
    for outcome in outcomes:
        pair = number_of.get(outcome.point.setting.text)
        if pair is None:
            continue
        of = by_cell.setdefault((outcome.point.repeat, pair), {first: [], second: []})
        of[outcome.point.service].append(outcome)
        if outcome.point.service == first:
            tried[pair] = tried.get(pair, 0) + 1
    results = ((block, pair, together.whole(of)) for (block, pair), of in by_cell.items())
    return tuple(Measured(pair, block, of) for block, pair, of in results if of), tried


def _block(so_far: State, pair: Pair, outcomes: Sequence[Outcome]) -> int:
    """The block (start of the services) in which a pair is measured next."""
    now = max((o.point.repeat for o in outcomes), default=0)
    here = [one.pair for one in so_far.measured if one.block == now]
    return now + (len(here) >= LIFE or pair in here)


def _next(study: Study, so_far: State) -> Pair | None:
    """The pair to measure next; None when nothing is open that can be settled."""
    if asks.of(study).full:
        return _of_grid(study, so_far)
    is_open = np.zeros(so_far.runs.shape, dtype=bool)
    for label in so_far.labels:
        is_open |= so_far.told[label] == 0
    for pair in so_far.against(DOUBTED):
        is_open[pair] = True
    for pair, count in so_far.tried.items():
        is_open[pair] &= count < MOST
    if is_open.any():
        open_ = sum(frontier.entropy(so_far.chances[label]) for label in so_far.labels)
        best = np.where(is_open, open_, -1.0)
        return pairs_of(best == best.max())[0]
    for pair in audited(study, so_far):
        if not so_far.runs[pair] and so_far.tried.get(pair, 0) <= study.run.retries:
            return pair
    return None


def _of_grid(study: Study, so_far: State) -> Pair | None:
    """The next of a full grid, in an order drawn for each round."""
    for turn in range(study.run.repeats):
        pairs = list(pairs_of(np.ones(so_far.runs.shape, dtype=bool)))
        random.Random(make.seed_of(study, f"{NAME}/b{turn}")).shuffle(pairs)  # noqa: S311
        most = (turn + 1) * (1 + study.run.retries)
        for pair in pairs:
            if so_far.runs[pair] <= turn and so_far.tried.get(pair, 0) < most:
                return pair
    return None


def audited(study: Study, so_far: State) -> tuple[Pair, ...]:
    """Pairs that are measured although what they are follows from others, drawn by the seed.

    They are drawn of the whole grid before anything is known, so which they are depends on nothing
    that was seen; those that were measured anyway need no more.
    """
    pairs = list(pairs_of(np.ones(so_far.runs.shape, dtype=bool)))
    random.Random(make.seed_of(study, f"{NAME}/audit")).shuffle(pairs)  # noqa: S311 - no secret
    return tuple(pairs[: math.ceil(asks.of(study).audit * len(pairs))])


KIND = QosMatrix()
