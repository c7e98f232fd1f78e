"""Fit a service's parameters from measured points, predict others, print the error beside each.

The model is an event loop per worker with connections placed on workers (`sojourn-sim queue`,
discipline `epoll`), behind a fixed time that no queueing touches:

    sojourn = base + epoll queue(service: gamma(mean, cv), loop, wake-up)

Five parameters: `base_us`, `service_us`, `cv`, `loop_us`, `wake_us`. Points up to `fit_up_to` of
the highest load are fitted (Nelder and Mead, on logarithms, the same random numbers in every
simulation, so that the misfit is a smooth function); all points are predicted. A prediction of a
point that was held out and is off by more than the stated bound makes the verdict `violated`:
the model says that it misses.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from sojourn.errors import SpecFault
from sojourn.models.simulator import Simulator

QUANTITIES = ("mean", "p50", "p95", "p99")
NAMES = ("base_us", "service_us", "cv", "loop_us", "wake_us")
POINTS_MIN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measured load; times in ns, None where not known."""

    rate_rps: float
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One number of one load.

    Attributes:
        rate_rps, share: load, and over the highest measured one.
        quantity: mean, p50, …
        measured_ns, predicted_ns: None where the model is unstable there.
        error: predicted over measured, minus one.
        is_fitted: whether the fit saw this point.
    """

    rate_rps: float
    share: float
    quantity: str
    measured_ns: float
    predicted_ns: float | None
    error: float | None
    is_fitted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the fit came to.

    Attributes:
        parameters: by name, µs or a ratio.
        predictions: every number of every point, in order of load.
        bound: largest relative error that held-out predictions may have.
        verdict: holds, violated (a held-out number is off by more), unknown (nothing held out).
        worst_held_out: its largest absolute error; infinite if the model is unstable there.
        notes: what to know before believing it.
    """

    label: str
    parameters: Mapping[str, float]
    predictions: tuple[Prediction, ...]
    bound: float
    verdict: str
    worst_held_out: float | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What is known of the service, and what is asked of the fit."""

    workers: int = 1
    connections: int = 64
    fit_up_to: float = 0.65
    bound: float = 0.30
    quantities: tuple[str, ...] = ("mean", "p50", "p95")
    requests: int = 100_000
    steps: int = 120

    def __post_init__(self) -> None:
        wrong = (
            (self.workers < 1 or self.connections < 1, "workers", "give 1 or more"),
            (not 0 < self.fit_up_to <= 1, "fit_up_to", "give a share above 0, at most 1"),
            (not self.bound > 0, "bound", "give a relative error above 0, such as 0.3"),
            (not set(self.quantities) <= set(QUANTITIES), "quantities", ", ".join(QUANTITIES)),
        )
        for is_wrong, name, fix in wrong:
            if is_wrong:
                raise SpecFault(f"{name} is {getattr(self, name)}", at=name, fix=fix)


def calibrate(simulator: Simulator, points: Sequence[Measured], setup: Setup) -> Calibration:
    """Fit on the lower loads, predict all.

    Raises:
        SpecFault: fewer than three points to fit.
    """
    points = sorted(points, key=lambda point: point.rate_rps)
    top = points[-1].rate_rps if points else 0.0
    fitted = [p for p in points if p.rate_rps <= setup.fit_up_to * top + 1e-9]
    if len(fitted) < POINTS_MIN:
        raise SpecFault(
            f"{len(fitted)} points lie at or below {setup.fit_up_to:.0%} of the highest load, "
            f"the fit needs {POINTS_MIN}",
            at="points",
            fix="measure more loads, or raise fit_up_to",
        )
    best = _fit(simulator, fitted, setup)
    predictions = tuple(_predict(simulator, points, top, best, setup))
    held = [p for p in predictions if not p.is_fitted and p.quantity in setup.quantities]
    errors = [math.inf if p.error is None else abs(p.error) for p in held]
    worst = max(errors, default=None)
    verdict = "unknown" if worst is None else "holds" if worst <= setup.bound else "violated"
    return Calibration(
        label="simulated, fitted to measured points",
        parameters=dict(zip(NAMES, best, strict=True)),
        predictions=predictions,
        bound=setup.bound,
        verdict=verdict,
        worst_held_out=worst,
        notes=_notes(best, top, setup),
    )


def _fit(simulator: Simulator, points: Sequence[Measured], setup: Setup) -> tuple[float, ...]:
    def misfit(logs: NDArray[np.float64]) -> float:
        found = _simulate(simulator, points, tuple(np.exp(logs)), setup)
        total = 0.0
        for point, times in zip(points, found, strict=True):
            for name in setup.quantities:
                known = getattr(point, name)
                if known is not None:
                    ours = math.inf if times is None else times[name]
                    total += min(9.0, math.log(ours / known) ** 2) if ours < math.inf else 9.0
        return total

    start = np.log(_start(points, setup))
    done = optimize.minimize(
        misfit, start, method="Nelder-Mead",
        options={"maxfev": setup.steps, "xatol": 0.01, "fatol": 1e-4,
                 "initial_simplex": _simplex(start)},
    )  # fmt: skip
    return tuple(float(value) for value in np.exp(done.x))


def _simplex(start: NDArray[np.float64]) -> NDArray[np.float64]:
    """The start, and one corner per parameter half as large again."""
    return np.vstack([start, *(start + 0.5 * row for row in np.eye(len(start)))])


def _start(points: Sequence[Measured], setup: Setup) -> tuple[float, ...]:
    """Half the time at the lowest load is service, if the highest load then stays below 90 %."""
    lowest = points[0].p50 or points[0].mean or 1e5
    most_us = 0.9 * setup.workers / points[-1].rate_rps * 1e6
    service_us = min(0.5 * lowest / 1e3, most_us)
    return (lowest / 2e3, service_us, 0.5, 0.1 * service_us, 0.1 * service_us)


def _simulate(
    simulator: Simulator, points: Sequence[Measured], values: tuple[float, ...], setup: Setup
) -> list[dict[str, float] | None]:
    """Times by quantity, ns, at every point; None where the model has no steady state."""
    base_us, service_us, cv, loop_us, wake_us = values
    # The loop's cost is shared by a batch, so capacity is that of the service time alone.
    stable = [p.rate_rps * service_us / 1e6 < setup.workers * 0.995 for p in points]
    jobs: list[dict[str, Any]] = [
        {
            "rate": repr(point.rate_rps), "service": f"gamma:{service_us:.6f},{max(cv, 0.02):.4f}",
            "unit": "us", "servers": setup.workers, "requests": str(setup.requests),
            "discipline": f"epoll:{setup.connections},{loop_us:.4f}us,{wake_us:.4f}us",
        }
        for point, is_stable in zip(points, stable, strict=True)
        if is_stable
    ]  # fmt: skip
    results = iter(simulator.runs("queue", jobs))
    found: list[dict[str, float] | None] = []
    for is_stable in stable:
        span = next(results)["sojourn_ns"] if is_stable else None
        found.append(span and {name: span[name] + base_us * 1e3 for name in QUANTITIES})
    return found


def _predict(
    simulator: Simulator,
    points: Sequence[Measured],
    top: float,
    values: tuple[float, ...],
    setup: Setup,
) -> list[Prediction]:
    found = _simulate(simulator, points, values, setup)
    predictions: list[Prediction] = []
    for point, times in zip(points, found, strict=True):
        for name in QUANTITIES:
            known = getattr(point, name)
            if known is None:
                continue
            ours = times[name] if times else None
            predictions.append(
                Prediction(
                    rate_rps=point.rate_rps,
                    share=point.rate_rps / top,
                    quantity=name,
                    measured_ns=known,
                    predicted_ns=ours,
                    error=None if ours is None else ours / known - 1,
                    is_fitted=point.rate_rps <= setup.fit_up_to * top + 1e-9,
                )
            )
    return predictions


def _notes(values: tuple[float, ...], top: float, setup: Setup) -> tuple[str, ...]:
    service_us = values[1]
    capacity = setup.workers / service_us * 1e6
    notes = [f"the fitted service time gives a capacity of {capacity:,.0f} requests/s"]
    if capacity < top:
        notes.append(
            f"that is less than the highest measured load, {top:,.0f}: the service is faster under "
            "load than when idle (batching, warm caches), which this model does not have"
        )
    return tuple(notes)


def read_points(path: Path) -> list[Measured]:
    """Points from CSV (rate_rps, mean_ns, p50_ns, p95_ns, p99_ns) or results of `sojourn-load`.

    A folder is read as one result in JSON per file.
    """
    fix = "give a CSV with rate_rps, mean_ns, p50_ns, p95_ns, p99_ns, or a folder of JSON results"
    try:
        if path.is_dir():
            results = [json.loads(file.read_text()) for file in sorted(path.glob("*.json"))]
            found = [_of_result(result) for result in results]
        else:
            with path.open(newline="", encoding="utf-8") as file:
                found = [_of_row(row) for row in csv.DictReader(file)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpecFault(f"cannot read points: {error!r}", at=str(path), fix=fix) from None
    if not found:
        raise SpecFault("there are no points", at=str(path), fix=fix)
    return found


def _of_result(result: Mapping[str, Any]) -> Measured:
    times = {name: result["sojourn_ns"][name] for name in QUANTITIES}
    return Measured(rate_rps=float(result["offered_rps"]), **times)


def _of_row(row: Mapping[str, str]) -> Measured:
    times = {name: float(row[f"{name}_ns"]) if row.get(f"{name}_ns") else None
             for name in QUANTITIES}  # fmt: skip
    return Measured(rate_rps=float(row["rate_rps"]), **times)
