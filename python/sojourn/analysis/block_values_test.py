"""Numbers by block and combination: a block with lost requests is not left out."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sojourn import analysis
from sojourn.analysis import block_values
from sojourn.analysis.combinations import Part
from sojourn.analysis.factors_test import CONNECTIONS, THREADS, asked, played
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.load_point import LoadPoint, Run
from sojourn.findings.measured import Measured, StudyData
from sojourn.findings.testing import made
from sojourn.plan import Planner
from sojourn.plan.rehearsal import imagine
from sojourn.plan.setting import Setting
from sojourn.testing_questions import PLANS, answers

RUN = made(Run, mean_ns=1e5, sample=((0.5, 7e4),), is_believed=True, grows=False)


def combinations(*means: float | None, is_believed: bool = True) -> block_values.Combinations:
    """A run of each block with this mean, at half load under one combination."""
    runs = tuple(
        replace(RUN, key=f"b{n}", repeat=n, mean_ns=mean, is_believed=is_believed or n > 0)
        for n, mean in enumerate(means)
    )
    finding = made(ServiceFinding, points=(made(LoadPoint, fraction=0.5, runs=runs),), twins=())
    part = made(Part, levels=Setting.of({"threads": 2}))
    return block_values.Combinations(None, (part,), (finding,))  # type: ignore[arg-type]


def test_a_mean_without_an_end_is_infinite_as_a_quantile_is() -> None:
    """A block that is left out because it lost requests leaves those that did well."""
    levels = Setting.of({"threads": 2})
    values, runs = block_values.times(combinations(1e5, None, 2e5), 0.5, None)
    assert [values[block][levels] for block in range(3)] == pytest.approx([1e5, math.inf, 2e5])
    assert [runs[block][levels] for block in range(3)] == [1, 1, 1]


def test_a_run_that_is_not_believed_has_no_mean_at_all() -> None:
    values, _ = block_values.times(combinations(None, 1e5, is_believed=False), 0.5, None)
    assert list(values) == [1]


def test_effects_are_of_the_targets_quantile_though_the_first_combination_was_not_measured() -> (
    None
):
    q = "services.memcached.qos.q=0.95"
    data = played(asked(f"{THREADS}=1,2", f"{CONNECTIONS}=16,64", sets=(q,)))
    first = {THREADS: 1, CONNECTIONS: 16}
    others = tuple(
        one
        for one in data.measured
        if any(one.outcome.point.setting.get(key) != level for key, level in first.items())
    )
    found = analysis.study(replace(data, measured=others), answers())
    assert [bool(one.qos) for one in found.services] == [False, True, True, True]
    whats = {effect.what for factor in found.factors for effect in factor.effects}
    assert "p95 at 70 % load" in whats
    assert not [what for what in whats if what.startswith("p99")]


def test_a_closed_loop_in_which_requests_failed_says_nothing_of_max_rps() -> None:
    """What is served beside failures is no highest rate: the load axis does not take it either."""
    data = played(asked(f"{THREADS}=1,2"), loses="peak/b0")
    [factor] = analysis.study(data, answers()).factors
    [rate] = [effect for effect in factor.effects if effect.what == "max RPS"]
    assert rate.blocks == 2
    none = played(asked(f"{THREADS}=1,2"), loses="peak")
    [factor] = analysis.study(none, answers()).factors
    [rate] = [effect for effect in factor.effects if effect.what == "max RPS"]
    assert (rate.ratio, rate.reason) == (None, "no block has valid runs of both levels")


def test_highest_loads_with_another_shield_do_not_compare_though_no_load_was_swept() -> None:
    sets = ('services.memcached.measure=["max_load"]',)
    study, done = asked(f"{THREADS}=1,2", sets=sets, repeats=1), list[Measured]()
    planner = Planner(study, PLANS)
    while point := planner.next([one.outcome for one in done]):
        shield = "none" if point.setting[THREADS] == 1 else "priority"
        done.append(Measured(outcome=replace(imagine(point), shield=shield)))
    data = StudyData(study=study, measured=tuple(done), questions=PLANS)
    [factor] = analysis.study(data, answers()).factors
    for effect in factor.effects:
        assert effect.interval is None
        assert effect.reason.startswith("the shield was not the same (none and priority)")
