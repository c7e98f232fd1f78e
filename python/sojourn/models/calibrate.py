"""Fit a service's parameters from measured points, predict others, print the error beside each.

The model is an event loop per worker with connections placed on workers (`sojourn-sim queue`,
discipline `epoll`):

    sojourn = outside + epoll queue(service: gamma(mean, cv), set-up when idle)

*Service and wake-up from CPU time*, where the points know it. A request costs `service`, and one
that finds the worker asleep costs `wake` more, so a worker that is busy for a share u of the time
spends per request

    u / λ = service + wake · (1 − u)          by PASTA

a straight line in the idle share: its ends are the cost on an idle machine and at saturation. CPU
time is known exactly where tails are the machine's noise, and 1/service is the capacity, which
decides everything at high load. *Set-up beyond the wake-up's CPU time* (a halted CPU comes back)
and the service time's *cv* follow from latencies. *Outside* is the measured histogram at the
lowest load, queueing taken off: client, sockets, network, and the machine's own stalls.

Without CPU time, service and set-up are fitted to the latencies too; without a histogram, outside
is a constant. Points up to `fit_up_to` of the peak are fitted (Nelder and Mead, on
logarithms, the same random numbers in every simulation, so that the misfit is smooth); all are
predicted. A prediction of a point that was held out and is off by more than the stated bound makes
the verdict `violated`: the model says that it misses.

A fit always prints a number, also where the data say nothing about it. So every parameter has the
range of values that fit equally (`identify`; of a line through CPU time, its interval), and those
whose range is wide are named as not identified.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sojourn.errors import SpecFault
from sojourn.models.cpu_line import POINTS_MIN, cpu_line, line_ranges
from sojourn.models.identify import EQUAL, Misfit, Range, profile
from sojourn.models.points import QUANTITIES, Measured, shape_of
from sojourn.models.simulator import Simulator

STABLE = 0.995
MISS = 3.0  # what an unstable point costs the fit: a factor of e³


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One number of one load.

    Attributes:
        rate_rps, share: load, and over the peak, or the highest measured one if that is unknown.
        quantity: mean, p50, …
        measured_ns, predicted_ns: the second None where the model is unstable there.
        lo_ns, hi_ns: least and most of the runs that were put together; None for one run.
        error: predicted over measured, minus one.
        is_fitted: whether the fit saw this point.
    """

    rate_rps: float
    share: float
    quantity: str
    measured_ns: float
    lo_ns: float | None
    hi_ns: float | None
    predicted_ns: float | None
    error: float | None
    is_fitted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the fit came to.

    Attributes:
        parameters: by name, µs or a ratio.
        ranges: of each, the values that fit equally.
        predictions: every number of every point, in order of load.
        quantities: those that are judged.
        bound: largest relative error that held-out predictions may have.
        verdict: holds, violated (a held-out number is off by more), unknown (nothing held out).
        worst_held_out: its largest absolute error; infinite if the model is unstable there.
        capacity_rps: load at which the fitted service is full.
        axis: what 100 % of the loads is.
        notes: what to know before believing it.
    """

    label: str
    parameters: Mapping[str, float]
    ranges: tuple[Range, ...]
    predictions: tuple[Prediction, ...]
    quantities: tuple[str, ...]
    bound: float
    verdict: str
    worst_held_out: float | None
    capacity_rps: float
    axis: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What is known of the service, and what is asked of the fit.

    Attributes:
        workers, connections: of the service and of the load.
        peak_rps: closed-loop peak, if it was measured: then it is the capacity.
        fit_up_to: points up to this share of the peak (else of the highest load) are fitted.
        bound: largest relative error of a held-out prediction.
        quantities: what is fitted and judged.
        requests, steps: per simulation, and simulations' rounds of the fit.
    """

    workers: int = 1
    connections: int = 64
    peak_rps: float | None = None
    fit_up_to: float = 0.67
    bound: float = 0.30
    quantities: tuple[str, ...] = ("p50", "p95")
    requests: int = 100_000
    steps: int = 60

    def __post_init__(self) -> None:
        wrong = (
            (self.workers < 1 or self.connections < 1, "workers", "give 1 or more"),
            (not 0 < self.fit_up_to <= 1, "fit_up_to", "give a share above 0, at most 1"),
            (not self.bound > 0, "bound", "give a relative error above 0, such as 0.3"),
            (not set(self.quantities) <= set(QUANTITIES), "quantities", ", ".join(QUANTITIES)),
            (not self.quantities, "quantities", ", ".join(QUANTITIES)),
            (self.peak_rps is not None and not self.peak_rps > 0, "peak_rps", "give requests/s"),
        )
        for is_wrong, name, fix in wrong:
            if is_wrong:
                raise SpecFault(f"{name} is {getattr(self, name)}", at=name, fix=fix)


@dataclass(frozen=True, slots=True)
class Costs:
    """The parameters: µs, and the service time's coefficient of variation."""

    service_us: float
    wake_us: float
    halt_us: float
    cv: float

    @property
    def setup_us(self) -> float:
        """What a request pays that finds its worker asleep."""
        return self.wake_us + self.halt_us


def calibrate(simulator: Simulator, points: Sequence[Measured], setup: Setup) -> Calibration:
    """Fit on the lower loads, predict all.

    Raises:
        SpecFault: fewer than three points to fit.
    """
    points = sorted(points, key=lambda point: point.rate_rps)
    top = setup.peak_rps or (points[-1].rate_rps if points else 0.0)
    fitted = [p for p in points if p.rate_rps <= setup.fit_up_to * top + 1e-9]
    if len(fitted) < POINTS_MIN:
        raise SpecFault(
            f"{len(fitted)} loads lie at or below {setup.fit_up_to:.0%} of {_axis(setup)}, "
            f"the fit needs {POINTS_MIN}",
            at="points",
            fix="measure more loads, or raise --fit-up-to",
        )
    line = cpu_line(fitted, setup.workers, setup.peak_rps)
    model = _Model(simulator, setup, fitted[0])
    misfit = _misfit(model, fitted, line)
    logs = _fit(misfit, _start(setup, fitted, line), setup.steps)
    best = _costs(np.exp(logs), line)
    known = line_ranges(fitted, line, setup.workers, setup.peak_rps)
    ranges = (*known, *_profile(misfit, logs, fitted, line, setup))
    predictions = tuple(_predict(model, points, top, best))
    held = [p for p in predictions if not p.is_fitted and p.quantity in setup.quantities]
    errors = [math.inf if p.error is None else abs(p.error) for p in held]
    worst = max(errors, default=None)
    verdict = "unknown" if worst is None else "holds" if worst <= setup.bound else "violated"
    capacity = setup.workers / best.service_us * 1e6
    return Calibration(
        label="simulated, fitted to measured points",
        parameters={
            "service_us": best.service_us,
            "wake_us": best.wake_us,
            "halt_us": best.halt_us,
            "cv": best.cv,
        },
        ranges=ranges,
        predictions=predictions,
        quantities=setup.quantities,
        bound=setup.bound,
        verdict=verdict,
        worst_held_out=worst,
        capacity_rps=capacity,
        axis=_axis(setup),
        notes=(*_notes(points, line, capacity, setup), *_unidentified(ranges)),
    )


def _axis(setup: Setup) -> str:
    return "the highest load" if setup.peak_rps is None else "the closed-loop peak"


class _Model:
    """Simulated times at a load, for any costs; outside is what the lowest load leaves over."""

    def __init__(self, simulator: Simulator, setup: Setup, lowest: Measured) -> None:
        self.setup = setup
        self._simulator = simulator
        self._lowest = lowest

    def times(self, points: Sequence[Measured], costs: Costs) -> list[dict[str, float] | None]:
        """Times by quantity, ns, at every point; None where the model has no steady state."""
        rates = [self._lowest.rate_rps, *(point.rate_rps for point in points)]
        most = self.setup.workers / costs.service_us * 1e6 * STABLE
        stable = [rate < most for rate in rates]
        jobs = [self._job(rate, costs) for rate, ok in zip(rates, stable, strict=True) if ok]
        spans = iter(self._simulator.runs("queue", jobs))
        queues = [shape_of(next(spans)["sojourn_ns"]["hdr"]) if ok else None for ok in stable]
        if queues[0] is None:
            return [None] * len(points)
        outside = self._outside(queues[0])
        return [None if queue is None else _sum(outside, queue) for queue in queues[1:]]

    def _job(self, rate: float, costs: Costs) -> dict[str, Any]:
        return {
            "rate": repr(rate),
            "unit": "us",
            "servers": self.setup.workers,
            "service": f"gamma:{costs.service_us:.6f},{max(costs.cv, 0.02):.4f}",
            "requests": str(self.setup.requests),
            "discipline": f"epoll:{self.setup.connections},0us,{costs.setup_us:.4f}us",
        }

    def _outside(self, queue: NDArray[np.float64]) -> NDArray[np.float64]:
        """The lowest load's times less the median of what the model says of it."""
        typical = float(np.median(queue))
        if self._lowest.shape:
            return np.maximum(np.array(self._lowest.shape) - typical, 0.0)
        known = self._lowest.p50 or self._lowest.mean or typical
        return np.array([max(known - typical, 0.0)])


def _sum(outside: NDArray[np.float64], queue: NDArray[np.float64]) -> dict[str, float]:
    """Quantiles of the sum of two independent times."""
    both = np.add.outer(outside, queue).ravel()
    result = np.quantile(both, (0.5, 0.95, 0.99))
    times = [float(both.mean()), *(float(value) for value in result)]
    return dict(zip(QUANTITIES, times, strict=True))


def _misfit(model: _Model, points: Sequence[Measured], line: tuple[float, float] | None) -> Misfit:
    def misfit(logs: NDArray[np.float64]) -> float:
        costs = _costs(np.exp(logs), line)
        total = 0.0
        for point, times in zip(points, model.times(points, costs), strict=True):
            for name in model.setup.quantities:
                known = getattr(point, name)
                if known is not None:
                    # Absolute, not squared: a disturbed point does not decide.
                    total += MISS if times is None else abs(math.log(times[name] / known))
        return total

    return misfit


def _fit(misfit: Misfit, start: Sequence[float], steps: int) -> NDArray[np.float64]:
    logs = np.log(start)
    done = scipy.optimize.minimize(
        misfit,
        logs,
        method="Nelder-Mead",
        options={"maxfev": steps, "xatol": 0.02, "fatol": 1e-3, "initial_simplex": _simplex(logs)},
    )
    return np.asarray(done.x, dtype=np.float64)


def _profile(
    misfit: Misfit,
    logs: NDArray[np.float64],
    points: Sequence[Measured],
    line: tuple[float, float] | None,
    setup: Setup,
) -> tuple[Range, ...]:
    names = ("halt_us", "cv") if line is not None else ("service_us", "halt_us", "cv")
    numbers = sum(getattr(p, name) is not None for p in points for name in setup.quantities)
    return profile(misfit, logs, names, slack=EQUAL * numbers, steps=max(8, setup.steps // 4))


def _unidentified(ranges: Sequence[Range]) -> list[str]:
    return [f"the data do not identify {result}" for result in ranges if not result.is_identified]


def _costs(values: NDArray[np.float64], line: tuple[float, float] | None) -> Costs:
    free = [float(value) for value in values]
    if line is None:
        service_us, halt_us, cv = free
        return Costs(service_us, 0.0, halt_us, min(cv, 5.0))
    halt_us, cv = free
    return Costs(*line, halt_us, min(cv, 5.0))


def _start(
    setup: Setup, points: Sequence[Measured], line: tuple[float, float] | None
) -> list[float]:
    """Half the time at the lowest load is service, if the highest load then stays below 90 %."""
    lowest_us = (points[0].p50 or points[0].mean or 1e5) / 1e3
    if line is not None:
        return [0.2 * lowest_us, 0.5]
    most_us = 0.9 * setup.workers / points[-1].rate_rps * 1e6
    return [min(0.5 * lowest_us, most_us), 0.1 * lowest_us, 0.5]


def _simplex(start: NDArray[np.float64]) -> NDArray[np.float64]:
    """The start, and one corner per parameter half as large again."""
    return np.vstack([start, *(start + 0.5 * row for row in np.eye(len(start)))])


def _predict(
    model: _Model, points: Sequence[Measured], top: float, costs: Costs
) -> list[Prediction]:
    predictions: list[Prediction] = []
    for point, times in zip(points, model.times(points, costs), strict=True):
        for name in QUANTITIES:
            known = getattr(point, name)
            if known is None:
                continue
            ours = times[name] if times else None
            lo, hi = (point.spread or {}).get(name, (None, None))
            predictions.append(
                Prediction(
                    rate_rps=point.rate_rps,
                    share=point.rate_rps / top,
                    quantity=name,
                    measured_ns=known,
                    lo_ns=lo,
                    hi_ns=hi,
                    predicted_ns=ours,
                    error=None if ours is None else ours / known - 1,
                    is_fitted=point.rate_rps <= model.setup.fit_up_to * top + 1e-9,
                )
            )
    return predictions


def _notes(
    points: Sequence[Measured], line: tuple[float, float] | None, capacity: float, setup: Setup
) -> list[str]:
    from_what = "latencies alone" if line is None else "CPU time"
    if line is not None and setup.peak_rps is not None:
        from_what = "the closed-loop peak"
    notes = [f"service time from {from_what}: full at {capacity:,.0f} requests/s"]
    if line is None:
        notes.append(
            "the data do not identify wake_us apart from halt_us: without CPU time the second "
            "stands for both"
        )
    top = points[-1].rate_rps
    if capacity < top / STABLE:
        notes.append(
            f"that is less than the highest measured load, {top:,.0f}: the machine was faster "
            "there than at the fitted loads, or requests take less work under load"
        )
    spreads = [
        hi / lo
        for p in points
        if p.spread
        for name, (lo, hi) in p.spread.items()
        if name in setup.quantities
    ]
    if spreads:
        notes.append(
            f"runs at the same load differ by up to {max(spreads):.1f} times: no model can be "
            "closer than the machine is to itself"
        )
    return notes
