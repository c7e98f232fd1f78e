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

A known closed-loop peak is the capacity and so the service time. Without peak and CPU time, it is
fitted to the latencies, as the set-up is; without a histogram, outside is a constant. Points up to
`fit_up_to` of the peak are fitted (Nelder and Mead, on logarithms, the same random numbers in every
simulation, so that the misfit is smooth); all are predicted. A prediction of a point that was held
out and is off by more than the stated bound makes the verdict `violated`: the model says that it
misses.

A fit always prints a number, also where the data say nothing about it. So every parameter has the
range of values that fit equally (`identify`; of a line through CPU time, its interval), and those
whose range is wide are named as not identified.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from sojourn.errors import SpecFault
from sojourn.models.calibration import Calibration, Costs, Prediction, Setup
from sojourn.models.cpu_line import POINTS_MIN, cpu_line, knows_wake, line_ranges
from sojourn.models.epoll_model import STABLE, EpollModel
from sojourn.models.identify import EQUAL, Misfit, Range, profile
from sojourn.models.points import QUANTITIES, Measured, doubted
from sojourn.models.simulator import Simulator
from sojourn.text.some import some
from sojourn.units import outward

LISTED = 4  # held-out numbers that are not judged
MISS = 3.0  # what an unstable point costs the fit: a factor of e³


def calibrate(simulator: Simulator, points: Sequence[Measured], setup: Setup) -> Calibration:
    """Fit on the lower loads, predict all.

    Raises:
        SpecFault: fewer than three points to fit.
    """
    points = sorted(points, key=lambda point: point.rate_rps)
    top = setup.peak_rps or (points[-1].rate_rps if points else 0.0)
    fitted = [p for p in points if _is_fitted(p, top, setup)]
    if len(fitted) < POINTS_MIN:
        raise SpecFault(
            f"{len(fitted)} loads lie at or below {setup.fit_up_to:.0%} of {_axis(setup)}, "
            f"the fit needs {POINTS_MIN}",
            at="points",
            fix="measure more loads, or raise --fit-up-to",
        )
    line = cpu_line(fitted, setup.workers, setup.peak_rps)
    model = EpollModel(simulator, setup, fitted[0])
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
    skipped = _skipped(points, top, setup)
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
        held_out=len(held) + len(skipped),
        skipped=len(skipped),
        capacity_rps=capacity,
        axis=_axis(setup),
        notes=(
            *_notes(points, line, capacity, setup, knows_wake=knows_wake(fitted, setup.workers)),
            *_lacking(skipped, len(held)),
            *_unidentified(ranges),
        ),
    )


def _axis(setup: Setup) -> str:
    return "the highest load" if setup.peak_rps is None else "the closed-loop peak"


def _misfit(
    model: EpollModel, points: Sequence[Measured], line: tuple[float, float] | None
) -> Misfit:
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
    model: EpollModel, points: Sequence[Measured], top: float, costs: Costs
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
                    is_fitted=_is_fitted(point, top, model.setup),
                )
            )
    return predictions


def _is_fitted(point: Measured, top: float, setup: Setup) -> bool:
    return point.rate_rps <= setup.fit_up_to * top + 1e-9


def _skipped(points: Sequence[Measured], top: float, setup: Setup) -> list[str]:
    """Held-out numbers that would be judged, and that no run has: `p95 at 90 %`."""
    return [
        f"{name} at {point.rate_rps / top:.0%}"
        for point in points
        if not _is_fitted(point, top, setup)
        for name in QUANTITIES
        if name in setup.quantities and getattr(point, name) is None
    ]


def _lacking(skipped: Sequence[str], held: int) -> list[str]:
    if not skipped:
        return []
    text = (
        f"{len(skipped)} of {held + len(skipped)} held-out numbers are not judged, because lost "
        f"requests decide them or they were not measured: {some(skipped, LISTED)}"
    )
    return [text]


def _notes(
    points: Sequence[Measured],
    line: tuple[float, float] | None,
    capacity: float,
    setup: Setup,
    *,
    knows_wake: bool,
) -> list[str]:
    from_what = "latencies alone" if line is None else "CPU time"
    if setup.peak_rps is not None:
        from_what = "the closed-loop peak"
    notes = [f"service time from {from_what}: full at {capacity:,.0f} requests/s"]
    if not knows_wake:
        notes.append(
            "the data do not identify wake_us apart from halt_us: without CPU time the second "
            "stands for both"
        )
    top = points[-1].rate_rps
    if top <= capacity < top / STABLE:
        notes.append(
            f"the highest measured load, {top:,.0f}, is nearly that: no queue is steady there, so "
            "the model has no number for it"
        )
    elif capacity < top:
        notes.append(
            f"that is less than the highest measured load, {top:,.0f}: the machine was faster "
            "there than at the fitted loads, or requests take less work under load"
        )
    if doubt := doubted(points):
        notes.append(doubt)
    spreads = [
        hi / lo
        for p in points
        if p.spread
        for name, (lo, hi) in p.spread.items()
        if name in setup.quantities
    ]
    if spreads:
        notes.append(
            f"runs at the same load differ by up to {outward(max(spreads), 1, 1):.1f} times: no "
            "model can be closer than the machine is to itself"
        )
    return notes
