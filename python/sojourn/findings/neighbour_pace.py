"""What a neighbour's work loses beside a service (L27, M22)."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.stats.interval import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a neighbour kept of its pace alone, beside a service at one load (L27, M22).

    Attributes:
        neighbour: as the study has it: "batch:xz".
        fraction: the load, as a share of max RPS.
        called: the neighbour, to people: "xz".
        unit: of its progress.
        share: of its pace alone, at what it was asked for; None: not known, see `reason`.
        interval: of the share, 95 %; None where it cannot be told, see `reason`.
        is_across_runs: the interval is that over runs; else that of the seconds within them.
        per_s: its pace beside the service, units/s, mean over runs.
        asked_per_s: what it was asked for, mean over runs; None: as much as it can get.
        alone_per_s, alone_interval: its pace alone and flat out, measured as it entered each run.
        runs: that are believed, on which it rests.
        core_share: share that the server had of the CPUs of both; 1: they shared one.
        reason: why something is not known; "" if all is.
    """

    neighbour: str
    fraction: float
    called: str = ""
    unit: str = ""
    share: float | None = None
    interval: Interval | None = None
    is_across_runs: bool = False
    per_s: float | None = None
    asked_per_s: float | None = None
    alone_per_s: float | None = None
    alone_interval: Interval | None = None
    runs: int = 0
    core_share: float = 1.0
    reason: str = ""

    @property
    def most(self) -> float:
        """What it was asked for, as a share of its pace alone; 1: as much as it can get."""
        if not self.asked_per_s or not self.alone_per_s:
            return 1.0
        return min(self.asked_per_s, self.alone_per_s) / self.alone_per_s
