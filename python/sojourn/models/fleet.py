"""A simulated datacenter with and without neighbours: root tail, utilisation, cost (C26, L34).

The simulation is `sojourn-sim fleet`; money comes from `tco`. Two fleets are compared: one where
`placement` puts neighbours beside the service, and the pair of clusters that would do the same
work apart.

What neighbours achieve is Table 2's unless the job says else, or a table that was measured (`fed`),
and every such table has a price: the tail beside them. So a neighbour whose slowdown of the service
no one stated is refused. A table does not say it: a tail beside a neighbour is mostly waiting for
the CPU, and what is slowed down here is the service's own time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sojourn.errors import SpecFault
from sojourn.models.colocation import MEAN, Table
from sojourn.models.simulator import Result, Simulator
from sojourn.models.tco import Costs

CURVE = "neighbour_throughput"  # of a job: pairs of load and throughput


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """One comparison; always simulated.

    Attributes:
        servers: of the shared fleet.
        placement: which of them have neighbours.
        slowdown: of the service's requests beside a neighbour; 1: none, as the job or `harmless`
            says.
        utilisation: mean share of CPU time in use, shared fleet.
        utilisation_apart: the same with no neighbours.
        neighbour_servers: of the platform with the cheapest work, that would do what neighbours do,
            mean over the day.
        root_p99_ns, root_p99_ns_apart: tail of root requests over the day; None: not finite.
        tco_usd: shared fleet.
        tco_apart_usd: service alone, and a second cluster for the neighbours' work.
        gain: the second over the first, minus one; gain_lo, gain_hi: with the least and the most
            that neighbours can have achieved at every load; None: that was not given.
        verdict, reasons: the simulation's own.
        shared, apart: its full results.
    """

    servers: int
    placement: str
    slowdown: float
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
    gain_lo: float | None = None
    gain_hi: float | None = None


def compare(
    simulator: Simulator, job: Mapping[str, Any], costs: Costs, *, harmless: bool = False
) -> Fleet:
    """Simulate `job` as it is and without neighbours, and price both.

    A platform's own price replaces `costs.price_usd`. The second cluster is of the platform whose
    work costs least: else the gain would depend on the order in which platforms are listed.

    Args:
        simulator: runs both.
        job: of `sojourn-sim fleet`.
        costs: of a server.
        harmless: take the neighbours' work without any cost to the service's tail.

    Raises:
        SpecFault: the job places neighbours and does not say how much they slow the service down.
    """
    places = str(job.get("placement", "null")) != "null"
    if places and not harmless and "neighbour_slowdown" not in job:
        raise SpecFault(
            "the effect of a neighbour on the service is not given, so its gain would be free",
            at="neighbour_slowdown",
            fix="give --slowdown (21/16 = 1.31 is that of L12), or ask for --harmless",
        )
    if harmless:
        if float(job.get("neighbour_slowdown", 1.0)) != 1:
            raise SpecFault(
                "a harmless neighbour has no slowdown",
                at="--harmless",
                fix="leave out one of the two",
            )
        job = {**job, "neighbour_slowdown": 1.0}
    shared = simulator.run("fleet", job)
    apart = simulator.run("fleet", {**job, "placement": "null"})
    cheapest = min(shared["platforms"], key=lambda one: _busy_usd(one, costs) / _capacity(one))
    worth = _neighbour_servers(shared, _capacity(cheapest))
    tco = fleet_usd(shared, costs)
    tco_apart = fleet_usd(apart, costs) + worth * _busy_usd(cheapest, costs)
    return Fleet(
        servers=int(shared["job"]["servers"]),
        placement=str(shared["job"]["placement"]),
        slowdown=float(shared["job"]["neighbour_slowdown"]),
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


def fed(
    simulator: Simulator,
    job: Mapping[str, Any],
    costs: Costs,
    table: Table,
    *,
    neighbour: str = MEAN,
    harmless: bool = False,
) -> Fleet:
    """The same with what a neighbour of a co-location table achieves, and the ends of the gain.

    The fleet is simulated with every throughput as it was measured, then with all of them at the
    lower and at the upper ends of their intervals: the draws are the same, so the gains differ by
    the throughputs alone.

    Raises:
        SpecFault: the table has no throughput of this neighbour, or the job has its own.
    """
    if CURVE in job:
        raise SpecFault(
            "the job has throughputs of its own, and a table was given",
            at=CURVE,
            fix="leave out one of the two",
        )
    curves = [one.throughputs(neighbour) for one in (table, table.surely(), table.at_best())]
    if not curves[0]:
        raise table.lacks(neighbour)
    jobs = [{**job, CURVE: [list(point) for point in curve]} for curve in curves]
    fleet = compare(simulator, jobs[0], costs, harmless=harmless)
    if not table.has_intervals:
        return fleet
    low, high = (compare(simulator, one, costs, harmless=harmless).gain for one in jobs[1:])
    return replace(fleet, gain_lo=low, gain_hi=high)


def fleet_usd(result: Result, costs: Costs) -> float:
    """TCO of all servers; power is linear in utilisation, so each platform's mean is exact."""
    usd: float = sum(
        platform["servers"]
        * replace(costs, price_usd=platform["price_usd"]).server_usd(platform["utilisation"])
        for platform in result["platforms"]
    )
    return usd


def _busy_usd(platform: Mapping[str, Any], costs: Costs) -> float:
    """TCO of one of its servers that is always busy."""
    return replace(costs, price_usd=platform["price_usd"]).server_usd(1)


def _capacity(platform: Mapping[str, Any]) -> float:
    return float(platform["capacity_rps"])


def _neighbour_servers(result: Result, capacity_rps: float) -> float:
    """Servers of that capacity that do what all neighbours do.

    A neighbour's throughput is a share of what it does alone on its own server, so a server of a
    weaker platform counts by its capacity.
    """
    work = (
        one["servers"] * one["neighbour_throughput"] * _capacity(one) for one in result["platforms"]
    )
    return float(sum(work) / capacity_rps)


def _utilisation(result: Result) -> float:
    hours = result["hours"]
    return float(sum(hour["utilisation"] for hour in hours) / len(hours))
