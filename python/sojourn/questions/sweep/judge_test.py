"""One service put together: its curves, its verdict, and what the instrument costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis import load_point, runs, service
from sojourn.analysis.runs import Judged
from sojourn.analysis.testing import measured, study_of
from sojourn.findings.answer_test import HOLDS, UNKNOWN, VIOLATED, estimate, load, memcached
from sojourn.findings.findings import Qos
from sojourn.findings.highest_load import MaxLoad
from sojourn.findings.load_point import Line, LoadPoint
from sojourn.findings.measured import Measured, StudyData
from sojourn.findings.section import Section
from sojourn.plan import Phase, Point, Verdict
from sojourn.plan.axis import Axis, Target
from sojourn.plan.decide import Decision
from sojourn.plan.next import Progress
from sojourn.plan.posterior import Posterior
from sojourn.questions import PLANS, answers
from sojourn.questions.sweep import judge as sweep
from sojourn.spec import MaxRps, QosRule, ServiceSpec, form
from sojourn.stats import lowess
from sojourn.stats.interval import Interval

AXIS = Axis(
    rps=10_000.0, lo_rps=9_000.0, hi_rps=11_000.0, rule=MaxRps.ACHIEVED_PEAK, runs=3, is_valid=True
)
TARGET = Target(q=0.99, bound_ns=1e6, rule=QosRule.GIVEN)
POINT = Point(
    key="s/sweep/b0/f0.50",
    service="s",
    phase=Phase.SWEEP,
    offered_rps=5_000.0,
    fraction=0.5,
    measure_s=1.0,
    warmup_s=0.0,
    seed=1,
)


def verdict(
    *points: LoadPoint,
    axis: Axis | None = AXIS,
    target: Target | None = TARGET,
    following: Point | None = None,
    most: MaxLoad | None = None,
) -> tuple[Verdict, tuple[str, ...]]:
    progress = Progress(axis=axis, target=target, next=following, reasons=("said before",))
    result = replace(memcached(*points, max_load=most), reasons=service._doubts(progress, points))
    swept = Section(verdict=sweep.judged(progress, result))
    finding = service._concluded(result.having("sweep", swept), None)
    return finding.verdict, finding.reasons


def test_a_sweep_answers_where_a_border_or_the_top_was_seen() -> None:
    both = load(0.5, HOLDS), load(0.8, VIOLATED)
    assert verdict(*both) == (HOLDS, ("said before",))
    assert verdict(load(0.5, HOLDS), load(0.9, HOLDS))[0] is HOLDS
    assert verdict(load(0.5, VIOLATED))[0] is VIOLATED
    assert verdict()[0] is UNKNOWN
    assert verdict(load(0.5, UNKNOWN))[0] is UNKNOWN
    above = load(0.5, HOLDS), load(0.6, UNKNOWN)
    assert verdict(*above)[0] is UNKNOWN
    assert verdict(*above, target=None)[0] is HOLDS
    assert verdict(*above, load(0.8, VIOLATED))[0] is HOLDS
    # "No load meets the bound" was said, although the lower one may.
    assert verdict(load(0.4, UNKNOWN), load(0.5, VIOLATED))[0] is UNKNOWN
    assert verdict(load(0.5, UNKNOWN), load(0.4, VIOLATED))[0] is VIOLATED


def test_an_axis_that_lacks_or_is_only_a_name_leaves_it_open() -> None:
    both = load(0.5, HOLDS), load(0.8, VIOLATED)
    assert verdict(*both, axis=None) == (UNKNOWN, ("said before",))
    named = replace(AXIS, is_valid=False, reasons=("lost",))
    result, reasons = verdict(*both, axis=named)
    assert result is UNKNOWN
    assert reasons[1:] == ("no run of the load axis is valid: 100 % is only a name", "lost")
    result, reasons = verdict(*both, following=POINT)
    assert result is UNKNOWN
    assert reasons[1:] == ("the study was not finished: run it again, it resumes",)


def null(rates: tuple[str, ...]) -> ServiceSpec:
    """What the instrument itself costs is asked of it."""
    check = {"system": "null", "rates": rates}
    return form.current().service.model_validate(
        {"kind": "serve", "label": "null", "measure": ["check"], "check": check}
    )


def test_a_combination_of_a_complete_study_is_not_called_unfinished() -> None:
    """It may want runs that another combination has, with which it shares them."""
    spec, progress = null(("1k",)), Progress(axis=AXIS, next=POINT)
    some = StudyData(study=study_of(spec, name="selfcheck"), measured=(), questions=PLANS)
    assert service.common(some, spec, progress).reasons == (
        "the study was not finished: run it again, it resumes",
    )
    assert service.common(replace(some, is_complete=True), spec, progress).reasons == ()


def test_loads_that_are_unknown_are_named_by_why() -> None:
    points = [load(f, UNKNOWN) for f in (0.4, 0.5, 0.6)]
    points[1] = replace(points[1], is_believed=False)
    _, reasons = verdict(load(0.3, HOLDS), *points, load(0.9, VIOLATED))
    assert reasons[1:] == ("not valid at 50 % load", "undecided at 40 %, 60 % load")


def test_a_search_has_the_last_word_on_the_verdict() -> None:
    most = MaxLoad(
        verdict=VIOLATED, reasons=("said before", "too wide"), border=None, probes=(), wall_s=1
    )
    result = verdict(load(0.5, HOLDS), load(0.8, VIOLATED), most=most)
    assert result == (VIOLATED, ("said before", "too wide"))


def test_peaks_of_one_run_have_no_spread() -> None:
    assert service._peaks(AXIS) == Interval(lo=9_000, hi=11_000)
    assert service._peaks(replace(AXIS, runs=2)) is not None
    assert service._peaks(replace(AXIS, runs=1)) is None
    assert service._peaks(None) is None


def judged(fraction: float | None, mean_ns: float, seed: int = 0) -> Judged:
    times = mean_ns * np.random.default_rng(seed).exponential(1.0, 2_000)
    offered = 1e4 * (fraction or 0.33)
    return runs.judge(measured(replace(POINT, fraction=fraction, offered_rps=offered), times), None)


def test_loads_are_gathered_by_share_ascending_or_by_rate() -> None:
    of = [judged(0.7, 2e5), judged(0.2, 1e5), judged(0.7, 2e5, seed=1), judged(None, 1e5)]
    points = service._points(of, None, 1e4, None)
    assert [(round(p.offered_rps), len(p.runs)) for p in points] == [
        (2_000, 1),
        (7_000, 2),
        (3_300, 1),
    ]
    assert [p.fraction for p in points] == pytest.approx([0.2, 0.7, 0.33])


def test_curves_are_drawn_through_believed_runs_of_known_share() -> None:
    """Mean 1/(1.05 − f) of 10 µs: the tail crosses where the line through the runs does."""
    loads = (0.1, 0.3, 0.5, 0.7, 0.9)
    dots = [judged(f, 1e4 / (1.05 - f), seed=n) for f in loads for n in range(2)]
    doubted = replace(dots[0], run=replace(dots[0].run, fraction=0.99), decision=Decision.UNKNOWN)
    qos = Qos(q=0.99, bound_ns=1.5e5, rule="")
    lines, crossing = service._curves([*dots, doubted, judged(None, 9e9)], qos, 0.99)
    assert [line.name for line in lines] == ["lowess p99", "lowess mean"]
    x = np.repeat(loads, 2)
    tails = np.array([dict(d.run.quantiles)[0.99] for d in dots], float)
    means = np.array([d.run.mean_ns for d in dots], float)
    for line, values in zip(lines, (tails, means), strict=True):
        curve = lowess.fit(x, values)
        assert curve is not None
        assert line.fraction == pytest.approx(curve.x)
        assert line.value_ns == pytest.approx(curve.y)
    wanted = lowess.fit(x, tails)
    assert wanted is not None
    assert crossing == lowess.crossing(wanted, 1.5e5).interval
    assert service._curves(dots, replace(qos, bound_ns=1e9), 0.99)[1] is None
    assert service._curves(dots, None, 0.99)[1] is None
    assert service._curves(dots[:4], qos, 0.99) == ((), None)


def test_what_the_instrument_costs_is_told_by_load() -> None:
    """Three runs at two loads; the highest that was asked for is 100 %."""
    spec = null(("1k", "4k"))

    def run(rps: float, seed: int, *, doubt: bool = False) -> Measured:
        point = replace(POINT, service="null", phase=Phase.CHECK, offered_rps=rps, fraction=None)
        times = 1e4 + 1e3 * np.random.default_rng(seed).random(2_000)
        made = measured(point, times)
        if not doubt:
            return made
        late = replace(made.outcome, verdict=UNKNOWN, reasons=("late",))
        return replace(made, outcome=late)

    study = study_of(spec, name="selfcheck")
    result = service.find(
        StudyData(study=study, measured=(run(4e3, 1), run(1e3, 2), run(1e3, 3)), questions=PLANS),
        spec,
        answers(),
    )
    assert [(p.offered_rps, p.fraction, len(p.runs)) for p in result.points] == [
        (1e3, 0.25, 2),
        (4e3, 1.0, 1),
    ]
    assert (result.max_rps, result.verdict, result.reasons) == (4e3, HOLDS, ())
    doubted = StudyData(
        study=study, measured=(run(4e3, 1), run(1e3, 2, doubt=True)), questions=PLANS
    )
    late = service.find(doubted, spec, answers())
    assert (late.verdict, late.reasons) == (UNKNOWN, ("late",))
    nothing = service.find(StudyData(study=study, measured=(), questions=PLANS), spec, answers())
    assert (nothing.verdict, nothing.max_rps, nothing.points) == (UNKNOWN, None, ())


def test_a_load_is_judged_by_what_all_runs_say_of_it() -> None:
    posterior = Posterior(rps=(1_000.0, 9_000.0), holds=(0.99, 0.99))
    (point,) = service._points([judged(0.5, 1e5)], None, 1e4, posterior)
    assert point == load_point.gather([judged(0.5, 1e5)], None, 1e4, posterior)


def test_where_the_tail_leaves_theory_refers_to_the_ideal_line_not_to_the_smooth_one() -> None:
    """Ten times the ideal tail from 50 % load up: the smooth line through it knows of no gap."""
    points = [
        replace(load(f, HOLDS), quantiles=(estimate(0.99, ns),))
        for f, ns in ((0.2, 1e4), (0.5, 1e5), (0.8, 1e6))
    ]
    x = (0.0, 1.0)
    smooth = Line(name="lowess p99", about="", fraction=x, value_ns=(1e6, 1e6))
    ideal = Line(name="M/M/1 p99", about="", fraction=x, value_ns=(1e4, 1e4))
    spec = ServiceSpec(kind="memcached", measure=("sweep",))
    rows = service._paper(replace(memcached(*points), lines=(smooth, ideal)), spec, 1)
    assert [row[2] for row in rows if row[3] == "L4"] == ["from 50 % load up"]
