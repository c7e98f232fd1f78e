"""What a comparison with theory came to."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.plan.points import Verdict
from sojourn.stats.interval import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One comparison of the selfcheck study: measured against closed form (M20)."""

    system: str
    rho: float
    quantity: str
    theory_ns: float
    estimate: Estimate
    verdict: Verdict
    reasons: tuple[str, ...]
