from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import SpecFault
from sojourn.models.colocation import L28, L33, Beside, Table, load
from sojourn.models.provision import Plan, diurnal, provision


def test_l30_one_millisecond_allows_every_neighbour_half_of_it_forbids_lbm_at_90_percent() -> None:
    assert provision(L28, bound_ns=1e6).load == 0.9
    plan = provision(L28, bound_ns=500e3)
    lbm = next(limit for limit in plan.limits if limit.neighbour == "lbm")
    assert (lbm.load, lbm.fails_at) == (0.7, 0.9)
    assert plan.load == 0.7


def test_l34_google_scenario_plans_60_percent() -> None:
    plan = provision(L33, bound_ns=500e3, loss_max=0.10)
    assert plan.load == 0.6
    assert plan.limits[0].neighbour == "lbm"
    assert "11%" in plan.limits[0].why
    # Table 3 prints the throughput of three programs: the other five are unknown, not harmless.
    assert plan.would_allow[0] == (0.8, ("lbm",))
    assert set(plan.unknown) == {"bzip2", "gcc", "mcf", "GemsFDTD", "L3 microbenchmark"}


def test_what_was_not_measured_does_not_fit_and_a_mean_is_no_neighbour() -> None:
    plan = provision(L28, bound_ns=500e3)
    assert [limit.neighbour for limit in plan.limits if limit.load] == ["lbm", "perlbench"]
    assert len(plan.unknown) == 10
    assert "mean" not in {limit.neighbour for limit in (*plan.limits, *_plan_of_l33().limits)}


def _plan_of_l33() -> Plan:
    return provision(L33, bound_ns=500e3, loss_max=0.1)


@pytest.mark.parametrize("table", [L28, L33])
def test_no_neighbour_fits_where_the_service_alone_does_not(table: Table) -> None:
    plan = provision(table, bound_ns=1e3)
    assert (plan.verdict, plan.load, plan.alone) == ("violated", None, None)
    assert all(limit.load is None for limit in plan.limits)
    assert all("alone" in limit.why for limit in plan.limits)


def _table(*rows: tuple[str, float, float | None], core_share: float = 1.0) -> Table:
    found = tuple(Beside(neighbour=n, load=load, tail_ns=tail) for n, load, tail in rows)
    return Table(name="t", label="measured", source="x", service="s", q=0.99, rows=found,
                 core_share=core_share)  # fmt: skip


def test_every_limit_is_capped_by_the_service_alone() -> None:
    rows = (("none", 0.1, 1.0), ("none", 0.5, 9.0), ("x", 0.1, 1.0), ("x", 0.5, 1.0))
    plan = provision(_table(*rows), bound_ns=5)
    assert (plan.limits[0].load, plan.load, plan.alone) == (0.1, 0.1, 0.1)


def test_a_hole_in_the_table_ends_what_is_known() -> None:
    alone = tuple(("none", load, 1.0) for load in (0.1, 0.3, 0.5))
    plan = provision(_table(*alone, ("x", 0.1, 2.0), ("x", 0.5, 2.0)), bound_ns=5)
    assert (plan.limits[0].load, plan.limits[0].fails_at) == (0.1, 0.3)
    nothing = provision(_table(*alone, ("x", 0.1, None)), bound_ns=5)
    assert (nothing.verdict, nothing.load, nothing.unknown) == ("unknown", None, ("x",))
    assert provision(_table(("x", 0.1, 2.0)), bound_ns=5).verdict == "unknown"
    assert provision(_table(("x", 0.1, 9.0)), bound_ns=5).verdict == "violated"


def test_a_share_of_the_cores_serves_that_share_of_the_peak() -> None:
    """L34: 12,000 servers with half their cores at 60 % serve what 3,600 whole ones do."""
    demand = [3_600 * 1.1e6]
    plan = provision(L33, bound_ns=500e3, loss_max=0.1, demand_rps=demand, peak_rps=1.1e6)
    assert plan.servers == (12_000,)


def test_servers_follow_demand_and_headroom() -> None:
    plan = provision(L28, bound_ns=500e3, headroom=0.1, demand_rps=[0, 693e3, 6.93e6])
    assert plan.load == pytest.approx(0.63)
    assert plan.servers == (0, 1, 10)
    assert plan.servers_alone is not None
    assert plan.servers_alone[2] < 10


def test_a_neighbour_that_never_fits_is_forbidden_and_does_not_sink_the_plan() -> None:
    rows = (
        Beside(neighbour="none", load=0.1, tail_ns=1e5),
        Beside(neighbour="bad", load=0.1, tail_ns=9e9),
        Beside(neighbour="good", load=0.1, tail_ns=2e5),
    )
    table = Table(name="t", label="measured", source="x", service="s", q=0.99, rows=rows)
    plan = provision(table, bound_ns=1e6)
    assert plan.forbidden == ("bad",)
    assert plan.load == 0.1


def test_diurnal_keeps_its_mean() -> None:
    curve = diurnal(1000, 400)
    assert sum(curve) / 24 == pytest.approx(1000)
    assert (min(curve), max(curve)) == pytest.approx((600, 1400))


@pytest.mark.parametrize(
    "wrong", [{"bound_ns": 0}, {"bound_ns": 1, "loss_max": 2}, {"bound_ns": 1, "headroom": 1},
              {"bound_ns": 1, "demand_rps": [-1]}, {"bound_ns": 1, "peak_rps": 0},
              {"bound_ns": 1, "peak_rps": float("nan")}],
)  # fmt: skip
def test_impossible_numbers_are_refused_with_a_way_out(wrong: dict[str, Any]) -> None:
    with pytest.raises(SpecFault) as caught:
        provision(L28, **wrong)
    assert caught.value.fix


def test_an_unknown_table_offers_near_names(tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match="no co-location table") as caught:
        load("L3")
    assert "L33" in caught.value.fix
    broken = tmp_path / "table.json"
    broken.write_text('{"name": "x", "label": "measured", "rows": []}')
    with pytest.raises(SpecFault):
        load(str(broken))


def test_a_table_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(L33.model_dump_json(by_alias=True))
    assert load(str(path)) == L33
