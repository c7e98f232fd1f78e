"""What is known before a fit, its parameters, and what it came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.errors import SpecFault
from sojourn.models.identify import Range
from sojourn.models.points import QUANTITIES


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
        held_out, skipped: held-out numbers that were to be judged, and those of them that no run
            has: lost requests decide them, or no one measured them.
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
    held_out: int
    skipped: int
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
