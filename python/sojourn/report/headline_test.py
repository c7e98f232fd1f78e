"""The line above a study with factors: what they surely do, tails first."""

from __future__ import annotations

from dataclasses import replace

from sojourn.findings.effects import Effect, FactorFinding, Trend
from sojourn.findings.findings import Findings
from sojourn.findings.point_row import PointRow
from sojourn.plan.points import Verdict
from sojourn.report import headline, testing
from sojourn.stats.interval import Interval

RATIO, TIGHT = 1.53, Interval(lo=1.12, hi=2.09)


def effect(what: str, ends: Interval | None = TIGHT, *, doubt: str = "") -> Effect:
    return Effect(
        what=what,
        is_time=True,
        base="false",
        level="true",
        ratio=RATIO,
        interval=ends,
        coverage=0.95,
        blocks=3,
        reason="",
        doubt=doubt,
        sentence="",
    )


def trend(kind: str) -> Trend:
    return Trend(
        what="max RPS",
        kind=kind,
        levels=("1", "2", "4"),
        blocks=3,
        ratio=RATIO,
        interval=TIGHT,
        sentence="",
    )


def study(*effects: Effect, trends: tuple[Trend, ...] = ()) -> Findings:
    factor = FactorFinding(
        service="nginx",
        key="k",
        name="gzip",
        levels=("false", "true"),
        effects=effects,
        aliases=(),
        sentence="",
        trends=trends,
    )
    wide = replace(testing.nginx(), service="nginx, gzip = true, and many more levels than fit")
    return replace(testing.findings(), services=(wide, wide), factors=(factor,), sections={})


def test_a_factor_that_moves_the_tail_is_the_headline() -> None:
    findings = study(effect("p50 at 60 % load"), effect("max RPS"), effect("p99 at 60 % load"))
    assert headline.of(findings) == "gzip = true: p99 at 60 % load × 1.53 (1.12–2.09)"
    assert headline.of(study(trends=(trend("knee"),))) == "gzip: max RPS × 1.53 (1.12–2.09)"


def test_what_is_not_sure_is_no_headline() -> None:
    around = Interval(lo=0.8, hi=2.9)
    for result in (
        study(effect("p99 at 60 % load", around)),
        study(effect("p99 at 60 % load", None)),
        study(effect("p99 at 60 % load", doubt="emulated")),
        study(replace(effect("p99 at 60 % load"), is_noise=True)),
        study(trends=(trend("mixed"),)),
    ):
        assert headline.of(result).startswith("2 combinations: ")


def test_what_was_measured_is_not_reported_as_nothing() -> None:
    one = PointRow(
        key="a",
        service="nginx",
        levels=(),
        phase="sweep",
        repeat=0,
        fraction=0.6,
        offered_rps=1e4,
        achieved_rps=1e4,
        p50_ns=1e5,
        p99_ns=1e6,
        verdict=Verdict.HOLDS,
        reasons=(),
    )
    bare = replace(study(), services=(), points=(one, one))
    assert headline.of(bare) == "2 points were measured"
    assert headline.of(replace(bare, points=())) == "nothing was measured"
