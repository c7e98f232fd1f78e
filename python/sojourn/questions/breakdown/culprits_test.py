"""Culprits of several runs together: sums by hand."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn.findings.measured import Measured
from sojourn.plan.points import Outcome, Phase, Point, Verdict
from sojourn.questions.breakdown import culprits
from sojourn.questions.breakdown.findings import Culprits
from sojourn.questions.breakdown.testing import XZ, trace
from sojourn.samples.traced import Blame, Folded

QUEUE = "queuing behind other requests (thread_busy)"


def suspect(about: str, tail_ns: float, body_ns: float, **more: Any) -> dict[str, Any]:
    usual = {"kind": "task", "share": 0.5, "share_low": 0.4, "is_named": False}
    return {**usual, "about": about, "tail_mean_ns": tail_ns, "body_mean_ns": body_ns, **more}


def blame(tail: int, tail_ns: float, *suspects: dict[str, Any], **more: Any) -> Blame:
    """A run whose 900 other requests take 10 µs each; of the tail's excess a tenth is unknown."""
    usual = {
        "q": 0.99,
        "tail_requests": tail,
        "body_requests": 900,
        "tail_mean_ns": tail_ns,
        "body_mean_ns": 10e3,
        "verdict": "holds",
        "reasons": (),
        "suspects": suspects,
        "answer": "p99: as the tracer says",
        "unexplained_share": 0.1,
    }
    return Blame.model_validate({**usual, **more})


def pooled(*blames: Blame, stacks: Folded = ()) -> Culprits:
    point = Point(
        key="m/trace/b0/loaded-f0.90/with",
        service="m",
        phase=Phase.TRACE,
        offered_rps=1.0,
        measure_s=1.0,
        warmup_s=0.0,
        seed=1,
    )
    outcome = Outcome(
        point=point,
        verdict=Verdict.HOLDS,
        reasons=(),
        offered_rps=1.0,
        achieved_rps=1.0,
        requests=1,
        over_bound=None,
        lost=0,
        mean_ns=1.0,
        p50_ns=1.0,
        p95_ns=1.0,
        p99_ns=1.0,
        correlation=1.0,
        wall_s=1.0,
        folder="",
    )
    runs = [
        Measured(outcome=outcome, traced=trace(1.0).model_copy(update={"blame": b}), stacks=stacks)
        for b in blames
    ]
    result = culprits.pooled(runs)
    assert result is not None
    return result


def test_one_run_keeps_the_tracers_own_sentence() -> None:
    result = pooled(blame(100, 110e3, suspect(XZ, 80e3, 0.0, is_named=True)))
    assert result.answer == "p99: as the tracer says"
    assert (result.runs, result.requests, result.others) == (1, 100, 900)


def test_times_are_means_over_all_requests_and_shares_are_of_all_the_excess() -> None:
    result = pooled(
        blame(300, 110e3, suspect(XZ, 80e3, 8e3, share=0.72, is_named=True, share_low=0.6)),
        blame(100, 210e3, suspect(XZ, 40e3, 0.0, share=0.2, is_named=True, share_low=0.1)),
    )
    [xz] = result.suspects
    assert (result.tail_ns, result.body_ns) == (135e3, 10e3)  # (300 x 110 + 100 x 210) / 400
    assert (xz.tail_ns, xz.body_ns) == (70e3, 4e3)
    # 72 µs in 300 requests and 40 µs in 100, of 100 µs in 300 and 200 µs in 100.
    assert xz.share == pytest.approx(25.6 / 50)
    assert (xz.share_low, xz.named, xz.is_named) == (0.1, 2, True)  # the least of the runs
    # A tenth of 100 µs in 300 requests and of 200 µs in 100: 12.5 of 125 µs.
    assert result.unexplained_share == pytest.approx(0.1)
    assert result.answer == (f"p99: 51 % of the excess is {XZ} (in 2 of 2 runs), 10 % unexplained")


def test_who_strikes_one_restart_of_three_is_not_named_and_may_be_nothing() -> None:
    struck = blame(100, 110e3, suspect(XZ, 90e3, 0.0, share=0.9, is_named=True))
    queue = suspect(QUEUE, 60e3, 0.0, kind="stage", share=0.6)
    result = pooled(struck, blame(100, 110e3, queue), blame(100, 110e3, queue))
    by = {s.about: s for s in result.suspects}
    assert not by[XZ].is_named
    assert by[XZ].share_low == 0.0  # runs without it hold none of it
    assert by[XZ].share == pytest.approx(0.3)
    assert by[XZ].tail_ns == 90e3  # where it is listed
    assert result.answer == (
        "p99: no suspect is to blame in 3 runs: these requests take 100 µs longer, "
        f"of it 40 % {QUEUE}"
    )


def test_several_tasks_none_of_which_is_named_are_counted() -> None:
    both = [
        suspect(f"run-queue delay behind `{name}`", 30e3, 0.0, share=share)
        for name, share in (("a", 0.3), ("b", 0.3), ("c", 0.0))
    ]
    result = pooled(blame(100, 110e3, *both), blame(100, 110e3, *both))
    assert result.answer == (
        "p99: no single task can be named in 2 runs: "
        "these requests take 100 µs longer, of it 60 % run-queue delay behind 2 tasks"
    )


def test_a_run_that_is_not_believed_names_no_one() -> None:
    unsure = blame(5, 110e3, verdict="unknown", reasons=("5 requests of the tail are too few",))
    sure = blame(100, 110e3, suspect(XZ, 80e3, 0.0, is_named=True))
    assert pooled(unsure, sure).runs == 1
    result = pooled(unsure)
    assert result.verdict is Verdict.UNKNOWN
    assert result.suspects == ()
    assert "too few" in result.answer


def test_a_suspect_that_a_run_does_not_list_keeps_its_times() -> None:
    """The tracer lists by share: what takes as long in all requests is left out."""
    usual = suspect("TCP/IP", 30e3, 29e3, kind="stage", share=0.01)
    result = pooled(blame(100, 110e3, usual), blame(300, 110e3))
    [stage] = result.suspects
    assert (stage.tail_ns, stage.body_ns) == (30e3, 29e3)
    assert stage.share == pytest.approx(0.0025)  # of the excess of both


def test_one_believed_run_of_three_names_no_one() -> None:
    unsure = blame(5, 110e3, verdict="unknown", reasons=("5 requests of the tail are too few",))
    sure = blame(100, 110e3, suspect(XZ, 80e3, 0.0, share=0.8, is_named=True))
    result = pooled(unsure, sure, unsure)
    assert (result.runs, result.suspects[0].named, result.suspects[0].is_named) == (1, 1, False)
    assert result.answer == (
        "p99: no suspect is to blame in more than half of 3 runs (1 could be asked): "
        "these requests take 100 µs longer, of it 80 % run-queue delay behind one task"
    )
    two = pooled(unsure, sure, sure)
    assert two.suspects[0].is_named
    assert f"80 % of the excess is {XZ} (in 2 of 3 runs)" in two.answer


def test_a_doubt_of_another_run_is_not_why_the_slowest_are_no_slower() -> None:
    unsure = blame(5, 110e3, verdict="unknown", reasons=("5 requests of the tail are too few",))
    result = pooled(unsure, blame(100, 9e3))
    assert result.verdict is Verdict.UNKNOWN
    assert result.answer == "p99: no suspect can be named: they take no longer than the others"


def test_stacks_of_all_runs_are_added() -> None:
    sure = blame(100, 110e3)
    result = pooled(sure, replace_q(sure), stacks=((("p99", "m", "works"), 5.0),))
    assert result.stacks == ((("p99", "m", "works"), 10.0),)


def replace_q(of: Blame) -> Blame:
    return of.model_copy(update={"tail_requests": 50})


def test_no_one_was_asked_for() -> None:
    assert culprits.pooled([]) is None


def test_a_task_is_named_with_its_threads_and_the_services_own_ones_change_with_each_start() -> (
    None
):
    named = {"is_named": True}
    runs = [
        blame(10, 110e3, suspect(XZ, 50e3, 0.0, tids=tids, **named))
        for tids in ((12, 34), (12,), (56,))
    ]
    result = pooled(*runs)
    (xz,) = result.suspects
    assert (xz.tids, xz.who) == ((12, 34, 56), f"{XZ}, threads 12, 34, 56")
    assert f"50 % of the excess is {XZ}, threads 12, 34, 56 (in 3 of 3 runs)" in result.answer
    own = "run-queue delay behind `memcached` (its own process)"
    for about, kind, tids, wanted in (
        (XZ, "task", (12,), f"{XZ}, thread 12"),
        (XZ, "task", (1, 2, 3, 4, 5), f"{XZ}, threads 1, 2, 3 and 2 more"),
        (XZ, "task", (), XZ),
        (own, "task", (12,), own),
        ("soft-IRQ NET_RX on its CPU", "softirq", (12,), "soft-IRQ NET_RX on its CPU"),
    ):
        (one,) = pooled(blame(10, 110e3, suspect(about, 50e3, 0.0, kind=kind, tids=tids))).suspects
        assert one.who == wanted
