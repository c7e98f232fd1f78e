"""Records of version 1, from before points had settings, are read and reported as they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sojourn import analysis, samples, store
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.plan import Phase, Point, codec, next_point, traced
from sojourn.plan.setting import Level, Setting
from sojourn.questions import PLANS, answers, readers
from sojourn.questions.breakdown.findings import Breakdown
from sojourn.questions.check.judge import rows_of
from sojourn.record.load import study_data
from sojourn.store import golden_testing

# What was reported about a traced point before it named its neighbour and its connections.
CONDITIONS = {
    ("none", True): "unloaded",
    ("spin", True): "context_switch",
    ("none", False): "loaded",
    ("stream", False): "interference",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return golden_testing.unpack(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def record(results: Path) -> store.Record:
    return store.read(store.resolve(results, None))


def test_it_is_reported_as_by_the_program_that_wrote_it(record: store.Record) -> None:
    result = analysis.study(study_data(record, PLANS, readers()), answers())
    assert numbers(result) == json.loads(
        (golden_testing.GOLDEN / "record-1.json").read_text(encoding="utf-8")
    )


def test_its_points_have_the_settings_they_were_measured_under(record: store.Record) -> None:
    points = [outcome.point for outcome in record.outcomes()]
    texts = {point.key: point.setting for point in points}
    assert texts["memcached/peak/r0"] == Setting()
    assert texts["memcached/base"] == Setting.of(load=0.2)
    assert texts["memcached/drop/r0/p01"] == Setting.of(rate=3360)
    assert texts["memcached/sweep/b1/f0.90"] == Setting.of(load=0.9)
    assert texts["mm1/check/b0/rho0.50"] == Setting.of(load=0.5)
    assert texts["null/check/b0/rate1k"] == Setting.of(rate=1000)
    again = texts["memcached/trace/b1/unloaded-f0.01/without~1"]
    assert again == Setting.of(neighbour="none", connections=1, load=0.01, tracer=False)
    disturbed = {p.key.split("/")[3] for p in points if traced.is_disturbed(p)}
    assert disturbed == {"interference-f0.90", "context_switch-f0.01"}
    for outcome in record.outcomes():
        assert samples.read(record.folder_of(outcome)).point == outcome.point


@pytest.mark.parametrize("beside", CONDITIONS)
def test_a_setting_that_names_a_condition_says_what_it_meant(beside: tuple[str, bool]) -> None:
    neighbour, is_alone = beside
    alone: dict[str, Level] = {"connections": 1} if is_alone else {}
    now = Setting.of({"neighbour": neighbour, **alone}, load=0.9, tracer=True)
    point = Point(
        key="k",
        service="s",
        phase=Phase.TRACE,
        setting=now,
        offered_rps=1.0,
        measure_s=1.0,
        warmup_s=0.0,
        seed=1,
    )
    then = {"condition": CONDITIONS[beside], "load": 0.9, "tracer": True}
    assert codec.from_json({**codec.to_json(point), "setting": then}) == point


def test_it_goes_on_wherever_it_was_stopped(record: store.Record) -> None:
    """Nothing is measured again, although keys were other texts then."""
    outcomes = record.outcomes()
    retried = (30, 31)  # a point of which the first attempt was not valid
    for done in (*range(14), 17, 19, 24, *retried, 36, 41):
        following = next_point(record.study, outcomes[:done], PLANS)
        assert following is not None
        assert following.cell == outcomes[done].point.cell
        attempts = [o for o in outcomes[:done] if o.point.cell == following.cell]
        assert following.key == following.cell.key(len(attempts))
    assert next_point(record.study, outcomes, PLANS) is None


def test_sql_has_its_factors(results: Path) -> None:
    asked = "select load, tracer, neighbour, connections, setting from points where key like '{}'"
    _, rows = store.query(results, asked.format("%/b1/loaded-f0.90/with"))
    levels = {"neighbour": "none", "load": "0.9", "tracer": "true"}
    assert rows == [(0.9, True, "none", None, levels)]
    _, rows = store.query(results, asked.format("%/b1/context_switch-f0.01/with"))
    levels = {"neighbour": "spin", "load": "0.01", "tracer": "true", "connections": "1"}
    assert rows == [(0.01, True, "spin", 1, levels)]
    counted = "select phase, count(load), count(rate), count(*) from outcomes group by phase"
    _, rows = store.query(results, counted)
    assert {phase: counts for phase, *counts in rows} == {
        Phase.PEAK: [1, 7, 9],
        Phase.SWEEP: [4, 0, 4],
        Phase.SEARCH: [0, 6, 6],
        Phase.CONFIRM: [0, 1, 1],
        Phase.TRACE: [21, 0, 21],
        Phase.CHECK: [1, 1, 2],
    }


def numbers(findings: Findings) -> dict[str, Any]:
    """What a report says, in numbers, verdicts and its answer."""
    return {
        "answer": findings.answer,
        "verdict": str(findings.verdict),
        "reasons": list(findings.reasons),
        "checks": [
            [row.system, row.rho, row.quantity, row.estimate.value, str(row.verdict)]
            for row in rows_of(findings)
        ],
        "services": {service.service: of_service(service) for service in findings.services},
    }


def of_service(finding: ServiceFinding) -> dict[str, Any]:
    search, breakdown = finding.section(MaxLoad), finding.section(Breakdown)
    border = search.border if search else None
    return {
        "max_rps": finding.max_rps,
        "bound_ns": finding.qos.bound_ns if finding.qos else None,
        "points": [
            [
                p.fraction,
                p.offered_rps,
                str(p.verdict),
                p.mean.value,
                [[e.q, e.value] for e in p.quantiles if e.q != 0.9999],  # p99.99 is newer
                [[run.key, run.repeat, str(run.verdict), run.mean_ns] for run in p.runs],
            ]
            for p in finding.points
        ],
        "border": border
        and [
            border.estimate_rps,
            border.interval_rps.lo,
            border.interval_rps.hi,
            border.runs,
            border.starts,
        ],
        "columns": breakdown
        and [
            [
                c.name,
                CONDITIONS[c.neighbour, c.is_alone],
                c.fraction,
                c.requests,
                c.runs,
                c.mean_ns,
                str(c.verdict),
                c.cost.pairs,
                c.cost.p99,
            ]
            for c in breakdown.columns
        ],
    }
