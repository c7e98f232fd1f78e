"""What dose a neighbour equals, by what it does to other services.

Other services are the ruler. Each was measured beside every dose and beside the neighbour. Two
things are compared. The first is the effect: the logarithm of the highest load within a bound,
beside over alone. The second is the CPU time that the antagonist or the neighbour took beside the
service, because a service that nothing slows says nothing by its tail. Of a dose between two that
were measured both are on the straight line.

Every dose of every resource is as likely as any other before the ruler is looked at. Afterwards
it is as likely as the normal scatter of borders lets the ruler show what it shows. The result is
a weight for each dose, of which the weights of all resources add to 1.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sojourn.foresight import curves
from sojourn.foresight.doses import NONE, Dose
from sojourn.foresight.victims import Run, Victim

GRID = 21  # doses of one resource that are tried, from none to the strongest
SCATTER = 0.12  # of the logarithm of a border over that alone, of one start on a quiet machine
TAKEN = 0.08  # the same of the CPU time that a neighbour takes, in CPUs' worth
LEAST = -4.0  # of that logarithm: below a fiftieth nothing is left to compare


@dataclass(frozen=True, slots=True)
class Weighed:
    """Doses with their weights, which add to 1: what a neighbour equals."""

    doses: tuple[Dose, ...]
    weights: NDArray[np.float64]

    def by_resource(self) -> Mapping[str, tuple[float, float]]:
        """Weight of each resource, taken in one way, and its mean dose, heaviest first."""
        gathered = {}
        for name in dict.fromkeys(dose.name for dose in self.doses):
            at = np.array([dose.name == name for dose in self.doses])
            weight = float(self.weights[at].sum())
            shares = np.array([dose.share for dose in self.doses])[at]
            mean = float(self.weights[at] @ shares / weight) if weight > 0 else 0.0
            gathered[name] = (weight, mean)
        return dict(sorted(gathered.items(), key=lambda one: -one[1][0]))


def effect(victim: Victim, runs: Sequence[Run], q: float, bound_ns: float) -> float:
    """The logarithm of a victim's border beside a level over that alone, at most 0."""
    alone = curves.of(victim.levels[NONE], q, victim.peak_rps).border(bound_ns)[0]
    beside = curves.of(runs, q, victim.peak_rps).border(bound_ns)[0]
    return float(np.clip(np.log(beside / alone), LEAST, 0.0))


@functools.lru_cache(maxsize=4096)
def dose_effects(victim: Victim, q: float, bound_ns: float) -> Mapping[Dose, float]:
    """The effect of each dose that a victim was measured beside."""
    every = victim.doses.items()
    return {dose: effect(victim, runs, q, bound_ns) for dose, runs in every}


def effects(
    victim: Victim, doses: Sequence[Dose], q: float, bound_ns: float, without: Dose | None = None
) -> NDArray[np.float64]:
    """Effects of doses on a victim, on straight lines between measured ones.

    Args:
        victim: a service.
        doses: of resources that it was measured beside.
        q: quantile.
        bound_ns: of the border.
        without: a dose that is taken as not measured.
    """
    return _between(dose_effects(victim, q, bound_ns), doses, without)


def taken(runs: Sequence[Run]) -> float | None:
    """CPUs' worth that a neighbour took at most; None if no run says it.

    The most, because a run that lasts longer than its load, as one with a queue, shows less.
    """
    known = [run.others for run in runs if run.others is not None]
    return max(known) if known else None


@functools.lru_cache(maxsize=256)
def dose_takes(victim: Victim) -> Mapping[Dose, float]:
    """What each dose took beside a victim; {} if no run says it of one of them."""
    known = {dose: taken(runs) for dose, runs in victim.doses.items()}
    sure = {dose: share for dose, share in known.items() if share is not None}
    return sure if len(sure) == len(known) else {}


def _between(
    known: Mapping[Dose, float], doses: Sequence[Dose], without: Dose | None
) -> NDArray[np.float64]:
    """Values of doses on straight lines through known ones, and through 0."""
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for dose, value in known.items():
        if dose != without:
            shares, values = lines.setdefault(dose.name, ([0.0], [0.0]))
            shares.append(dose.share)
            values.append(value)
    return np.array([np.interp(dose.share, *lines[dose.name]) for dose in doses])


def grid(victims: Sequence[Victim], without: Dose | None = None) -> list[Dose]:
    """Doses that every victim knows about, none stronger than was measured."""
    shared = [{dose for dose in one.doses if dose != without} for one in victims]
    common = set.intersection(*shared) if shared else set()
    strongest = {dose.name: dose for dose in sorted(common)}
    return [
        replace(most, share=most.share * step / (GRID - 1))
        for _, most in sorted(strongest.items())
        for step in range(GRID)
    ]


def weigh(
    rulers: Sequence[Victim],
    shown: Mapping[str, Sequence[Run]],
    q: float,
    *,
    bounds_ns: Sequence[float],
    doses: Sequence[Dose],
    without: Dose | None = None,
) -> Weighed:
    """What a neighbour equals.

    Args:
        rulers: services that were measured beside it, at least one.
        shown: by ruler's record and label, its runs beside the neighbour.
        q: quantile.
        bounds_ns: by which borders the neighbour is compared with doses.
        doses: to choose from.
        without: a dose that is taken as not measured.
    """
    misfit = np.zeros(len(doses))
    for ruler in rulers:
        for bound_ns in bounds_ns:
            seen = effect(ruler, shown[name_of(ruler)], q, bound_ns)
            misfit += ((effects(ruler, doses, q, bound_ns, without) - seen) / SCATTER) ** 2
    misfit /= max(1, len(bounds_ns))  # borders of one curve are no independent witnesses
    for ruler in rulers:
        share, takes = taken(shown[name_of(ruler)]), dose_takes(ruler)
        if share is not None and takes:
            misfit += ((_between(takes, doses, without) - share) / TAKEN) ** 2
    weights = np.exp(-(misfit - misfit.min()) / 2)
    return Weighed(tuple(doses), weights / weights.sum())


def name_of(victim: Victim) -> str:
    """A name that no other victim has."""
    return f"{victim.record}:{victim.label}"
