"""Two fleets priced from results that are given: every number by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sojourn.errors import SpecFault
from sojourn.models.fleet import Fleet, compare, fleet_usd
from sojourn.models.simulator import Command, Result, Simulator
from sojourn.models.tco import Costs

JOB = {"placement": "all", "neighbour_slowdown": 1.31}


class Platforms(Simulator):
    """Two platforms; apart they are half as busy and their root tail half as long."""

    asked: Mapping[str, Any]

    def run(self, command: Command, job: Mapping[str, Any], *options: str) -> Result:
        assert command == "fleet"
        apart = job["placement"] == "null"
        busy = 0.5 if apart else 1.0
        platforms = [
            {
                "servers": 10,
                "price_usd": 1_000.0,
                "capacity_rps": 400.0,
                "utilisation": 0.8 * busy,
                "neighbour_throughput": 0.0 if apart else 0.3,
            },
            {
                "servers": 30,
                "price_usd": 2_000.0,
                "capacity_rps": 200.0,
                "utilisation": 0.4 * busy,
                "neighbour_throughput": 0.0 if apart else 0.5,
            },
        ]
        return {
            "job": {"servers": 40, "neighbour_slowdown": 1.0, **job},
            "platforms": platforms,
            "hours": [{"utilisation": 0.2 * busy}, {"utilisation": 0.6 * busy}],
            "root_ns": {"p99": 500 if apart else 1_000},
            "reasons": ["apart"] if apart else ["both"],
            "verdict": job.get("said", "holds") if apart else job.get("says", "holds"),
        }


def fleet_result(**job: Any) -> Fleet:
    return compare(Platforms("unused", 1), {**JOB, **job}, Costs())


def test_a_shared_fleet_is_priced_beside_the_service_and_a_cluster_for_the_rest() -> None:
    """10·0.3 + 30·0.5·(200/400) = 10.5 servers of the first platform, as busy as can be.
    Its work costs least.

    A server of the second platform does half the work, whatever it costs.
    """
    small, large = (Costs(price_usd=usd) for usd in (1_000.0, 2_000.0))
    shared = 10 * small.server_usd(0.8) + 30 * large.server_usd(0.4)
    alone = 10 * small.server_usd(0.4) + 30 * large.server_usd(0.2)
    fleet = fleet_result()
    assert fleet.tco_usd == pytest.approx(shared)
    assert fleet.tco_apart_usd == pytest.approx(alone + 10.5 * small.server_usd(1.0))
    assert fleet.gain == pytest.approx(fleet.tco_apart_usd / shared - 1)
    assert (fleet.servers, fleet.placement, fleet.slowdown) == (40, "all", 1.31)
    assert (fleet.utilisation, fleet.utilisation_apart) == pytest.approx((0.4, 0.2))
    assert fleet.neighbour_servers == pytest.approx(10.5)
    assert (fleet.root_p99_ns, fleet.root_p99_ns_apart) == (1_000, 500)
    assert (fleet.verdict, fleet.reasons) == ("holds", ("both", "apart"))
    assert fleet_usd(fleet.shared, replace(Costs(), years=0.5)) < shared


def test_the_order_of_platforms_changes_nothing() -> None:
    class Turned(Platforms):
        def run(self, command: Command, job: Mapping[str, Any], *options: str) -> Result:
            result = super().run(command, job, *options)
            return {**result, "platforms": result["platforms"][::-1]}

    turned, fleet = compare(Turned("unused", 1), JOB, Costs()), fleet_result()
    assert turned.gain == pytest.approx(fleet.gain)
    assert turned.neighbour_servers == pytest.approx(fleet.neighbour_servers)


@pytest.mark.parametrize("job", [{"said": "unknown"}, {"says": "unknown"}])
def test_one_unknown_simulation_leaves_the_comparison_unknown(job: dict[str, Any]) -> None:
    assert fleet_result(**job).verdict == "unknown"


def test_a_fleet_without_neighbours_needs_no_slowdown_and_a_harmless_one_has_none() -> None:
    no_one = Platforms("unused", 1)
    assert compare(no_one, {"placement": "null"}, Costs()).placement == "null"
    with pytest.raises(SpecFault, match="effect of a neighbour on the service"):
        compare(no_one, {"placement": "all"}, Costs())
    harmless = compare(no_one, {"placement": "all"}, Costs(), harmless=True)
    assert harmless.slowdown == 1.0
    same = compare(no_one, {"placement": "all", "neighbour_slowdown": 1.0}, Costs(), harmless=True)
    assert same.slowdown == 1.0
    with pytest.raises(SpecFault, match="harmless"):
        compare(no_one, {"placement": "all", "neighbour_slowdown": 0.9}, Costs(), harmless=True)
