from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sojourn.errors import SpecFault
from sojourn.models.colocation import L28, L33, Table, load
from sojourn.models.colocation_row import Beside
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
    cases = tuple(Beside(neighbour=n, load=load, tail_ns=tail) for n, load, tail in rows)
    # fmt: off
    return Table(name="t", label="measured", source="x", service="s", q=0.99, rows=cases,
                 core_share=core_share)
    # fmt: on


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
    "wrong",
    [
        {"bound_ns": 0},
        {"bound_ns": 1, "loss_max": 2},
        {"bound_ns": 1, "headroom": 1},
        {"bound_ns": 1, "demand_rps": [-1]},
        {"bound_ns": 1, "peak_rps": 0},
        {"bound_ns": 1, "peak_rps": float("nan")},
    ],
)
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


def test_a_limit_is_met_up_to_the_bound_and_the_loss_that_may_be() -> None:
    """A tail at the bound and a loss of exactly the most that may be fit; more does not."""

    def cells(tail: float, throughput: float | None) -> Plan:
        rows = (
            Beside(neighbour="none", load=0.5, tail_ns=1e3),
            Beside(neighbour="x", load=0.5, tail_ns=tail, throughput=throughput),
        )
        table = Table(name="t", label="measured", source="x", service="s", q=0.9, rows=rows)
        return provision(table, bound_ns=5e3, loss_max=0.3)

    assert cells(5e3, 0.7).limits[0].verdict == "holds"
    late = cells(5.1e3, 0.7)
    assert (late.limits[0].verdict, late.limits[0].why) == ("violated", "tail 5 µs > 5 µs")
    less = cells(5e3, 0.69)
    assert (less.verdict, less.limits[0].why) == ("violated", "loses 31% > 30%")
    unknown = cells(5e3, None)
    assert (unknown.verdict, unknown.limits[0].why) == ("unknown", "loss not measured")


def test_the_tightest_comes_first_and_what_is_not_known_last() -> None:
    alone = tuple(("none", load, 1.0) for load in (0.1, 0.3, 0.5))
    # fmt: off
    rows = (*alone, ("c", 0.1, 2.0), ("c", 0.3, 2.0), ("b", 0.1, 9.0), ("a", 0.1, None),
            ("d", 0.1, 2.0), ("e", 0.1, 2.0), ("e", 0.3, 2.0), ("e", 0.5, 2.0))
    # fmt: on
    plan = provision(_table(*rows), bound_ns=5, headroom=0.5)
    assert [limit.neighbour for limit in plan.limits] == ["b", "d", "c", "e", "a"]
    assert (plan.forbidden, plan.unknown, plan.verdict) == (("b",), ("a",), "holds")
    assert (plan.load, plan.alone, plan.headroom) == (0.05, 0.25, 0.5)
    assert plan.would_allow == ((0.15, ("d",)), (0.25, ("d", "c")))


def test_without_neighbours_the_service_alone_is_planned() -> None:
    plan = provision(_table(("none", 0.1, 1.0), ("none", 0.3, 9.0)), bound_ns=5)
    assert (plan.load, plan.verdict, plan.limits, plan.would_allow) == (0.1, "holds", (), ())
    blind = provision(_table(("none", 0.1, None)), bound_ns=5)
    assert (blind.load, blind.verdict) == (None, "unknown")


def test_a_neighbour_is_capped_where_the_service_alone_is_not_known_any_more() -> None:
    rows = (("none", 0.1, 1.0), ("none", 0.3, None), ("x", 0.1, 1.0), ("x", 0.3, 1.0))
    (limit,) = provision(_table(*rows), bound_ns=5).limits
    assert (limit.load, limit.fails_at, limit.why) == (
        0.1,
        0.3,
        "the service alone: tail not measured",
    )
    blind = (("none", 0.1, None), ("x", 0.1, 9.0), ("y", 0.1, 1.0))
    plan = provision(_table(*blind), bound_ns=5)
    assert (plan.forbidden, plan.unknown) == (("x",), ("y",))
    whole = (("none", 0.1, 1.0), ("x", 0.1, 1.0))
    assert provision(_table(*whole), bound_ns=5).limits[0].why == ""
    same = provision(_table(("none", 0.1, 9.0), ("x", 0.1, 1.0)), bound_ns=5).limits[0]
    assert (same.load, same.verdict) == (None, "violated")


def test_servers_are_rounded_up_and_not_told_without_a_peak_or_a_load() -> None:
    table = _table(("none", 0.5, 1.0), ("x", 0.5, 1.0), core_share=0.5)
    plan = provision(table, bound_ns=5, demand_rps=[250.0, 251.0, 500.1], peak_rps=1_000.0)
    assert plan.servers == plan.servers_alone == (1, 2, 3)  # 1,000 · 0.5 · 0.5 each
    assert provision(table, bound_ns=5, demand_rps=[250.0]).servers is None
    assert provision(table, bound_ns=5, peak_rps=1_000.0).servers is None
    never = provision(table, bound_ns=0.5, demand_rps=[250.0], peak_rps=1_000.0)
    assert never.servers is None


def test_a_day_s_demand_is_least_at_night_and_is_refused_where_it_would_be_negative() -> None:
    assert diurnal(100, 100)[::6] == pytest.approx((0, 100, 200, 100))
    assert diurnal(100, 0, hours=1) == (100.0,)
    for wrong in ((100, 101, 24), (100, -1, 24), (100, 50, 0)):
        with pytest.raises(SpecFault) as caught:
            diurnal(*wrong)
        assert caught.value.fix


@pytest.mark.parametrize(
    "right", [{"loss_max": 0.0}, {"loss_max": 1.0}, {"headroom": 0.0}, {"demand_rps": [0.0]}]
)
def test_numbers_at_their_limits_are_taken(right: dict[str, Any]) -> None:
    assert provision(L28, bound_ns=1e6, **right).label == "paper"


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss_max": -0.1},
        {"headroom": -0.1},
        {"demand_rps": [float("inf")]},
        {"peak_rps": float("inf")},
    ],
)
def test_numbers_beyond_them_are_not(wrong: dict[str, Any]) -> None:
    with pytest.raises(SpecFault):
        provision(L28, bound_ns=1e6, **wrong)


def test_tables_of_the_papers_are_in_nanoseconds_and_shares() -> None:
    lbm, alone = L28.at("lbm", 0.9), L33.at("none", 0.5)
    assert lbm is not None
    assert (lbm.tail_ns, lbm.throughput) == (642e3, 0.23)
    assert alone is not None
    assert (alone.tail_ns, alone.throughput) == (156e3, None)
    far = L33.at("mcf", 0.9)
    assert far is not None
    assert (far.tail_ns, far.throughput) == (6775e3, None)
    assert L28.loads == (0.1, 0.3, 0.5, 0.7, 0.9)
    assert L33.loads == (0.5, 0.6, 0.7, 0.8, 0.9)
    assert (L28.q, L33.q, L28.core_share, L33.core_share) == (0.95, 0.95, 1.0, 0.5)
    assert (L28.peak_rps, L33.peak_rps) == (1.1e6, None)
    assert len(L28.neighbours) == 12
    assert "mean" not in L33.neighbours
    assert dict(L28.throughputs("bwaves")) == pytest.approx(
        {0.1: 0.65, 0.3: 0.29, 0.5: 0.17, 0.7: 0.09, 0.9: 0.10}
    )
    assert L28.throughputs("none") == ()
    assert L28.at("lbm", 0.2) is None


@pytest.mark.parametrize(
    ("change", "is_right"),
    [
        ({"q": 0.0}, False),
        ({"q": 1.0}, False),
        ({"core_share": 0.0}, False),
        ({"core_share": 1.0}, True),
        ({"core_share": 1.01}, False),
        ({"peak_rps": 0.0}, False),
        ({"peak_rps": 0.5}, True),
        ({"rows": ()}, False),
        ({"name": ""}, False),
    ],
)
def test_a_table_is_refused_beyond_its_limits(change: dict[str, Any], *, is_right: bool) -> None:
    # fmt: off
    known = {"name": "t", "label": "measured", "source": "x", "service": "s", "q": 0.99,
             "rows": (Beside(neighbour="x", load=0.1),), **change}
    # fmt: on
    if is_right:
        assert Table(**known).form == "sojourn.colocation/1"
    else:
        with pytest.raises(ValidationError):
            Table(**known)


@pytest.mark.parametrize(
    ("change", "is_right"),
    [
        ({"load": 0.0}, True),
        ({"load": 1.0}, True),
        ({"load": 1.01}, False),
        ({"load": -0.1}, False),
        ({"tail_ns": 0.0}, False),
        ({"tail_ns": 0.5}, True),
        ({"throughput": 0.0}, True),
        ({"throughput": 1.0}, True),
        ({"throughput": 1.1}, False),
        ({"throughput": -0.1}, False),
        ({"neighbour": ""}, False),
    ],
)
def test_a_row_is_refused_beyond_its_limits(change: dict[str, Any], *, is_right: bool) -> None:
    known = {"neighbour": "x", "load": 0.5, **change}
    if is_right:
        assert Beside(**known).neighbour == "x"
    else:
        with pytest.raises(ValidationError):
            Beside(**known)


def test_a_row_is_there_once() -> None:
    with pytest.raises(ValidationError, match="is there twice"):
        _table(("x", 0.1, 1.0), ("y", 0.1, 1.0), ("x", 0.1, 2.0))


def test_what_is_wrong_with_a_table_s_file_is_reported_by_its_key(tmp_path: Path) -> None:
    with pytest.raises(SpecFault) as caught:
        load("L3")
    assert caught.value.fix.startswith("did you mean L")
    with pytest.raises(SpecFault) as caught:
        load("nothing of the kind")
    assert caught.value.fix.startswith("known: L28, L33;")
    path = tmp_path / "table.json"
    path.write_text(L33.model_dump_json(by_alias=True).replace('"q":0.95', '"q":95'))
    with pytest.raises(SpecFault, match="error: q: "):
        load(str(path))
    path.write_text("[]")
    with pytest.raises(SpecFault, match="error: the table: "):
        load(str(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SpecFault, match="cannot read"):
        load(str(path))
