"""A whole study: the answer, the unknowns, and that nothing is averaged or dropped in silence."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sojourn.analysis import KINDS
from sojourn.analysis.combinations import parts
from sojourn.analysis.service import AXIS_INVALID, headline
from sojourn.analysis.study import GROUPS, study, unlike_cpus
from sojourn.analysis.testing import measured, memcached, run_study, study_of
from sojourn.findings import answer
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.load_point import LoadPoint
from sojourn.findings.measured import Measured, StudyData
from sojourn.findings.section import Section
from sojourn.host import shared, unlike
from sojourn.plan.points import Phase, Verdict, worst
from sojourn.stats.times import merge
from sojourn.testing_questions import answers

LATE = "the client was late: 91 % timely, 97.5 % needed"


@pytest.fixture(scope="module")
def played() -> StudyData:
    asked = study_of(memcached(measure=["sweep"]))
    loads = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.2)
    changes = {"fractions": loads, "repeats": 2, "measure_s": 4.0}
    asked = asked.model_copy(update={"run": asked.run.model_copy(update=changes)})
    return run_study(asked, capacity_rps=20_000, spread=0.02)


@pytest.fixture(scope="module")
def found(played: StudyData) -> Findings:
    return study(played, answers())


def at(found: Findings, fraction: float) -> LoadPoint:
    return next(p for p in found.services[0].points if abs(p.fraction - fraction) < 1e-9)


def test_the_answer_brackets_the_truth_in_words(found: Findings) -> None:
    """M/M/1 of 20k: p99 = 1 ms at 77 %."""
    assert found.answer.startswith("memcached on 1 thread keeps p99 ≤ 1 ms at ")
    assert "(70 %) and misses it at " in found.answer
    assert "(80 %) of its achieved peak of " in found.answer
    assert found.verdict is Verdict.HOLDS


def test_quantiles_are_those_of_merged_requests(played: StudyData, found: Findings) -> None:
    runs = [m for m in played.measured if m.outcome.point.fraction == 0.5]
    point = at(found, 0.5)
    p99 = next(e for e in point.quantiles if e.q == 0.99)
    assert len(point.runs) == len(runs) == 2
    assert p99.value == merge(m.sojourn for m in runs).quantile(0.99)
    assert p99.requests == sum(m.sojourn.n for m in runs)


def test_the_tail_of_the_queue_lies_in_its_interval(found: Findings) -> None:
    for fraction in (0.1, 0.3, 0.5, 0.6, 0.7):
        p99 = next(e for e in at(found, fraction).quantiles if e.q == 0.99)
        assert p99.interval is not None
        slack = 0.06  # capacity differs by 2 % between restarts, peaks among them
        truth = math.log(100) / (20_000 * (1 - fraction)) * 1e9
        assert p99.interval.lo * (1 - slack) < truth < p99.interval.hi * (1 + slack)


def test_overload_is_unstable_shown_and_not_averaged(found: Findings) -> None:
    point = at(found, 1.2)
    assert point.is_overloaded
    assert point.verdict is Verdict.VIOLATED
    assert not point.is_believed
    assert not point.is_steady
    assert point.reasons[0].startswith("overloaded: the queue grows: p50 rises from ")
    assert point.mean.value is None
    assert len(point.runs) == 2


def test_the_ideal_queue_lies_on_the_measured_one(found: Findings) -> None:
    """The service *is* M/M/1; its axis is its own peak."""
    lines = {line.name: line for line in found.services[0].lines}
    assert set(lines) == {"lowess p99", "lowess mean", "M/M/1 p99", "M/M/1 mean"}
    ideal_line = lines["M/M/1 p99"]
    for fraction in (0.3, 0.5, 0.7):
        p99 = next(e for e in at(found, fraction).quantiles if e.q == 0.99)
        wanted = np.interp(fraction, ideal_line.fraction, ideal_line.value_ns)
        assert p99.value == pytest.approx(wanted, rel=0.25)
    assert ("tail above 1.5 times that of M/M/n", "L4") in {
        (row[0], row[3]) for row in found.services[0].paper
    }


def test_the_papers_figure_is_beside_ours(found: Findings) -> None:
    row = next(r for r in found.services[0].paper if r[3] == "C1, C7")
    assert row[1].startswith("about 70 % of max RPS")
    assert row[2] == "between 70 % and 80 %; the same target; max RPS: closed-loop peak"


def spoil(m: Measured) -> Measured:
    outcome = replace(m.outcome, verdict=Verdict.UNKNOWN, reasons=(LATE,))
    return replace(m, outcome=outcome)


def test_a_run_that_failed_its_self_check_is_shown_and_decides_nothing(played: StudyData) -> None:
    """One run at 90 % is late, and its times would have met the target."""
    low = next(m for m in played.measured if m.outcome.point.fraction == 0.1)
    swept = [m.outcome.point for m in played.measured if m.outcome.point.phase is Phase.SWEEP]
    first = next(p for p in swept if p.fraction == 0.9)
    spoiled = tuple(
        spoil(replace(m, sojourn=low.sojourn, raw_sojourn_ns=low.raw_sojourn_ns))
        if m.outcome.point.cell == first.cell
        else m
        for m in played.measured
    )
    point = at(study(replace(played, measured=spoiled), answers()), 0.9)
    assert [run.is_believed for run in point.runs].count(False) == 1
    assert point.verdict is Verdict.VIOLATED
    p99 = next(e for e in point.quantiles if e.q == 0.99)
    believed = next(run for run in point.runs if run.is_believed)
    assert p99.value == dict(believed.quantiles)[0.99]


def test_a_load_of_which_no_run_is_believed_is_unknown_with_the_reason(played: StudyData) -> None:
    spoiled = tuple(
        spoil(m) if m.outcome.point.phase is Phase.SWEEP else m for m in played.measured
    )
    findings = study(replace(played, measured=spoiled), answers())
    assert findings.verdict is Verdict.UNKNOWN
    assert "unknown" in findings.answer
    for point in findings.services[0].points:
        assert (point.verdict, point.is_believed) == (Verdict.UNKNOWN, False)
        assert LATE in point.reasons
        assert point.mean.value is None
        assert all(e.value is None and e.refused for e in point.quantiles)


def test_max_rps_of_no_valid_run_is_a_name_whatever_the_reasons_say(
    played: StudyData, found: Findings
) -> None:
    spoiled = tuple(spoil(m) if m.outcome.point.phase is Phase.PEAK else m for m in played.measured)
    (named,) = study(replace(played, measured=spoiled), answers()).services
    assert not named.is_axis_valid
    assert named.max_rps is not None
    assert replace(named, reasons=()).highest_rps is None
    (usual,) = found.services
    assert replace(usual, reasons=(*usual.reasons, AXIS_INVALID)).highest_rps == usual.max_rps


def test_a_load_that_got_more_than_the_closed_loop_makes_max_rps_a_bound(
    played: StudyData,
) -> None:
    within = replace(  # above, these runs count what was asked for
        played, measured=tuple(m for m in played.measured if (m.outcome.point.fraction or 0) < 1)
    )
    (usual,) = study(within, answers()).services
    assert usual.served_rps is None

    sweep = [m.outcome for m in within.measured if m.outcome.point.phase is Phase.SWEEP]
    most = max(run.achieved_rps for run in sweep)

    def with_peak(times: float) -> ServiceFinding:
        """As if stolen time had slowed the closed loop."""
        slow = tuple(
            replace(m, outcome=replace(m.outcome, achieved_rps=times * most))
            if m.outcome.point.phase is Phase.PEAK and m.outcome.point.offered_rps is None
            else m
            for m in within.measured
        )
        (found,) = study(replace(within, measured=slow), answers()).services
        return found

    near, far = with_peak(1 / 1.04), with_peak(1 / 1.06)
    assert near.served_rps is None
    assert far.served_rps == most
    (why,) = [reason for reason in far.reasons if reason.startswith("max RPS is at least")]
    assert why not in near.reasons


def test_loads_that_are_all_unknown_above_the_last_that_holds_leave_the_question_open(
    played: StudyData,
) -> None:
    spoiled = tuple(
        spoil(m) if (m.outcome.point.fraction or 0) > 0.5 else m for m in played.measured
    )
    findings = study(replace(played, measured=spoiled), answers())
    assert at(findings, 0.5).verdict is Verdict.HOLDS
    assert findings.verdict is Verdict.UNKNOWN
    assert any("not valid at" in reason for reason in findings.reasons)


def test_lost_requests_make_the_tail_infinite_and_refuse_the_mean(played: StudyData) -> None:
    hurt = []
    for m in played.measured:
        raw = m.raw_sojourn_ns
        if (m.outcome.point.fraction or 0) >= 0.3 and raw is not None:
            times = raw.copy()
            times[::10] = math.inf
            m = measured(m.outcome.point, times, bound_ns=1e6)  # noqa: PLW2901 - the same run, hurt
        hurt.append(m)
    point = at(study(replace(played, measured=tuple(hurt)), answers()), 0.3)
    assert point.verdict is Verdict.VIOLATED
    assert next(e for e in point.quantiles if e.q == 0.99).value == math.inf
    assert point.mean.value is None
    assert "never completed" in point.mean.refused


def test_an_unfinished_study_is_unknown_and_says_how_to_go_on(played: StudyData) -> None:
    findings = study(replace(played, measured=played.measured[:5]), answers())
    assert findings.verdict is Verdict.UNKNOWN
    assert any("run it again" in reason for reason in findings.reasons)


def test_nothing_measured_gives_findings_all_the_same(played: StudyData) -> None:
    findings = study(replace(played, measured=()), answers())
    assert findings.verdict is Verdict.UNKNOWN
    assert findings.services[0].points == ()
    assert "unknown" in findings.answer


def test_every_method_is_in_the_table() -> None:
    package = Path(__file__).parents[1]
    folders = ("analysis", "findings", "papers", "stats")
    texts = [path.read_text() for name in folders for path in (package / name).glob("*.py")]
    named = re.compile(r'^METHOD = Method\(\s*name="(\w+)"', re.MULTILINE)
    assert {kind.name for kind in KINDS} == {name for text in texts for name in named.findall(text)}
    assert all(kind.about and kind.ids and kind.source for kind in KINDS)


def test_the_worst_verdict_is_the_study_s() -> None:
    holds, violated, unknown = Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNKNOWN
    assert worst([holds, violated, unknown]) is unknown
    assert worst([holds, violated]) is violated
    assert worst([holds, holds]) is holds
    assert worst([]) is unknown


def test_a_breakdown_alone_has_its_own_answer(found: Findings) -> None:
    service = found.services[0]
    section = Section(headline="stages", verdict=Verdict.UNKNOWN)
    alone = replace(service, sections={"breakdown": section})
    assert headline(alone, 1) == "stages"
    assert headline(service.having("breakdown", replace(section, verdict=None)), 1) != "stages"
    assert headline(replace(service, sections={}), 1) == answer.headline(service, 1)


def having(data: StudyData, *rows: tuple[str, str]) -> StudyData:
    return replace(data, setups={one.label: rows for one in data.study.services})


def test_a_server_on_unlike_cpus_is_named_in_the_reasons(played: StudyData) -> None:
    of = (shared.KINDS_OF_CPU, "server: 1 of kind 0, 2 of kind 1; client: 1 of kind 1")
    unlike = (shared.UNLIKE.what, shared.UNLIKE.effect)
    mixed = study(having(played, of, unlike), answers())
    assert any(shared.UNLIKE.what in reason for reason in mixed.reasons)
    assert not any("unlike" in reason for reason in study(having(played, of), answers()).reasons)


def test_combinations_on_cpus_of_other_kinds_are_named_as_such(played: StudyData) -> None:
    def of(*kinds: str) -> list[str]:
        (part,) = parts(played)
        rows = [[[shared.KINDS_OF_CPU, kind]] if kind else [] for kind in kinds]
        under = [
            replace(
                having(played, *((what, kind) for what, kind in one)),
                cpu_kinds={part.spec.label: unlike.stored({"setup": one})},
            )
            for one in rows
        ]
        return unlike_cpus([replace(part, data=inputs) for inputs in under])

    fast = "server: 2 of kind 0 (1024 of 1024); client: 1 of kind 0 (1024 of 1024)"
    more = "server: 4 of kind 0 (1024 of 1024); client: 1 of kind 0 (1024 of 1024)"
    slow = "server: 4 of kind 1 (718 of 1024); client: 1 of kind 1 (718 of 1024)"
    apart = "server: 4 of kind 0 (1024 of 1024); client: 1 of kind 1 (718 of 1024)"
    assert of(fast, more) == of("", "") == []
    for other in (slow, apart):
        (reason,) = of(fast, other)
        assert reason.startswith("memcached: combinations ran on unlike CPUs")
        assert other in reason


@pytest.mark.parametrize(("neighbour", "is_reported"), [("none", False), ("spin:server", True)])
def test_the_answer_about_neighbours_names_the_grouping(
    played: StudyData, neighbour: str, *, is_reported: bool
) -> None:
    row = (GROUPS, "own; the scheduler groups the service by control group")
    data = having(played, row)
    beside = replace(data, study=data.study.model_copy(update={"neighbour": neighbour}))
    text = f"Grouping of the tasks: {row[1]}."
    assert (text in study(beside, answers()).answer) is is_reported
