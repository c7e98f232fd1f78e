"""How far a number may be wrong: the client's part (M5), and noise (M16)."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.stats.interval import Estimate, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRow:
    """One run's client against the probe client beside it (M5).

    Attributes:
        key: of the run's point.
        q: quantile that both can bound; None: nothing was compared.
        probe, load: what each saw.
        why: nothing was compared.
    """

    key: str
    fraction: float
    q: float | None
    probe: Estimate | None = None
    load: Estimate | None = None
    why: str = ""

    @property
    def is_apart(self) -> bool:
        """Whether the intervals of the two lie apart: the client is in the numbers."""
        own, others = (one and one.interval for one in (self.probe, self.load))
        return bool(own and others and (own.lo > others.hi or others.lo > own.hi))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFloor:
    """What two runs of the same setting differ by (A/A, M16).

    Attributes:
        q: quantile that was compared.
        sigma: standard deviation of the logarithm of their ratio.
        interval: of `sigma`, 95 %.
        gate: ratios whose logarithm is smaller than this cannot be told from noise, at 5 %.
        pairs: (load as a share of max RPS, ns, ns of its twin).
    """

    q: float
    sigma: float
    interval: Interval
    gate: float
    pairs: tuple[tuple[float, float, float], ...]
