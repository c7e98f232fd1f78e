"""A service beside a neighbour that it never ran beside: highest load, tail, pace.

    1  A neighbour equals doses, with weights (`ruler`).
    2  What those doses do to the service is known: their mean, by the weights, is the forecast.
    3  How wrong this is, is known too. Each dose is a neighbour with a known effect: it is left
       out, forecast from the others by the same path, and compared with what was measured.
    4  The interval has the scatter of these errors and that of the doses' effects (Student, 90 %).
       Its upper end is the border alone, and by how much that may be wrong itself.

Simpler guesses are beside it, from no change to what the neighbour leaves others (`guesses`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sojourn.foresight import curves, guesses, progress, ruler
from sojourn.foresight.doses import NONE, Dose
from sojourn.foresight.predicted import COVERAGE, Predicted
from sojourn.foresight.victims import Run, Victim
from sojourn.half_width import student

LOOSE = 10.0  # the second bound by which doses are compared: capacity rather than tail
BOUNDS = 24  # for the tail by load
WITHIN = 2.0  # times the tail at the lowest load: a bound that measured loads are within
DOSES_MIN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLoad:
    """The tail at one load, ns; `hi` is infinite where the queue may grow."""

    rps: float
    alone_ns: float
    beside_ns: Predicted


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """A service beside a neighbour.

    Attributes:
        service, neighbour, q, bound_ns: what was asked.
        alone_rps: highest load within the bound alone, measured.
        censored: "", or why `alone_rps` is not measured: "below" and "above" make it a bound only,
            "beyond" puts it on the assumed line from the highest measured load to the peak.
        border_rps: predicted highest load within the bound beside the neighbour.
        loads: tail at loads.
        progress: the neighbour's pace at that load as a share of its pace alone; None: not known.
        equals: resource, weight, mean dose, heaviest first.
        doses, error: how many doses were left out in turn, and the standard error of the
            logarithm that this showed; 0 and infinite where it showed none.
        guesses: simpler guesses of the same border, by name.
        rulers: services that the neighbour was seen beside.
        not_compared: what the service was measured beside, and not every ruler.
        measured_rps: the border that was measured, where a record has it; it is not used.
    """

    service: str
    neighbour: str
    q: float
    bound_ns: float
    alone_rps: float
    censored: str
    border_rps: Predicted
    loads: tuple[AtLoad, ...]
    progress: Predicted | None
    equals: tuple[tuple[str, float, float], ...]
    doses: int
    error: float
    guesses: dict[str, float]
    rulers: tuple[str, ...]
    not_compared: tuple[str, ...]
    measured_rps: float | None


@dataclass(frozen=True, slots=True)
class _Model:
    """A service, what it is compared with, and how."""

    service: Victim
    rulers: tuple[Victim, ...]
    q: float

    def doses(self, without: Dose | None = None) -> list[Dose]:
        return ruler.grid([self.service, *self.rulers], without)

    def effect(
        self, seen: dict[str, Sequence[Run]], bound_ns: float, out: Dose | None = None
    ) -> tuple[float, float]:
        """Mean and variance over doses of the logarithm of the border over that alone."""
        grid = self.doses(out)
        bounds = (bound_ns, min(LOOSE * bound_ns, curves.TOP_NS))
        weighed = ruler.weigh(self.rulers, seen, self.q, bounds_ns=bounds, doses=grid, without=out)
        values = ruler.effects(self.service, grid, self.q, bound_ns, out)
        mean = float(weighed.weights @ values)
        return mean, float(weighed.weights @ (values - mean) ** 2)

    def errors(self, bound_ns: float) -> NDArray[np.float64]:
        """Of each dose that all know: measured effect less the one forecast without it."""
        shared = set.intersection(*({*one.doses} for one in (self.service, *self.rulers)))
        gathered = []
        for dose in sorted(shared):
            seen = {ruler.name_of(one): one.doses[dose] for one in self.rulers}
            if not self.doses(dose):
                continue
            truth = ruler.effect(self.service, self.service.doses[dose], self.q, bound_ns)
            gathered.append(truth - self.effect(seen, bound_ns, dose)[0])
        return np.array(gathered)


def forecast(
    service: Victim,
    rulers: Sequence[tuple[Victim, str]],
    neighbour: str,
    q: float,
    *,
    bound_ns: float,
    loads_rps: Sequence[float] = (),
) -> Forecast:
    """Predict a service beside a neighbour.

    Args:
        service: with doses.
        rulers: other services with the same doses, each with the level at which the neighbour ran.
        neighbour: its name, for people.
        q: quantile of the target.
        bound_ns: bound of the target.
        loads_rps: at which the tail is asked for; () for the measured loads.
    """
    model = _Model(service, tuple(one for one, _ in rulers), q)
    seen = {ruler.name_of(one): one.levels[level] for one, level in rulers}
    alone = curves.of(service.levels[NONE], q, service.peak_rps)
    alone_rps, censored = alone.border(bound_ns)
    errors = of_loads = model.errors(bound_ns)
    border = _border(model, seen, bound_ns, alone_rps, errors)
    if censored == curves.BELOW:
        # No measured load is within the bound, so no dose shows how wrong the border is; those of
        # loads are of bounds that some are within.
        most = alone_rps / curves.FIRST * math.exp(ruler.SCATTER)
        border, errors = replace(border, lo=0.0, hi=most), np.empty(0)
        of_loads = model.errors(WITHIN * math.exp(alone.logs[0]))
    bounds = (bound_ns, min(LOOSE * bound_ns, curves.TOP_NS))
    weighed = ruler.weigh(model.rulers, seen, q, bounds_ns=bounds, doses=model.doses())
    loads = loads_rps or [run.rps for run in service.levels[NONE]]
    return Forecast(
        service=service.label,
        neighbour=neighbour,
        q=q,
        bound_ns=bound_ns,
        alone_rps=alone_rps,
        censored=censored,
        border_rps=border,
        loads=_tails(model, seen, alone, loads, of_loads),
        progress=progress.at(service, rulers, border.value),
        equals=tuple((name, *one) for name, one in weighed.by_resource().items()),
        doses=len(errors),
        error=_scatter(errors),
        guesses=guesses.of(alone_rps, rulers, q, bound_ns),
        rulers=tuple(one.label for one, _ in rulers),
        not_compared=tuple(
            sorted({one.name for one in service.doses} - {one.name for one in model.doses()})
        ),
        measured_rps=_measured(service, neighbour, q, bound_ns),
    )


def _measured(service: Victim, neighbour: str, q: float, bound_ns: float) -> float | None:
    """The border beside the neighbour itself; None if no record has one within its loads."""
    level = service.level_like(neighbour)
    if not level:
        return None
    curve = curves.of(service.levels[level], q, service.peak_rps)
    border, where = curve.border(bound_ns)
    return None if where else border


def _scatter(errors: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(errors**2))) if len(errors) else math.inf


def _border(
    model: _Model,
    seen: dict[str, Sequence[Run]],
    bound_ns: float,
    alone_rps: float,
    errors: NDArray[np.float64],
) -> Predicted:
    mean, variance = model.effect(seen, bound_ns)
    width = student(max(1, len(errors) - 1), COVERAGE) * math.sqrt(
        (_scatter(errors) ** 2) * (1 + 1 / max(1, len(errors))) + variance
    )
    lo, hi = (alone_rps * math.exp(min(ruler.SCATTER, mean + side * width)) for side in (-1, 1))
    return Predicted(value=alone_rps * math.exp(mean), lo=lo, hi=hi)


def _tails(
    model: _Model,
    seen: dict[str, Sequence[Run]],
    alone: curves.Curve,
    loads: Sequence[float],
    errors: NDArray[np.float64],
) -> tuple[AtLoad, ...]:
    """The tail at loads: the bound that has that load as its predicted border."""
    logs = np.linspace(alone.logs[0] + 1e-6, math.log(curves.TOP_NS), BOUNDS)
    borders = [
        _border(model, seen, math.exp(log), alone.border(math.exp(log))[0], errors) for log in logs
    ]

    def tail(rps: float, of: str) -> float:
        rising = np.maximum.accumulate([getattr(one, of) for one in borders])
        if rps >= rising[-1]:
            return math.inf
        return float(np.exp(np.interp(rps, rising, logs)))

    return tuple(
        AtLoad(
            rps=rps,
            alone_ns=alone.tail_ns(rps),
            beside_ns=Predicted(value=tail(rps, "value"), lo=tail(rps, "hi"), hi=tail(rps, "lo")),
        )
        for rps in loads
    )
