"""What a request costs on each of several machines that served the same study (C2, L31).

    busy = load · CPU time of a request / CPUs        $ = TCO(busy), of that machine's price
    power = peak · (idle + (1 − idle) · busy)         of that machine's peak, where it is known

>>> one = Platform(name="a", load_rps=20_000, cpus=4, cpu_ns=100_000, price_usd=2000)
>>> row = one.row(Costs())
>>> row["per_cpu_rps"], row["busy"], round(row["usd_per_krps"], 2), row["per_watt_rps"]
(5000.0, 0.5, 178.76, None)
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
        cpus: that its server may use; less than one CPU where it has a quota; None: not known.
        cpu_ns: CPU time of a request at that load; None: not counted. Where either is not known,
            the costs are those of a busy machine.
        price_usd: of the machine; None: not known, so nothing has a price.
        peak_watts: power when busy; None: not known.
    """

    name: str
    load_rps: float
    cpus: float | None
    cpu_ns: float | None
    price_usd: float | None
    peak_watts: float | None = None

    def row(self, costs: Costs) -> dict[str, Any]:
        """Its load, for each CPU and watt, and what 1,000 requests/s cost over its life."""
        busy = watts = usd = None
        if self.cpu_ns is not None and self.cpus is not None:
            busy = min(1.0, self.load_rps * self.cpu_ns / 1e9 / self.cpus)
        share = 1.0 if busy is None else busy
        if self.peak_watts is not None:
            watts = self.peak_watts * (costs.idle_ratio + (1 - costs.idle_ratio) * share)
            costs = replace(costs, peak_kw=self.peak_watts / 1000)
        if self.price_usd is not None:
            usd = replace(costs, price_usd=self.price_usd).server_usd(share)
        return {
            "server": self.name,
            "load_rps": self.load_rps,
            "cpus": self.cpus,
            "per_cpu_rps": None if self.cpus is None else self.load_rps / self.cpus,
            "busy": busy,
            "watts": watts,
            "per_watt_rps": self.load_rps / watts if watts else None,
            "price_usd": self.price_usd,
            "server_usd": usd,
            "usd_per_krps": None if usd is None else usd / self.load_rps * 1000,
        }
