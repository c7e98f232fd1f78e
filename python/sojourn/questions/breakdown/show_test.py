from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn import spec
from sojourn.analysis.service import find
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import Outcome, Phase, Verdict, traced
from sojourn.plan.simulated import Simulated, play
from sojourn.questions import PLANS, answers
from sojourn.questions.breakdown import figure as figures
from sojourn.questions.breakdown import show as report_stages
from sojourn.questions.breakdown.findings import Breakdown
from sojourn.questions.breakdown.testing import STAGES, breakdown_of, trace


def measured(outcome: Outcome, scale: float = 1.0, **of_trace: str) -> Measured:
    """The client sees 5 µs more than the server; the tracer makes p99 a tenth longer."""
    is_traced = traced.of(outcome.point)[1]
    p99 = 33e3 if is_traced else 30e3
    return Measured(
        outcome=replace(outcome, p99_ns=p99 * scale),
        traced=trace(scale, **of_trace) if is_traced else None,  # type: ignore[arg-type]
        wire_ns=(("p50", scale * 10e3 + 5e3), ("p99", scale * 30e3 + 5e3)),
        cpu_ns_per_request=9e3 if is_traced else 8e3,
    )


def finding_and_breakdown(**of_trace: str) -> tuple[ServiceFinding, Breakdown]:
    study = spec.load(
        "breakdown", profile="quick", overrides=["run.fractions=[0.1, 0.9]", "run.repeats=2"]
    )
    points = [o for o in play(study, Simulated().measure, PLANS) if o.point.service == "memcached"]
    data = StudyData(
        study=study,
        measured=tuple(
            measured(o, 2.0 if o.point.repeat else 1.0, **of_trace)
            if o.point.phase is Phase.TRACE
            else Measured(outcome=o)
            for o in points
        ),
        questions=PLANS,
    )
    service = study.service("memcached")
    finding = find(data, service, answers())
    return finding, breakdown_of(finding)


def test_columns_stand_in_the_order_of_the_papers_and_stages_add_to_the_total() -> None:
    finding, breakdown = finding_and_breakdown()
    assert [c.name for c in breakdown.columns] == [
        "unloaded",
        "context switch",
        "10 % load",
        "90 % load",
        "interference",
    ]
    for column in breakdown.columns:
        assert column.mean_ns == pytest.approx(15e3)  # two restarts, 10 µs and 20 µs
        assert sum(ns for _, ns in column.stages) == pytest.approx(column.mean_ns)
    assert finding.verdict is Verdict.HOLDS
    assert "EPoll" in finding.answer
    assert "queuing" in finding.answer


def test_columns_whose_stages_stand_in_another_order_or_lack_one_are_joined_by_name() -> None:
    one, other = finding_and_breakdown()[1].columns[:2]
    other = replace(other, stages=other.stages[:0:-1], tail=other.tail[:0:-1])
    for is_tail in (False, True):
        rows = dict(report_stages.rows((one, other), is_tail=is_tail))
        assert rows["RX"] == ["1.50 µs", "–"]
        assert rows["application"] == ["3 µs", "3 µs"]
        assert rows["EPoll"] == ["9 µs", "9 µs"]


def test_cost_and_gap_are_measured_not_assumed() -> None:
    column = finding_and_breakdown()[1].columns[-1]
    assert column.cost.p99 == pytest.approx(1.1)
    assert column.cost.cpu == pytest.approx(9 / 8)
    assert column.cost.pairs == 2
    assert {gap.q: gap.wire_ns - gap.server_ns for gap in column.gaps} == {
        0.5: pytest.approx(5e3),
        0.99: pytest.approx(5e3),
    }


def test_a_trace_that_does_not_believe_itself_gives_no_numbers() -> None:
    finding, breakdown = finding_and_breakdown(verdict="unknown", reason="3 % of the requests")
    assert finding.verdict is Verdict.UNKNOWN
    assert all(not c.stages and c.mean_ns is None for c in breakdown.columns)
    assert any("3 % of the requests" in reason for reason in finding.reasons)


def test_where_only_the_client_doubts_itself_the_stages_are_shown_as_doubtful() -> None:
    study = spec.load("breakdown", profile="quick", overrides=["run.fractions=[0.9]"])
    points = [o for o in play(study, Simulated().measure, PLANS) if o.point.service == "memcached"]
    doubted = tuple(
        measured(replace(o, verdict=Verdict.UNKNOWN, reasons=("client stopped: a lot",)))
        if o.point.phase is Phase.TRACE
        else Measured(outcome=o)
        for o in points
    )
    data, service = (
        StudyData(study=study, measured=doubted, questions=PLANS),
        study.service("memcached"),
    )
    finding = find(data, service, answers())
    assert finding.verdict is Verdict.UNKNOWN
    for column in breakdown_of(finding).columns:
        assert column.verdict is Verdict.UNKNOWN
        assert column.reasons == ("client stopped: a lot",)
        assert column.mean_ns == pytest.approx(10e3)


def test_the_papers_columns_stand_beside_ours() -> None:
    rows = {(row[0], row[3]): row for row in finding_and_breakdown()[0].paper}
    assert len([key for key in rows if key[1] == "L12"]) == 4
    assert "(90 % load)" in rows["stages loaded at 100 %, mean µs", "L12"][2]  # says which is ours
    _, others, ours, _ = rows["stages unloaded, mean µs", "L12"]
    assert "EPoll 3.9" in others
    assert "total 21.5" in others
    assert "EPoll 9" in ours
    assert "total 15" in ours


def test_the_report_shows_all_of_it() -> None:
    finding, breakdown = finding_and_breakdown()
    bars, overview = figures.draw(finding)
    assert bars.chart is not None
    sides = [(row[0], row[1]) for row in bars.table.rows[:: len(STAGES)]]
    assert sides[:2] == [("unloaded", "all"), ("unloaded", "≥ p99")]  # side by side
    assert len(sides) == 10
    requests = {row[1]: row[2] for row in bars.table.rows}
    assert requests == {"all": 2000, "≥ p99": 20}  # two restarts
    assert len(overview.table.rows) == 5
    text = "\n".join(report_stages.lines(breakdown, 80))
    assert "× 1.10" in text
    assert max(map(len, text.splitlines())) <= 80
    mean_rows = dict(report_stages.rows(report_stages.known(breakdown)))
    assert mean_rows["EPoll"] == ["9 µs"] * 5
    assert mean_rows["CPU kernel"] == ["80 %"] * 5  # L11
    assert mean_rows["gap p50"] == ["5 µs"] * 5
    assert mean_rows["gap p99"] == ["5 µs"] * 5
    assert "windows" not in mean_rows  # every request was traced
    tail_rows = dict(report_stages.rows(report_stages.known(breakdown), is_tail=True))
    assert tail_rows["queuing"] == ["60 %"] * 5
    assert "client p99" not in tail_rows
