"""Beside a neighbour and alone: intervals, where a tail breaks, and the words for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sojourn import analysis, spec
from sojourn.analysis.testing import measured
from sojourn.findings.findings import Findings
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import Planner
from sojourn.plan.points import Phase, Point, Verdict
from sojourn.plan.setting import NEIGHBOUR, Setting
from sojourn.questions import PLANS, answers, parts
from sojourn.questions.beside import interference
from sojourn.questions.beside.costs import BesideSection
from sojourn.questions.beside.interference import Break, Number, Row
from sojourn.questions.beside.judge import Paces, _mean_pace, _pace_by_load, shared_loads
from sojourn.questions.beside.words import pace_words
from sojourn.report import text
from sojourn.samples.pace import Pace
from sojourn.stats.interval import Interval
from sojourn.stats.testing import mg1

CAPACITY_RPS = 10_000.0
EXTRA_NS = {0.1: 5e3, 0.3: 5e3, 0.6: 3e6}  # what the neighbour costs a request, by load


def row(load: float, state: interference.State, ratio: float = 1.0) -> Row:
    return Row(
        load=load,
        rps=0.0,
        alone_ns=1.0,
        beside_ns=ratio,
        ratio=Number(ratio),
        mean_ns=None,
        tail_ns=None,
        kept=None,
        state=state,
    )


@pytest.mark.parametrize(
    ("states", "lo", "hi"),
    [
        (["alone", "alone", "alone"], 0.6, math.inf),
        (["alone", "departed", "alone"], 0.1, 0.3),
        (["alone", "open", "departed"], 0.1, 0.6),
        (["departed", "departed", "departed"], 0.0, 0.1),
        (["open", "alone", "alone"], 0.0, math.inf),
    ],
)
def test_a_tail_breaks_between_what_is_surely_as_alone_and_what_surely_is_not(
    states: list[interference.State], lo: float, hi: float
) -> None:
    rows = [row(load, state) for load, state in zip((0.1, 0.3, 0.6), states, strict=True)]
    assert interference.breaks(rows) == Break(lo=lo, hi=hi, most=0.6)


def test_a_load_that_could_not_be_compared_ends_the_row() -> None:
    gap = replace(row(0.3, "open"), ratio=None)
    result = interference.breaks([row(0.1, "alone"), gap, row(0.6, "alone")])
    assert result == Break(lo=0.1, hi=math.inf, most=0.6)


def test_one_break_is_before_another_only_where_they_cannot_be_the_other_way() -> None:
    assert Break(0.0, 0.1, 0.6).is_before(Break(0.1, 0.3, 0.6))
    assert not Break(0.0, 0.3, 0.6).is_before(Break(0.1, 0.6, 0.6))
    assert Break(0.3, 0.6, 0.6).is_before(Break(0.6, math.inf, 0.6))


def test_the_interval_of_a_difference_covers_it_as_often_as_it_says() -> None:
    rng, hits = np.random.default_rng(3), 0
    for _ in range(400):
        a, b = rng.normal(30.0, 2.0), rng.normal(20.0, 1.0)
        count = interference.difference(
            Number(a, Interval(a - 3.92, a + 3.92)), Number(b, Interval(b - 1.96, b + 1.96))
        )
        assert count is not None
        assert count.interval is not None
        hits += count.interval.lo <= 10.0 <= count.interval.hi
    assert hits / 400 == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 400))


def test_what_was_lost_has_departed_and_what_cannot_be_compared_is_open() -> None:
    lost = interference.quotient(Number(math.inf), Number(5.0))
    assert interference.state(lost) == "departed"
    assert interference.quotient(Number(5.0), Number(math.inf)) is None
    one_start = Number(math.inf, Interval(100.0, math.inf))  # of three, that lost requests
    assert (
        interference.state(interference.quotient(one_start, Number(100.0, Interval(90.0, 110.0))))
        == "open"
    )
    assert interference.state(Number(3.0)) == "open"  # without an interval
    assert interference.over_blocks([0.9]) == Number(0.9)


def test_a_load_that_is_more_than_is_served_beside_the_neighbour_has_departed() -> None:
    findings = played("context_switch", [])
    alone, other = (service.points[0] for service in findings.services)
    overloaded = replace(other, is_overloaded=True, is_believed=False)
    one = interference.row(alone, overloaded, 0.99, [])
    assert (one.state, one.beside_ns) == ("departed", math.inf)
    assert interference.row(overloaded, overloaded, 0.99, []).state == "open"


def played(
    name: str,
    policies: list[str],
    *,
    pace: Mapping[float, float] | None = None,
    doubted: tuple[str, float] = ("", 0.0),
) -> Findings:
    """A study of the lab beside a neighbour that costs `EXTRA_NS` a request.

    Args:
        name: of the study.
        policies: settings.
        pace: the neighbour's by load, where it is not 0.9.
        doubted: policy and load of the runs beside the neighbour that are not believed.
    """
    sets = ["run.fractions=[0.1,0.3,0.6]", "run.repeats=1", "aa=false"]
    key = "services.memcached.knobs.policy"
    varied = [f"{key}={','.join(policies)}"] if policies else []
    study = spec.load(name, profile="quick", overrides=sets, varied=varied, asks=PLANS.mistakes)
    rng = np.random.default_rng(5)
    done: list[Measured] = []
    planner = Planner(study, PLANS)
    while point := planner.next([one.outcome for one in done]):
        if point.offered_rps is None:
            times = rng.exponential(16e9 / CAPACITY_RPS, 2_000)
            done.append(measured(point, times))
            continue
        rho = point.offered_rps / CAPACITY_RPS
        times = mg1(rng, min(rho, 0.9), 6_000) * 1e9 / CAPACITY_RPS
        is_beside = str(point.setting.get(NEIGHBOUR, "none")) != "none"
        policy = str(point.setting.get("services.memcached.knobs.policy", ""))
        is_retained = policy != "fifo:1"
        if is_beside:
            times = times + (EXTRA_NS[point.fraction or 0.1] if is_retained else 5e3)
        is_doubted = is_beside and (policy, point.fraction) == doubted
        one = measured(point, times, seconds=2)
        if is_doubted:
            doubt = replace(one.outcome, verdict=Verdict.UNKNOWN, reasons=("late: 7 %",))
            one = replace(one, outcome=doubt)
        did = Pace(
            called="noise",
            unit="ops",
            per_s=10.0 * (pace or {}).get(point.fraction or 0.0, 0.9),
            error_per_s=None,
            alone_per_s=10.0,
            alone_error_per_s=None,
            asked_per_s=None,
            seconds=2,
        )
        others = (("kworker", 0.02), ("tiny", 0.0001))
        done.append(replace(one, pace=did if is_beside else None, others=others))
    data = StudyData(study=study, measured=tuple(done), workers={"memcached": 1}, questions=PLANS)
    return analysis.study(data, answers())


def test_of_one_setting_the_answer_is_what_a_request_takes_more() -> None:
    findings = played("context_switch", [])
    section = findings.section(BesideSection)
    assert section is not None
    (one,) = section.found
    assert one.breaks == Break(lo=0.3, hi=0.6, most=0.6)
    for row in one.rows[:2]:
        assert row.mean_ns is not None
        assert row.mean_ns.interval is not None
        assert row.mean_ns.interval.lo <= EXTRA_NS[row.load] <= row.mean_ns.interval.hi
    assert findings.answer.startswith("Beside noise:cpu@100%,where=server memcached takes ")
    assert "between 30 % and 60 % load (neighbour kept 90 % (one block))" in findings.answer
    assert "kworker 2 % of their time" in findings.answer
    assert "tiny" not in findings.answer
    assert any(id_ == "L17" and "−2.8 µs" in others for _, others, _, id_ in section.paper)


def test_of_several_settings_the_answer_is_where_each_breaks() -> None:
    findings = played("square_wave", ["other", "fifo:1"])
    section = findings.section(BesideSection)
    assert section is not None
    other, fifo = section.found
    assert other.breaks.is_before(fifo.breaks)
    assert "other between 30 % and 60 % load" in findings.answer
    assert (
        '"fifo:1" not up to 60 % load' in findings.answer or "fifo:1 not up to" in findings.answer
    )
    message = text(findings, parts())
    assert message.startswith("FIFO keeps p95 up to 60 % load")
    assert "p95 between 30 % and 60 % load" in " ".join(message.split())


def test_the_neighbour_s_pace_is_compared_over_the_loads_that_all_settings_have() -> None:
    """It has the same pace under both settings, and under one no valid run at the highest load."""
    findings = played("square_wave", ["other", "fifo:1"], pace={0.6: 0.3}, doubted=("fifo:1", 0.6))
    section = findings.section(BesideSection)
    assert section is not None
    assert [one.kept and one.kept.value for one in section.found] == pytest.approx([0.9, 0.9])
    highest = [row.kept for one in section.found for row in one.rows if row.load == 0.6]
    assert [kept.value for kept in highest if kept] == pytest.approx([0.3]), "each has its own"
    assert "mean over 10 %, 30 % load; at 60 % a block has no valid run" in findings.answer


def test_a_load_that_one_block_of_one_setting_lacks_is_in_no_mean() -> None:
    paces: list[Paces] = [
        {0.1: {0: 0.9, 1: 0.9}, 0.3: {0: 0.8, 1: 0.8}, 0.6: {0: 0.3, 1: 0.3}},
        {0.1: {0: 0.9, 1: 0.9}, 0.3: {0: 0.8, 1: 0.8}, 0.6: {1: 0.3}},
        {},  # of one neighbour nothing is known
    ]
    shared = shared_loads(paces)
    assert shared == [0.1, 0.3]
    means = [_mean_pace(one, shared) for one in paces]
    assert [mean and mean.value for mean in means] == [pytest.approx(0.85)] * 2 + [None]
    assert shared_loads([{0.1: {0: 0.9}}, {0.3: {0: 0.9}}]) == []
    assert list(pace_words([], [0.1, 0.3])) == [
        "The neighbour's pace has no mean: no load has a valid run in every block."
    ]


def test_a_study_without_anybody_beside_has_no_such_section() -> None:
    study = spec.load("latency_vs_load", profile="quick")
    assert (
        analysis.study(StudyData(study=study, measured=(), questions=PLANS), answers()).section(
            BesideSection
        )
        is None
    )
    assert Measured.__dataclass_fields__["others"].default is None


def test_what_was_kept_is_of_believed_runs_and_of_no_twin() -> None:
    def run(block: int, value: float, verdict: Verdict = Verdict.HOLDS, **more: bool) -> Any:
        point = Point(
            key="k",
            service="s",
            phase=Phase.SWEEP,
            offered_rps=1e3,
            fraction=0.3,
            measure_s=1.0,
            warmup_s=0.0,
            seed=1,
            repeat=block,
            setting=Setting.of(load=0.3, **more),
        )
        did = SimpleNamespace(kept=value)
        return SimpleNamespace(outcome=SimpleNamespace(point=point, verdict=verdict), pace=did)

    runs = [run(0, 0.5), run(0, 0.9, twin=True), run(1, 0.1, Verdict.UNKNOWN), run(2, 0.6)]
    part: Any = SimpleNamespace(
        spec=SimpleNamespace(label="s"), data=SimpleNamespace(of=lambda _: runs)
    )
    assert _pace_by_load(part) == {0.3: {0: 0.5, 2: 0.6}}
