from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn import analysis, spec
from sojourn.analysis.answered import is_answered
from sojourn.analysis.data import StudyData
from sojourn.analysis.findings import Effect, FactorFinding, Findings, Interval, Trend
from sojourn.plan.points import Verdict

NAME = "max_load_memcached"


def effect(lo: float, hi: float, what: str = "p99 at 70 % load") -> Effect:
    return Effect(
        what=what, is_time=True, base="1", level="2", ratio=1.0, interval=Interval(lo=lo, hi=hi),
        coverage=0.95, blocks=3, reason="", doubt="", sentence="",
    )  # fmt: skip


def trend(kind: str, ends: Interval | None = None) -> Trend:
    return Trend(
        what="max RPS", kind=kind, levels=("1", "2", "4"), blocks=3, ratio=None, interval=ends,
        sentence="",
    )  # fmt: skip


def study(*factors: FactorFinding, verdict: Verdict = Verdict.UNKNOWN) -> Findings:
    return replace(
        analysis.study(StudyData(study=spec.load(NAME), measured=())),
        verdict=verdict,
        factors=factors,
    )


def factor(*effects: Effect, trends: tuple[Trend, ...] = ()) -> FactorFinding:
    return FactorFinding(
        service="memcached", key="k", name="k", levels=("1", "2"), effects=effects, aliases=(),
        sentence="", trends=trends,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("lo", "hi", "is_told"),
    [(1.1, 40.0, True), (0.2, 0.9, True), (0.6, 1.9, True), (0.4, 1.9, False), (0.6, 2.1, False)],
)
def test_an_effect_is_told_from_none_or_is_known_to_be_small(
    lo: float, hi: float, *, is_told: bool
) -> None:
    assert is_answered(study(factor(effect(lo, hi)))) is is_told


def test_every_factor_has_to_be_told_and_one_number_of_it_is_enough() -> None:
    known, unknown = factor(effect(0.1, 10), effect(2, 3, "max RPS")), factor(effect(0.1, 10))
    assert is_answered(study(known))
    assert not is_answered(study(known, unknown))


def test_a_trend_tells_where_a_step_is_sure_or_it_is_flat() -> None:
    wide = effect(0.1, 10)
    assert is_answered(study(factor(wide, trends=(trend("flat"),))))
    assert is_answered(study(factor(wide, trends=(trend("cliff", Interval(lo=2, hi=9)),))))
    assert not is_answered(study(factor(wide, trends=(trend("unclear", Interval(lo=2, hi=9)),))))
    assert not is_answered(study(factor(wide, trends=(trend("unknown"),))))


def test_without_factors_it_is_the_verdict() -> None:
    assert is_answered(study(verdict=Verdict.VIOLATED))
    assert not is_answered(study())
