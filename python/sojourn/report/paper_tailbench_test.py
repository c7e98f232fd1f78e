"""The FGCS paper's numbers beside ours: which rows there are, and what a session's load is."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sojourn.findings.findings import Qos
from sojourn.install import media_streaming as films
from sojourn.papers import factors as paper_factors
from sojourn.papers import tailbench as paper_tailbench
from sojourn.report import testing_answers
from sojourn.report.testing import findings
from sojourn.spec import ServiceSpec


def spec(kind: str, cores: str = "") -> ServiceSpec:
    return ServiceSpec.model_validate({"kind": kind, "measure": ["sweep"], "cores": cores})


@pytest.mark.parametrize(
    ("cores", "name"),
    [("", ""), ("1", "1-ST"), ("8", "8-ST"), ("1:2", "2-SMT"), ("4:8", "8-SMT"), ("4:7", "7-SMT")],
)
def test_cores_make_the_papers_scenarios(cores: str, name: str) -> None:
    assert paper_tailbench.scenario(spec("img_dnn", cores)) == name


def test_a_service_of_the_paper_is_beside_ours_under_the_same_target() -> None:
    result = replace(
        findings().services[0], kind="img_dnn", qos=Qos(q=0.95, bound_ns=4e6, rule="measured")
    )
    table = {row[0]: row for row in paper_tailbench.rows(result, spec("img_dnn", "8"))}
    assert table["QoS target of img-dnn"][1] == "p95 ≤ 3.60 ms (LQoS)"
    assert table["QoS target of img-dnn"][2] == "p95 ≤ 4 ms; measured"
    assert "2900 requests/s" in table["load within QoS"][1]
    assert "in 8-ST" in table["load within QoS"][2]
    if result.resources and result.resources.sides:
        assert "CPU" in table["use at the QoS crossing"][2]
    another = replace(result, qos=Qos(q=0.99, bound_ns=4e6, rule="given"))
    assert paper_tailbench.rows(another, spec("img_dnn")) == ()
    assert paper_tailbench.rows(replace(result, kind="redis"), spec("redis")) == ()


def test_sessions_are_counted_by_littles_law() -> None:
    result = replace(
        findings().services[0], kind=films.NAME, qos=Qos(q=0.95, bound_ns=5e8, rule="given")
    )
    best = next(iter(result.sections.values()), None)
    assert best is not None
    (row,) = [
        row for row in paper_tailbench.rows(result, spec(films.NAME)) if row[0] == "load within QoS"
    ]
    assert row[2].endswith("sessions under way")


@pytest.mark.parametrize(("lo", "hi"), [(0.0, 0.0), (0.0, 9_000.0), (9_000.0, math.inf)])
def test_an_open_interval_has_no_number_of_its_own_and_no_sessions(lo: float, hi: float) -> None:
    service = replace(
        findings().services[0], kind=films.NAME, qos=Qos(q=0.95, bound_ns=5e8, rule="given")
    )
    search = testing_answers.max_load(testing_answers.border(9_000.0, lo, hi))
    table = paper_tailbench.rows(service.having("max_load", search), spec(films.NAME))
    (text,) = [row[2] for row in table if row[0] == "load within QoS"]
    assert text.endswith(" of max RPS")


def test_every_scaling_names_its_cores() -> None:
    for kind, known in paper_tailbench.OF.items():
        text = paper_factors.statements_on(kind, "services.each.cores", ("1", "2", "4:8"))
        assert known.scaling in text
    assert paper_factors.statements_on("xapian", "services.each.knobs.llc_ways", ("2",)).startswith(
        "P18"
    )
    assert paper_factors.statements_on(
        "shore", "services.each.knobs.memory_bandwidth", ()
    ).startswith("P19")
