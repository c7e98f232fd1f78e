"""How much load each machine takes, for each CPU, and what that costs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import store
from sojourn.errors import SpecFault, StoreFault
from sojourn.findings.effects import FactorFinding
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.platform_load import PlatformLoad
from sojourn.models.tco import Costs
from sojourn.plan.points import Verdict
from sojourn.report import page, platforms, terminal, testing, testing_answers
from sojourn.report.draw.figure import Figure
from sojourn.report.parts import using
from sojourn.spec.hosts import SERVER, HostsSpec
from sojourn.testing_questions import parts

Recorded = Callable[[str, str], Any]
SERVED = {"placement": {"server": [2, 3, 4]}}


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """A record with a point of the server `a`: what its file holds, and where it says to lie."""

    def record(text: str, folder: str) -> Any:
        path = tmp_path / "record"
        for at in (path / "points/0001", tmp_path / "elsewhere"):
            at.mkdir(parents=True)
            (at / "service.json").write_text(text)
        setting = {SERVER: "a"}
        outcome = SimpleNamespace(point=SimpleNamespace(setting=setting), folder=folder)
        made: Any = SimpleNamespace(path=path, outcomes=lambda: (outcome,))
        made.folder_of = lambda one: store.Record.folder_of(made, one)
        return made

    return record


def test_cpus_are_those_of_a_point_in_the_record(recorded: Recorded) -> None:
    made = recorded(json.dumps(SERVED), "points/0001")
    assert platforms._cpus(made, made.outcomes(), "a") == 3


@pytest.mark.parametrize("folder", ["../elsewhere", "points/.."])
def test_a_point_that_names_a_folder_elsewhere_is_refused(recorded: Recorded, folder: str) -> None:
    made = recorded(json.dumps(SERVED), folder)
    with pytest.raises(StoreFault, match="not in the record"):
        platforms._cpus(made, made.outcomes(), "a")


def test_a_record_that_varies_no_server_is_refused(tmp_path: Path) -> None:
    record: Any = SimpleNamespace(path=tmp_path, outcomes=tuple)
    with pytest.raises(SpecFault, match=r"hosts\.server is not varied"):
        platforms.platforms(testing.findings(), record, {})


@pytest.mark.parametrize("text", ["[]", "{", '{"placement": 3}', '{"placement": {"server": 3}}'])
def test_a_file_that_is_damaged_is_a_fault(recorded: Recorded, text: str) -> None:
    made = recorded(text, "points/0001")
    with pytest.raises(StoreFault, match="cannot be read"):
        platforms._cpus(made, made.outcomes(), "a")


Row = Callable[[ServiceFinding], PlatformLoad]


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Row:
    """What is shown of a server of 3 CPUs with this finding."""

    def made(finding: ServiceFinding) -> PlatformLoad:
        one = replace(finding, levels=((SERVER, "a"),))
        findings = replace(testing.findings(), services=(one,))
        monkeypatch.setattr(platforms, "_cpus", lambda *_: 3.0)
        record: Any = SimpleNamespace(
            path=tmp_path, study=SimpleNamespace(hosts=None), outcomes=tuple
        )
        (served,) = platforms.platforms(findings, record, {"a": 2000.0})
        return served.row(Costs())

    return made


def within(lo: float, estimate: float, hi: float) -> ServiceFinding:
    """A service with a search that came to this interval, requests/s."""
    border = testing_answers.border(estimate, lo, hi)
    return replace(testing.memcached(), sections={"max_load": testing_answers.max_load(border)})


@pytest.mark.parametrize(
    ("lo", "estimate", "hi", "about"),
    [
        (0.0, 10_000.0, 0.0, "no load fits"),
        (0.0, 115_000.0, 115_000.0, "open: at most 115k"),
        (97_000.0, 97_000.0, math.inf, "open: at least 97k"),
        (0.0, 50_000.0, math.inf, "open: unknown"),
    ],
)
def test_a_load_that_is_open_has_no_price(
    row: Row, lo: float, estimate: float, hi: float, about: str
) -> None:
    result = row(within(lo, estimate, hi))
    assert result.about == about
    assert (result.usd_per_krps, result.usd_per_krps_lo, result.usd_per_krps_hi) == (None,) * 3
    assert result.load_rps is None
    assert (result.server, result.cpus, result.price_usd) == ("a", 3, 2000.0)
    assert platforms.cost(result) == platforms.NONE


def test_a_load_with_an_interval_has_a_price_with_one(row: Row) -> None:
    result = row(within(35_400.0, 36_200.0, 37_100.0))
    assert result.about.startswith("within the target: 35.4k–37.1k")
    assert (result.load_lo_rps, result.load_hi_rps) == (35_400.0, 37_100.0)
    ends = (result.usd_per_krps_lo, result.usd_per_krps, result.usd_per_krps_hi)
    low, middle, high = (one or math.nan for one in ends)
    assert 0 < low < middle < high
    text = platforms.cost(result)
    assert text == (f"{middle:,.2f} ({low:,.2f}–{high:,.2f})")


def test_an_interval_that_decides_nothing_says_so(row: Row) -> None:
    assert row(testing.nginx()).about.startswith("within the target, undecided: ")


def test_a_search_without_a_valid_run_has_no_price(row: Row) -> None:
    search = testing_answers.max_load(None, verdict=Verdict.UNKNOWN)
    result = row(replace(testing.memcached(), sections={"max_load": search}))
    assert result.about == "unknown: no run is valid"
    assert result.usd_per_krps is None


def test_what_100_percent_load_is_is_named_where_no_load_was_searched(row: Row) -> None:
    result = row(replace(testing.memcached(), sections={}))
    assert result.about == "100 % load (achieved peak), no search for a target"
    assert result.load_rps == 52_300.0
    with pytest.raises(StoreFault, match="no load yet"):
        row(replace(testing.memcached(), sections={}, max_rps=None))


def test_cpu_time_is_that_of_runs_that_passed_their_checks() -> None:
    service = testing.memcached()
    point = service.points[0]
    one = point.runs[0]
    runs = (
        replace(one, cpu_ns=10_000.0, is_believed=True),
        replace(one, cpu_ns=90_000.0, is_believed=False),
        replace(one, cpu_ns=90_000.0, is_believed=False),
    )
    service = replace(service, points=(replace(point, runs=runs),))
    assert platforms._cpu_ns(service) == 10_000.0


@pytest.mark.parametrize(("quota", "cpus"), [(1.5, 1.5), (None, 3.0), (16.0, 3.0), (0.25, 0.25)])
def test_a_quota_leaves_fewer_cpus_than_the_placement_has(
    recorded: Recorded, quota: float | None, cpus: float
) -> None:
    made = recorded(json.dumps({**SERVED, "cpu_quota": quota}), "points/0001")
    assert platforms._cpus(made, made.outcomes(), "a") == cpus


@pytest.mark.parametrize("quota", [None, 2.0])
def test_cpus_of_a_server_that_is_elsewhere_are_not_known(
    recorded: Recorded, quota: float | None
) -> None:
    made = recorded(json.dumps({"placement": {"server": []}, "cpu_quota": quota}), "points/0001")
    assert platforms._cpus(made, made.outcomes(), "a") is None


@pytest.mark.parametrize(("cpus", "cpu_ns"), [(None, 50_000.0), (4.0, None)])
def test_what_was_not_counted_is_not_shown(cpus: float | None, cpu_ns: float | None) -> None:
    """The costs are still there: those of a busy machine."""
    served = platforms.Served(
        name="a",
        load_rps=20_000.0,
        interval=None,
        about="",
        cpus=cpus,
        cpu_ns=cpu_ns,
        price_usd=2000.0,
        peak_watts=300.0,
    )
    one = served.row(Costs())
    assert one.busy is None
    assert one.per_cpu_rps == (None if cpus is None else 5000.0)
    assert one.server_usd == Costs().server_usd(1.0)
    assert one.watts == 300.0
    assert platforms.cells(one)[5] == platforms.NONE


@pytest.mark.parametrize("quota", ["much", [1], {"a": 1}])
def test_a_quota_that_is_no_number_is_a_fault(recorded: Recorded, quota: object) -> None:
    made = recorded(json.dumps({**SERVED, "cpu_quota": quota}), "points/0001")
    with pytest.raises(StoreFault, match="cannot be read"):
        platforms._cpus(made, made.outcomes(), "a")


def study_of(**hosts: Any) -> Any:
    """A record of a study that varies two servers."""
    made = HostsSpec(at="10.9.0.1:6379", **hosts)
    study = SimpleNamespace(hosts=made, factors={SERVER: ("a", "b")})
    return SimpleNamespace(path=Path("x"), study=study, outcomes=tuple)


def two() -> Findings:
    """Of two servers, the second with half the CPUs and half the load."""
    services = tuple(
        replace(within(0.9 * rps, rps, 1.1 * rps), levels=((SERVER, name),))
        for name, rps in (("a", 40_000.0), ("b", 20_000.0))
    )
    factor = FactorFinding(
        service="memcached",
        key=SERVER,
        name="server",
        levels=("a", "b"),
        effects=(),
        aliases=(),
        sentence="memcached: two machines.",
    )
    return replace(testing.findings(), services=services, factors=(factor,))


def test_one_report_has_both_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        platforms, "_cpus", lambda _record, _outcomes, name: {"a": 2.0, "b": 1.0}[name]
    )
    given = {"a": {"price_usd": 2000, "peak_watts": 200}, "b": {"price_usd": 900}}
    result = platforms.with_platforms(two(), study_of(platforms=given))
    (factor,) = result.factors
    one, other = factor.platforms
    assert (one.per_cpu_rps, other.per_cpu_rps) == (20_000.0, 20_000.0)
    assert (one.price_usd, other.price_usd) == (2000.0, 900.0)
    assert one.per_watt_rps is not None
    assert other.per_watt_rps is None, "its power is not known"
    assert "Of each CPU: a 20.0k/s, b 20.0k/s." in result.answer
    assert "Cost of 1,000 requests/s: a " in result.answer
    text = terminal.text(result, parts(), 80)
    of_services: dict[str, list[Figure]] = {one.service: [] for one in result.services}
    with using(parts()):
        html = page.html(result, of_services=of_services, of_study=[])
    for whole in (text, html):
        assert platforms.cost(one) in " ".join(whole.split())
    assert 'aria-label="Machines of memcached"' in html


def test_without_prices_each_cpu_has_its_load_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platforms, "_cpus", lambda *_: 2.0)
    result = platforms.with_platforms(two(), study_of())
    assert [one.per_cpu_rps for one in result.factors[0].platforms] == [20_000.0, 10_000.0]
    assert "Cost of" not in result.answer


def test_equal_machines_and_more_factors_are_left_as_they_are() -> None:
    assert platforms.with_platforms(two(), study_of(alike=True)) == two()
    services = tuple(
        replace(one, levels=((SERVER, "a"), ("services.each.cores", nth)))
        for nth, one in enumerate(two().services)
    )
    mixed = replace(two(), services=services)
    assert platforms.with_platforms(mixed, study_of()) == mixed


@pytest.mark.parametrize(
    ("known", "quota", "price", "text"),
    [
        ("Xeon, 16 CPUs", None, 2000.0, "; 3 of its 16 CPUs served, so give price and power of"),
        ("Xeon, 3 CPUs, a quota of 1.5", 1.5, 2000.0, "; 1.5 of its 3 CPUs served"),
        ("Xeon, 3 CPUs", None, 2000.0, ""),
        ("Xeon, 16 CPUs", None, None, ""),
        ("Xeon", None, 2000.0, ""),
        ("", None, 2000.0, ""),
    ],
)
def test_where_a_part_of_a_machine_served_price_and_power_are_to_be_of_that_part(
    recorded: Recorded, known: str, quota: float | None, price: float | None, text: str
) -> None:
    """A machine of 16 CPUs, three of which served, cost five times as much for each request."""
    setup = [["machine", known]] if known else []
    made = recorded(json.dumps({**SERVED, "cpu_quota": quota, "setup": setup}), "points/0001")
    made.study = SimpleNamespace(hosts=None)
    one = replace(within(35_400.0, 36_200.0, 37_100.0), levels=((SERVER, "a"),))
    findings = replace(testing.findings(), services=(one,))
    (served,) = platforms.platforms(findings, made, {"a": price})
    assert served.about.startswith("within the target: ")
    assert ("CPUs served" in served.about) is bool(text)
    assert text in served.about
