"""Traced runs put together: every number of a column, computed by hand from two runs."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.analysis.testing import memcached as service
from sojourn.analysis.testing import study_of
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import Outcome, Phase, Point, Verdict, traced
from sojourn.plan.setting import Setting
from sojourn.questions import PLANS
from sojourn.questions.breakdown import show, stages
from sojourn.questions.breakdown.findings import Cost, Gap, Stages
from sojourn.questions.breakdown.testing import slowed
from sojourn.samples.traced import TraceResult

LOADED = Setting.of(load=0.9, neighbour="none")
UNLOADED = Setting.of(load=0.01, neighbour="none", connections=1)


def times(mean: float | None, p50: float | None = None) -> dict[str, Any]:
    known = p50 is not None
    return {
        "mean_ns": mean,
        "p50_ns": p50,
        "p95_ns": 2 * p50 if known else None,  # type: ignore[operator]
        "p99_ns": 3 * p50 if known else None,  # type: ignore[operator]
    }


def trace(requests: int, scale: float, **change: Any) -> TraceResult:
    """RX 1, EPoll 3 and a residual of 1 µs; in the tail of a tenth of the requests 1, 8 and 1."""
    names = ("RX", "EPoll", "residual")

    def groups(*each: float) -> list[dict[str, Any]]:
        result = zip(names, each, strict=True)
        return [{"name": n, "mean_ns": scale * ns * 1e3} for n, ns in result]

    shape = {
        "requests": requests + 5,
        "matched": requests,
        "unmatched_share": 0.01 * scale,
        "dropped": 0,
        "verdict": {"verdict": "holds", "reasons": []},
        "answer": "",
        "total": times(scale * 5e3, scale * 4e3),
        "residual": times(scale * 1e3),
        "groups": groups(1, 3, 1),
        "causes": [{"cause": "work", "share": 0.2 * scale}, {"cause": "queuing", "share": 0.1}],
        "tail": {
            "q": 0.99,
            "requests": requests // 10,
            "total": times(scale * 10e3),
            "groups": groups(1, 8, 1),
            "causes": [{"cause": "queuing", "share": 0.7}],
        },
        "cpu": {"user_share": 0.2 * scale, "kernel_share": None, "softirq_share_of_kernel": 0.5},
    }
    return TraceResult.model_validate({**shape, **change})


def run(
    seen: TraceResult | None,
    *,
    p99_ns: float = 30e3,
    verdict: str = "holds",
    reason: str = "",
    rps: float = 9_000.0,
) -> Measured:
    """A traced point (`seen`), or its twin."""
    which = "with" if seen else "without"
    point = Point(
        key=f"s/trace/b0/{which}",
        service="s",
        setting=Setting.of(LOADED, tracer=bool(seen)),
        phase=Phase.TRACE,
        offered_rps=rps,
        fraction=0.9,
        measure_s=1.0,
        warmup_s=0.0,
        seed=1,
    )
    outcome = Outcome(
        point=point,
        verdict=Verdict(verdict),
        reasons=(reason,) if reason else (),
        offered_rps=rps,
        achieved_rps=rps - 1_000 if seen else rps,
        requests=1_000,
        over_bound=None,
        lost=0,
        mean_ns=p99_ns / 4,
        p50_ns=None,
        p95_ns=None,
        p99_ns=p99_ns,
        correlation=1.0,
        wall_s=1.0,
        folder="",
    )
    return Measured(
        outcome=outcome,
        traced=seen,
        cpu_ns_per_request=10e3 if seen else 8e3,
        wire_ns=(("mean", 9e3), ("p99", p99_ns)),
    )


def column(*measured: Measured) -> Stages:
    return stages._column(LOADED, measured)


def test_stages_are_means_over_all_requests_and_quantiles_medians_of_runs() -> None:
    """1,000 requests at 1 and 3,000 at twice that: (1 + 3·2)/4 = 1.75 times."""
    result = column(run(trace(1_000, 1.0)), run(trace(3_000, 2.0)), run(None))
    assert (result.name, result.fraction) == ("90 % load", 0.9)
    assert (result.neighbour, result.is_alone) == ("none", False)
    assert (result.requests, result.runs, result.offered_rps) == (4_000, 2, 9_000)
    assert result.tail_requests == 400
    assert result.unmatched_share == pytest.approx(0.02)
    assert result.stages == (("RX", 1.75e3), ("EPoll", 5.25e3), ("residual", 1.75e3))
    assert result.tail == (("RX", 1.75e3), ("EPoll", 14e3), ("residual", 1.75e3))
    assert (result.mean_ns, result.tail_mean_ns, result.residual_ns) == (8.75e3, 17.5e3, 1.75e3)
    assert result.quantiles == ((0.5, 6e3), (0.95, 12e3), (0.99, 18e3))
    assert dict(result.causes) == pytest.approx({"work": 2.6 / 7, "queuing": 0.1})
    assert dict(result.tail_causes) == pytest.approx({"queuing": 0.7})
    assert dict(result.cpu) == pytest.approx({"user_share": 0.3, "softirq_share_of_kernel": 0.5})
    assert (result.verdict, result.reasons) == (Verdict.HOLDS, ())


def test_a_share_of_a_cause_is_its_time_in_all_runs_over_the_time_of_all_requests() -> None:
    """1,000 requests of 5 µs and 3,000 of 10 µs: 5 and 30 ms; of the tail 1 and 6 ms."""

    def tail(scale: float, share: float) -> dict[str, Any]:
        usual = trace(1_000 if scale == 1 else 3_000, scale).tail.model_dump()
        return {**usual, "causes": [{"cause": "queuing", "share": share}]}

    one, other = trace(1_000, 1.0, tail=tail(1.0, 0.1)), trace(3_000, 2.0, tail=tail(2.0, 0.8))
    result = column(run(one), run(other))
    work_ms, tail_ms = 0.2 * 5 + 0.4 * 30, 0.1 * 1 + 0.8 * 6
    assert dict(result.causes)["work"] == pytest.approx(work_ms / 35)
    assert dict(result.tail_causes) == pytest.approx({"queuing": tail_ms / 7})
    assert sum(t.matched * (t.total.mean_ns or 0) for t in (one, other)) == 35e6


def test_stages_are_put_together_by_name_in_whatever_order_they_stand() -> None:
    one = trace(1_000, 1.0)
    rx, epoll, rest = one.groups
    other = one.model_copy(update={"groups": (epoll, rest, rx)})
    assert dict(column(run(one), run(other)).stages) == {"RX": 1e3, "EPoll": 3e3, "residual": 1e3}


def test_what_tracing_costs_is_medians_with_it_over_medians_without() -> None:
    twins = [run(None, p99_ns=ns) for ns in (20e3, 25e3, 90e3)]
    result = column(run(trace(1_000, 1.0)), run(trace(1_000, 1.0), p99_ns=20e3), *twins)
    assert result.cost == Cost(pairs=2, throughput=8_000 / 9_000, mean=1.0, p99=1.0, cpu=1.25)
    alone = column(run(trace(1_000, 1.0)))
    assert alone.cost == Cost(pairs=0, throughput=None, mean=None, p99=None, cpu=None)


def test_a_run_in_which_lost_requests_make_p99_infinite_counts_in_the_median() -> None:
    """Of 20, 30 and ∞ µs the middle is 30; of two infinite ones and 20 it is infinite."""

    def lossy(seen: TraceResult | None) -> Measured:
        one = run(seen)
        outcome = replace(one.outcome, p99_ns=None, mean_ns=None, lost=20)
        return replace(one, outcome=outcome, wire_ns=(("mean", 9e3), ("p99", None)))

    seen, quick = trace(1_000, 1.0), run(trace(1_000, 1.0), p99_ns=20e3)
    twins = [run(None, p99_ns=10e3), run(None, p99_ns=10e3), lossy(None)]
    result = column(quick, run(seen, p99_ns=30e3), lossy(seen), *twins)
    assert (result.cost.p99, result.cost.mean) == (3.0, 3.0)
    assert result.gaps[-1] == Gap(q=0.99, wire_ns=30e3, server_ns=12e3)
    mostly = column(quick, lossy(seen), lossy(seen), *twins)
    assert (mostly.cost.p99, mostly.cost.mean, mostly.cost.cpu) == (math.inf, math.inf, 1.25)
    assert mostly.gaps[-1].wire_ns == math.inf
    assert "client's p99 is × ∞, the" in show.price(mostly)
    assert dict(show.rows([mostly]))["client p99"] == ["never"]
    both = column(lossy(seen), lossy(None))
    assert both.cost.p99 is None, "there is nothing to compare it with"
    unmeasured = replace(twins[0], outcome=replace(lossy(None).outcome, requests=0))
    assert column(quick, run(None, p99_ns=10e3), unmeasured).cost.p99 == 2.0


def test_the_gap_is_the_client_s_time_beside_the_server_s() -> None:
    result = column(run(trace(1_000, 1.0)), run(trace(1_000, 3.0), p99_ns=60e3))
    # Of p50 and p95 the client's is not known; the twin's times play no part.
    assert result.gaps == (
        Gap(q=None, wire_ns=9e3, server_ns=10e3),
        Gap(q=0.99, wire_ns=45e3, server_ns=24e3),
    )
    assert column(run(None)).gaps == ()


def test_what_a_run_does_not_know_takes_no_part_in_the_mean() -> None:
    mute = trace(9_000, 1.0, total=times(None), residual=times(None))
    result = column(run(mute), run(trace(1_000, 2.0)))
    assert (result.mean_ns, result.residual_ns) == (10e3, 2e3)
    assert result.quantiles[0] == (0.5, 8e3)
    none = column(run(None, reason="late: a lot"))
    assert (none.stages, none.mean_ns, none.unmatched_share, none.requests) == ((), None, None, 0)
    assert none.quantiles == ((0.5, None), (0.95, None), (0.99, None))
    assert (none.verdict, none.reasons) == (Verdict.UNKNOWN, ("late: a lot",))
    assert column().reasons == ("not measured",)


def test_only_runs_that_believe_themselves_count_and_doubtful_ones_if_there_is_no_other() -> None:
    """The tracer's own doubt leaves a run out; the client's does where another run has none."""
    blind = trace(1_000, 9.0, verdict={"verdict": "unknown", "reasons": ["blind: 1 %", "x: 2"]})
    late = run(trace(1_000, 5.0), verdict="unknown", reason="blind: 7 %")
    sound = run(trace(1_000, 1.0))
    both = column(run(blind), late, sound)
    assert (both.runs, both.mean_ns, both.verdict) == (1, 5e3, Verdict.HOLDS)
    doubted = column(run(blind), late)
    assert (doubted.runs, doubted.mean_ns, doubted.verdict) == (1, 25e3, Verdict.UNKNOWN)
    assert doubted.reasons == ("blind: 7 %", "x: 2")  # one per check, the last that was said
    # A twin that the client doubts is left out where one is believed, and is in where none is.
    twin = run(None, p99_ns=10e3)
    off = run(None, p99_ns=1e3, verdict="unknown")
    assert column(sound, twin, off).cost.p99 == pytest.approx(3.0)
    assert column(late, off).cost.p99 == pytest.approx(30.0)


def test_a_service_that_hooks_slow_is_shown_as_doubted() -> None:
    """Its shares, its windows and their price stand; where another run is sound, it is left out."""
    result = column(run(slowed(1.2)), run(slowed(1.25)), run(None))
    assert (result.runs, result.requests, result.verdict) == (2, 2_000, Verdict.UNKNOWN)
    assert result.mean_ns == 10e3
    assert dict(result.tail_causes) == pytest.approx({"queuing": 0.6, "work": 0.4})
    assert result.cost.cpu == 1.25
    assert result.windows is not None
    assert (result.windows.mean_ratio, result.windows.tail_ratio) == (1.05, 1.25)
    [reason] = result.reasons  # reported once, whatever its numbers
    assert "×1.25" in reason
    report = "hooks make the tail ×1.25 as long by estimate: read shares, take p99 from the client"
    assert f"while traced, {report}" in result.remarks
    assert answer(result).endswith(f"; while traced, {report}.")
    sound = column(run(slowed(1.2)), run(trace(1_000, 1.0)))
    assert (sound.runs, sound.verdict) == (1, Verdict.HOLDS)


def test_a_worker_without_idle_time_is_shown_too_but_no_further_doubt_is_let_pass() -> None:
    result = column(run(slowed(None)), run(None))
    assert (result.runs, result.verdict) == (1, Verdict.UNKNOWN)
    assert result.windows is not None
    assert result.windows.tail_ratio is None
    assert "the effect of hooks on the tail is not known" in answer(result)
    assert column(run(slowed(1.2, "3 % of the requests are lost"))).stages == ()
    assert column(run(slowed(1.05))).stages == ()  # then the reason is another one
    assert column(run(slowed(None, cpu_ratio=None))).stages == ()


@pytest.mark.parametrize(
    ("levels", "beside", "words"),
    [
        ({"connections": 1, "neighbour": "none"}, "none", "unloaded"),
        ({"connections": 1, "neighbour": "spin"}, "none", "context switch"),
        ({"connections": 1, "neighbour": "stream"}, "stream", "unloaded beside stream"),
        ({"neighbour": "stream"}, "none", "interference"),
        ({"neighbour": "null"}, "none", "beside null"),
        ({"neighbour": "none"}, "none", "5 % load"),
        ({"neighbour": "stream"}, "stream", "5 % load beside stream"),
    ],
)
def test_columns_are_named_for_people(
    levels: dict[str, str | int], beside: str, words: str
) -> None:
    setting = Setting.of(levels, load=0.05)
    assert stages._column(setting, [run(trace(1_000, 1.0))], beside).name == words


def test_in_a_study_with_a_neighbour_its_loads_are_those_beside_it() -> None:
    beside = replace(column(run(trace(1_000, 1.0))), neighbour="stream")
    assert stages._top([beside]) is None
    assert stages._top([beside], "stream") is beside


def answer(*columns: Stages) -> str:
    return stages._answer("s", columns, stages._top(columns), None)


def test_the_answer_is_the_largest_stage_of_the_heaviest_load_that_is_sure() -> None:
    low, high = column(run(trace(1_000, 1.0))), column(run(trace(1_000, 2.0)))
    low = replace(low, name="10 % load")
    alone = replace(low, name="unloaded", is_alone=True, mean_ns=4e3)
    assert answer(alone, low, high) == (
        "At 90 % load 80 % of the time of s's requests at and above p99 is EPoll, by cause 70 % "
        "is queuing; a request alone takes 4 µs in the server, there 10.0 µs."
    )
    doubtful = replace(high, verdict=Verdict.UNKNOWN, tail_causes=())
    assert answer(low, doubtful).startswith("At 10 % load 80 %")
    assert answer(doubtful) == (
        "At 90 % load 80 % of the time of s's requests at and above p99 is EPoll"
        "; this is in doubt, see the reasons."
    )
    unmeasured = replace(high, tail_mean_ns=None, mean_ns=None)
    assert answer(alone, unmeasured).startswith("At 90 % load 0 % of")
    assert "alone takes" not in answer(alone, unmeasured)
    unknown = "Where the time of s's requests goes is unknown."
    assert answer(alone, replace(high, stages=())) == unknown


def test_each_setting_is_a_column_of_its_own_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced runs and their twins of one setting together; one that was not measured lacks."""
    monkeypatch.setattr(traced, "settings", lambda *_: (UNLOADED, LOADED))
    spec: Any = SimpleNamespace(label="s", measure=("breakdown",))
    data = StudyData(
        study=study_of(service()), measured=(run(trace(1_000, 1.0)), run(None)), questions=PLANS
    )
    result = stages.of_service(data, spec, "memcached", is_alone=True)
    assert [(c.name, c.cost.pairs) for c in result.columns] == [("90 % load", 1)]
    assert result.verdict is Verdict.UNKNOWN  # the other setting was asked for, too


def test_the_slowest_of_all_runs_are_there_one_by_one_at_their_time_of_day() -> None:
    """Each run's clock began at another moment: 1,000 s and 5,000 s after 1970, less 7 s."""

    def worst(*totals: int) -> list[dict[str, Any]]:
        return [
            {
                "start_ns": 9_000_000_000,
                "total_ns": total,
                "peer_port": 4711,
                "tid": 12,
                "bytes_in": 5,
                "bytes_out": 6,
                "stages": [["rx", 1], ["epoll", total - 3]],
            }
            for total in totals
        ]

    def begun(at_s: int, *totals: int) -> TraceResult:
        times = {"started_unix_ns": at_s * 10**9, "started_ns": 7 * 10**9}
        return trace(1_000, 1.0, worst=worst(*totals), **times)

    many = range(100, 100 + stages.SLOWEST)
    result = column(run(begun(1_000, 50, *many)), run(begun(5_000, 500)), run(None)).slowest
    assert len(result) == stages.SLOWEST
    assert [one.total_ns for one in result] == [500, *sorted(many, reverse=True)[:-1]]
    assert [one.start_unix_ns for one in result[:2]] == [5_002 * 10**9, 1_002 * 10**9]
    assert result[0].stages == (("rx", 1), ("epoll", 497))
    assert (result[0].run, result[0].thread, result[0].peer_port) == ("s/trace/b0/with", 12, 4711)
    assert column(run(trace(1_000, 1.0))).slowest == (), "a record of before has none"
