"""What was seen of a service in a scenario of the FGCS paper: 1-ST, 2-ST, 8-ST, 8-SMT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sojourn.stats.times import Floats

CPU = "service_cpu_share"
MEMORY = "memory_bytes_per_s"
NETWORK = "network_tx_bytes_per_s"
READ, WRITE = "disk_read_bytes_per_s", "disk_write_bytes_per_s"
WITHIN, MOST = "within QoS", "at most"
SEEN = (CPU, MEMORY, NETWORK, READ, WRITE)  # all that the rules look at, by `host.usage` names


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """How much load a service carried in a scenario.

    Attributes:
        rps: requests/s, with the ends of its interval; `hi` may be infinite, `lo` 0.
        what: "within QoS", or "at most" where it has no target.
    """

    rps: float
    lo: float
    hi: float
    what: str = WITHIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Samples of one service with so many threads, at the highest load within QoS (P13).

    Attributes:
        threads: that can run at once: each has a CPU of its own.
        is_packed: they share cores in pairs, as hyper-threads (SMT; else ST).
        series: by resource, one array a run, in order of time, a sample a second or so. CPU is a
            share of the CPUs of these threads, 0 to 1; rates are bytes/s.
        load_rps: at which the samples were taken, the mean over runs; None: not known.
        where: on which side of the QoS crossing that is: "holds", "violated" where no load met the
            target, "at most" or "highest" of a service without one.
        carried: how much it carries so; None: not known.
        capacity: what it can take here, in the unit of the series, where that is known.
        unseen: resource → why it has no series.
    """

    threads: int
    is_packed: bool = False
    series: Mapping[str, Sequence[Floats]]
    load_rps: float | None = None
    where: str = "holds"
    carried: Carried | None = None
    capacity: Mapping[str, float] = field(default_factory=dict)
    unseen: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As the paper calls it.

        >>> Scenario(threads=8, is_packed=True, series={}).name
        '8-SMT'
        """
        return f"{self.threads}-{'SMT' if self.is_packed else 'ST'}"

    @property
    def nearness(self) -> float | None:
        """The load of the samples over what it carries within QoS; None: not known."""
        if self.carried is None or self.carried.what != WITHIN or not self.load_rps:
            return None
        return self.load_rps / self.carried.rps if self.carried.rps > 0 else None

    @property
    def runs(self) -> int:
        """How many runs there are samples of."""
        return max((len(runs) for runs in self.series.values()), default=0)

    @property
    def samples(self) -> int:
        """How many samples of the resource that has most."""
        return max((sum(map(len, runs)) for runs in self.series.values()), default=0)


def ends(scenarios: Sequence[Scenario]) -> tuple[Scenario | None, Scenario | None]:
    """The scenarios between which trends are seen: fewest and most threads on cores of their own.

    Args:
        scenarios: of one service.

    Returns:
        None for the second where there is but one; the only one that is packed where all are.
    """
    apart = sorted((one for one in scenarios if not one.is_packed), key=lambda one: one.threads)
    first = apart[0] if apart else min(scenarios, key=lambda one: one.threads, default=None)
    last = apart[-1] if apart and apart[-1].threads > apart[0].threads else None
    return first, last


def pair(scenarios: Sequence[Scenario]) -> tuple[Scenario, Scenario] | None:
    """(apart, packed) with as many threads, the most that there are; None without such a pair."""
    apart = {one.threads: one for one in scenarios if not one.is_packed}
    both = [
        (apart[one.threads], one) for one in scenarios if one.is_packed and one.threads in apart
    ]
    return max(both, key=lambda two: two[0].threads, default=None)
