"""Services in turn, from plan to page, with made-up outcomes."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from sojourn import analysis, report
from sojourn.findings.findings import Findings
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import next_point
from sojourn.plan.points import Course, Outcome, Phase, Point, Verdict
from sojourn.plan.setting import RATE
from sojourn.plan.simulated import play
from sojourn.questions import PLANS, answers, parts
from sojourn.questions.compare import block_runs, plan
from sojourn.questions.compare.compared import Compared
from sojourn.report import page
from sojourn.spec import Study, form
from sojourn.spec.sides import study_of
from sojourn.stats.gate_rule import Ruling
from sojourn.stats.paired_ratio import Judgement

Factor = Callable[[random.Random, str, int], float]  # of a run's times: lot, label, block


def asked(*, sides: int = 2, **compare: Any) -> Study:
    each = [{"kind": "memcached", "params": {"threads": n + 1}} for n in range(sides)]
    return study_of(each, rate="10k", compare={"blocks": 40, **compare})


def outcome(point: Point, factor: float, **changes: Any) -> Outcome:
    """A run whose times are a factor of the usual."""
    times = {name: scale * factor for name, scale in (("mean_ns", 1e5), ("p50_ns", 8e4),
             ("p95_ns", 3e5), ("p99_ns", 5e5), ("p999_ns", 9e5), ("cpu_ns", 2e4))}  # fmt: skip
    return Outcome(
        **{
            "point": point,
            "verdict": Verdict.HOLDS,
            "reasons": (),
            "offered_rps": point.offered_rps or 2e4,
            "achieved_rps": point.offered_rps or 2e4,
            "requests": 20_000,
            "over_bound": None,
            "lost": 0,
            "correlation": 1.0,
            "wall_s": 2.5,
            "folder": "",
            **times,
            **changes,
        }
    )


def played(study: Study, factor: Factor, most: int = 400) -> list[Outcome]:
    """The whole study, each run with a factor of its own."""
    lot = random.Random(1)  # noqa: S311 - no secret

    def run(point: Point) -> Outcome:
        return outcome(point, factor(lot, point.service, point.repeat))

    return play(study, run, PLANS, stop_after=most)


def found(study: Study, outcomes: list[Outcome]) -> Findings:
    measured = tuple(Measured(outcome=one) for one in outcomes)
    data = StudyData(study=study, measured=measured, questions=PLANS, is_complete=True)
    return analysis.study(data, answers())


def noise(lot: random.Random, spread: float = 0.02) -> float:
    return math.exp(lot.gauss(0, spread))


def section(findings: Findings) -> Compared:
    compared = findings.section(Compared)
    assert compared is not None
    return compared


def test_each_block_has_every_service_once_in_an_order_of_its_own() -> None:
    study = asked(sides=3, blocks=12)
    done = played(study, lambda lot, _, __: noise(lot, 0.5))
    assert {one.point.phase for one in done} == {block_runs.PHASE}  # rates are given: no max RPS
    labels = [one.point.service for one in done]
    blocks = [tuple(labels[at : at + 3]) for at in range(0, len(labels), 3)]
    assert len(blocks) == 12
    assert {frozenset(block) for block in blocks} == {frozenset("abc")}
    assert len(set(blocks)) > 2
    assert len({one.point.life for one in done}) == len(done)  # a restart each
    assert {one.point.setting[RATE] for one in done} == {10_000.0}


def test_a_slower_service_is_found_and_the_study_ends_early() -> None:
    study = asked()
    done = played(study, lambda lot, label, _: noise(lot) * (1.3 if label == "b" else 1))
    assert len(done) < 2 * 40
    findings = found(study, done)
    compared = section(findings)
    assert {row.judgement for row in compared.rows} == {Judgement.WORSE}
    assert findings.verdict is Verdict.VIOLATED
    assert "b is worse than a: mean 1.29 times" in findings.answer
    assert findings.state.text.startswith("answered")


def test_equal_services_do_not_differ_and_a_faster_one_is_better() -> None:
    study = asked()
    same = found(study, played(study, lambda lot, _, __: noise(lot, 0.005)))
    assert {row.judgement for row in section(same).rows} == {Judgement.SAME}
    assert same.verdict is Verdict.HOLDS
    fast = found(study, played(study, lambda lot, lab, _: noise(lot) / (2 if lab == "b" else 1)))
    assert "b is better than a" in fast.answer
    assert fast.verdict is Verdict.HOLDS


def test_what_cannot_be_told_says_what_it_would_take() -> None:
    study = asked(blocks=10)
    findings = found(study, played(study, lambda lot, _, __: noise(lot, 0.2)))
    assert findings.verdict is Verdict.UNKNOWN
    assert "cannot be decided" in findings.answer
    assert any("to see a change of 5 %" in why and "blocks" in why for why in findings.reasons)


def test_a_gate_alarms_only_after_fresh_blocks() -> None:
    study = asked(gate=True, max_regression=0.05)

    def slower(lot: random.Random, label: str, _: int) -> float:
        return noise(lot) * (1.3 if label == "b" else 1)

    compared = section(found(study, played(study, slower)))
    assert compared.ruling is Ruling.REGRESSION
    assert compared.verdict is Verdict.VIOLATED
    assert compared.first_alarm is not None
    assert compared.blocks > compared.first_alarm

    def at_first(lot: random.Random, label: str, block: int) -> float:
        return noise(lot, 0.005) * (1.3 if label == "b" and block < 10 else 1)

    gone = section(found(study, played(study, at_first)))
    assert (gone.ruling, gone.verdict) == (Ruling.OPEN, Verdict.UNKNOWN)
    assert "fresh blocks did not confirm it" in gone.answer
    fine = section(found(study, played(study, lambda lot, _, __: noise(lot, 0.01))))
    assert (fine.ruling, fine.verdict) == (Ruling.FINE, Verdict.HOLDS)


def test_an_invalid_run_is_made_again_and_a_block_without_one_is_left_out() -> None:
    study = asked(blocks=9)

    def run(point: Point) -> Outcome:
        is_bad = point.repeat == 2 and point.service == "b"
        verdict = Verdict.UNKNOWN if is_bad else Verdict.HOLDS
        return outcome(point, 1.0 + 0.5 * point.repeat, verdict=verdict)

    done = play(study, run, PLANS)
    tried = [one for one in done if one.point.repeat == 2 and one.point.service == "b"]
    assert len(tried) == 1 + study.run.retries
    assert section(found(study, done)).blocks == 8


def test_a_queue_that_grows_is_endless_and_cpu_time_that_is_not_counted_is_missing() -> None:
    study = asked(blocks=12)

    def run(point: Point) -> Outcome:
        grows = Course.GROWS if point.service == "b" else Course.STEADY
        return outcome(point, 1.0, course=grows, cpu_ns=None)

    done = play(study, run, PLANS)
    compared = section(found(study, done))
    rows = {row.number: row for row in compared.rows}
    assert rows["p99"].judgement is Judgement.WORSE
    assert rows["p99"].ratio == math.inf
    assert compared.verdict is Verdict.VIOLATED, "its shield is not known, and not another one"
    assert (rows["CPU per request"].ratio, rows["CPU per request"].pairs) == (None, 0)
    text = report.text(found(study, done), parts(), 100)
    assert "∞ times" in text
    assert "–" in text


def test_the_page_and_the_terminal_show_every_number() -> None:
    study = asked(blocks=8)
    findings = found(study, played(study, lambda lot, _, __: noise(lot, 0.1)))
    html = page.html(findings, of_services={s.service: () for s in findings.services}, of_study=())
    text = report.text(findings, parts(), 100)
    for shown in (html, text):
        for number in ("mean", "p50", "p99", "CPU per request"):
            assert number in shown


def test_nothing_is_compared_where_nothing_was_measured() -> None:
    study = asked()
    findings = found(study, [])
    assert findings.section(Compared) is None
    assert findings.unanswered == (plan.NAME,)


def test_one_service_alone_is_planned_without_the_others() -> None:
    """As a machine is checked before anything runs."""
    whole = asked()
    alone = whole.model_copy(update={"services": whole.services[1:]})
    point = next_point(alone, [], PLANS)
    assert point is not None
    assert (point.service, point.phase) == ("b", block_runs.PHASE)


@pytest.mark.parametrize(
    ("compare", "word"),
    [
        ({"services": ["a"]}, "two to 8"),
        ({"services": ["a", "a"]}, "two to 8"),
        ({"services": ["a", "c"]}, "no service 'c'"),
        ({"alpha": 0.0}, "greater than 0"),
        ({"numbers": []}, "at least one"),
        ({"numbers": ["p42"]}, "mean"),
    ],
)
def test_a_table_that_is_wrong_is_refused(compare: dict[str, Any], word: str) -> None:
    with pytest.raises((ValidationError, ValueError), match=word):
        asked(**compare)


def test_a_gate_of_three_and_factors_are_refused() -> None:
    with pytest.raises(ValueError, match="two services"):
        asked(sides=3, gate=True)
    table = asked().model_dump(by_alias=True)
    table["factors"] = {"services.a.params.threads": [1, 2]}
    with pytest.raises(ValueError, match="no factors"):
        form.current().study.model_validate(table)


def test_without_rates_the_load_is_a_share_of_the_lower_max_rps() -> None:
    study = study_of(
        [{"kind": "memcached"}, {"kind": "memcached"}], rate="", compare={"blocks": 8, "load": 0.5}
    )

    def run(point: Point) -> Outcome:
        rps = 3e4 if point.service == "a" else 2e4
        peak = {"achieved_rps": rps} if point.phase is Phase.PEAK else {}
        return outcome(point, 1.0, **peak)

    done = play(study, run, PLANS)
    loads = {one.offered_rps for one in done if one.point.phase is block_runs.PHASE}
    assert loads == {1e4}
    assert replace(done[0]).point.phase is Phase.PEAK


def test_unlike_shields_are_not_compared() -> None:
    study = asked(blocks=12)

    def run(point: Point) -> Outcome:
        shield = "none" if point.service == "b" else "priority"
        return outcome(point, 2.0 if point.service == "b" else 1.0, shield=shield)

    done = play(study, run, PLANS)
    compared = section(found(study, done))
    assert compared.verdict is Verdict.UNKNOWN
    assert compared.reasons == (
        "the services ran under unlike shields (a priority, b none); compare with --no-shield",
    )


def test_no_run_begins_when_the_time_is_over() -> None:
    study = study_of([{"kind": "memcached"}] * 2, rate="10k", compare={"blocks": 40}, budget_s=25.0)
    done = played(study, lambda lot, _, __: noise(lot, 0.5))
    assert len(done) == 10  # of 2.5 s each


@pytest.mark.parametrize(
    ("scatter", "why"), [(0.2, "a change of 5 %"), (9.0, "half of the change")]
)
def test_an_open_answer_says_how_to_take_longer(scatter: float, why: str) -> None:
    study = asked(blocks=8)
    findings = found(study, played(study, lambda lot, _, __: noise(lot, scatter)))
    typed = replace(findings, command="sojourn compare --within 2m --rate 10k")
    settle, known = answers()[plan.NAME].settle(typed), section(findings)
    assert settle is not None
    assert settle.why == f"see {why}"
    blocks = [row.blocks_for for row in known.rows]
    most = max(map(int, filter(None, blocks)), default=0) if all(blocks) else 4 * known.blocks
    assert settle.seconds == pytest.approx(most * known.block_s)
    length_s = math.ceil(settle.seconds)
    assert settle.command == f"sojourn compare --within {length_s}s --rate 10k"
    assert answers()[plan.NAME].settle(findings) is None


def test_a_number_that_is_open_beside_one_that_is_worse_asks_for_more_time() -> None:
    study = asked(blocks=12, numbers=["cpu", "p99"])
    done = [
        replace(one, p99_ns=(one.p99_ns or 0) * (4.0 if number % 3 else 0.3))
        for number, one in enumerate(played(study, lambda lot, lab, _: noise(lot) *
                                            (1.3 if lab == "b" else 1)))
    ]  # fmt: skip
    measured = tuple(Measured(outcome=one) for one in done)
    data = StudyData(study=study, measured=measured, questions=PLANS, is_complete=True,
                     command="sojourn compare --within 2m --rate 10k")  # fmt: skip
    findings = analysis.study(data, answers())
    assert {row.judgement for row in section(findings).rows} == {Judgement.WORSE, Judgement.OPEN}
    settle = findings.state.settle
    assert settle is not None
    assert re.fullmatch(r"sojourn compare --within \d+s --rate 10k", settle.command)


@pytest.mark.parametrize("gate", [False, True])
def test_what_is_clear_stays_clear(gate: bool) -> None:  # noqa: FBT001
    """So the plan looks once after each block, and not again at all blocks before."""
    study = asked(gate=gate, blocks=24)
    points = [one.point for one in played(study, lambda lot, _, __: noise(lot, 0.3))]
    for worse in (1.0, 1.3):
        lot = random.Random(3)  # noqa: S311 - no secret
        outcomes = [outcome(p, noise(lot) * (worse if p.service == "b" else 1)) for p in points]
        clear = [block_runs.is_clear(study, outcomes, block) for block in range(25)]
        assert clear == sorted(clear), worse
        assert not clear[0]
        assert clear[-1]
