"""What a request costs on each of several machines that served the same study (C2, L31).

    busy = load · CPU time of a request / CPUs        $ = TCO(busy), of that machine's price

>>> one = Platform(name="a", load_rps=20_000, cpus=4, cpu_ns=100_000, price_usd=2000)
>>> row = one.row(Costs())
>>> row["per_cpu_rps"], row["busy"], round(row["usd_per_krps"], 2)
(5000.0, 0.5, 178.76)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sojourn.models.tco import Costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """One machine.

    Attributes:
        load_rps: the most that it serves, requests/s.
        cpus: that its server had.
        cpu_ns: CPU time of a request at that load; None: not counted, and taken as busy.
        price_usd: of the machine.
    """

    name: str
    load_rps: float
    cpus: int
    cpu_ns: float | None
    price_usd: float

    def row(self, costs: Costs) -> dict[str, Any]:
        """Its load, the same for each CPU, and what 1,000 requests/s cost over its life."""
        busy = 1.0
        if self.cpu_ns is not None:
            busy = min(1.0, self.load_rps * self.cpu_ns / 1e9 / self.cpus)
        usd = replace(costs, price_usd=self.price_usd).server_usd(busy)
        return {
            "server": self.name,
            "load_rps": self.load_rps,
            "cpus": self.cpus,
            "per_cpu_rps": self.load_rps / self.cpus,
            "busy": busy,
            "price_usd": self.price_usd,
            "server_usd": usd,
            "usd_per_krps": usd / self.load_rps * 1000,
        }
