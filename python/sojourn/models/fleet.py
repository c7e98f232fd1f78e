"""A simulated datacenter with and without neighbours: root tail, utilisation, cost (C26, L34).

The simulation is `sojourn-sim fleet`; money comes from `tco`. Two fleets are compared: one where
`placement` puts neighbours beside the service, and the pair of clusters that would do the same
work apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sojourn.models.simulator import Result, Simulator
from sojourn.models.tco import Costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """One comparison; always simulated.

    Attributes:
        servers: of the shared fleet.
        placement: which of them have neighbours.
        utilisation: mean share of CPU time in use, shared fleet.
        utilisation_apart: the same with no neighbours.
        neighbour_servers: servers' worth of neighbour throughput, mean over the day.
        root_p99_ns, root_p99_ns_apart: tail of root requests over the day; None: not finite.
        tco_usd: shared fleet.
        tco_apart_usd: service alone, and a second cluster for the neighbours' work.
        gain: the second over the first, minus one.
        verdict, reasons: the simulation's own.
        shared, apart: its full results.
    """

    servers: int
    placement: str
    utilisation: float
    utilisation_apart: float
    neighbour_servers: float
    root_p99_ns: int | None
    root_p99_ns_apart: int | None
    tco_usd: float
    tco_apart_usd: float
    gain: float
    verdict: str
    reasons: tuple[str, ...]
    shared: Result
    apart: Result


def compare(simulator: Simulator, job: Mapping[str, Any], costs: Costs) -> Fleet:
    """Simulate `job` as it is and without neighbours, and price both.

    A platform's own price replaces `costs.price_usd`; the second cluster is of the first platform.
    """
    shared = simulator.run("fleet", job)
    apart = simulator.run("fleet", {**job, "placement": "null"})
    worth = sum(p["servers"] * p["neighbour_throughput"] for p in shared["platforms"])
    first = replace(costs, price_usd=shared["platforms"][0]["price_usd"])
    tco = fleet_usd(shared, costs)
    tco_apart = fleet_usd(apart, costs) + worth * first.server_usd(1)
    return Fleet(
        servers=int(shared["job"]["servers"]),
        placement=str(shared["job"]["placement"]),
        utilisation=_utilisation(shared),
        utilisation_apart=_utilisation(apart),
        neighbour_servers=worth,
        root_p99_ns=shared["root_ns"]["p99"],
        root_p99_ns_apart=apart["root_ns"]["p99"],
        tco_usd=tco,
        tco_apart_usd=tco_apart,
        gain=tco_apart / tco - 1,
        verdict="unknown" if "unknown" in (shared["verdict"], apart["verdict"]) else "holds",
        reasons=(*shared["reasons"], *apart["reasons"]),
        shared=shared,
        apart=apart,
    )


def fleet_usd(result: Result, costs: Costs) -> float:
    """TCO of all servers; power is linear in utilisation, so each platform's mean is exact."""
    usd: float = sum(
        platform["servers"]
        * replace(costs, price_usd=platform["price_usd"]).server_usd(platform["utilisation"])
        for platform in result["platforms"]
    )
    return usd


def _utilisation(result: Result) -> float:
    hours = result["hours"]
    return float(sum(hour["utilisation"] for hour in hours) / len(hours))
