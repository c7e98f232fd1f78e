"""How much load one machine of several took, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformLoad:
    """A machine that served a study beside others; None: not known.

    Attributes:
        server: its name, a level of `hosts.server`.
        about: which load it is, or why there is none.
        load_rps, load_lo_rps, load_hi_rps: the load with the ends of its interval, requests/s.
        cpus: that the service may use there.
        per_cpu_rps: load of each of these.
        busy: share of their time that the load takes; costs are those of a busy machine without it.
        watts: power at that load, by the peak power that the study gives.
        per_watt_rps: load of each watt.
        price_usd: of the machine, as the study gives it.
        server_usd: its total cost over its life (L31).
        usd_per_krps, usd_per_krps_lo, usd_per_krps_hi: of that, for 1,000 requests/s.
    """

    server: str
    about: str
    load_rps: float | None
    load_lo_rps: float | None
    load_hi_rps: float | None
    cpus: float | None
    per_cpu_rps: float | None
    busy: float | None
    watts: float | None
    per_watt_rps: float | None
    price_usd: float | None
    server_usd: float | None
    usd_per_krps: float | None
    usd_per_krps_lo: float | None
    usd_per_krps_hi: float | None
