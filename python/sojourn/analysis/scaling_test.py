"""Scale-up against scale-out, on numbers that are known."""

from __future__ import annotations

import pytest

from sojourn.analysis import scaling
from sojourn.analysis.testing import memcached, study_of
from sojourn.findings.effects import FactorFinding
from sojourn.plan.setting import Setting
from sojourn.spec import Study
from sojourn.stats.interval import Interval

THREADS, INSTANCES = (f"services.memcached.params.{name}" for name in ("threads", "instances"))


def asked() -> Study:
    factors = {THREADS: (1, 2, 4), INSTANCES: (1, 2, 4)}
    return study_of(memcached()).model_copy(update={"factors": factors})


def cell(threads: int, instances: int) -> Setting:
    return Setting.of({THREADS: threads, INSTANCES: instances})


CELLS = tuple(cell(*pair) for pair in ((1, 1), (2, 1), (1, 2), (4, 1), (1, 4)))


def factor_finding(**inputs: object) -> FactorFinding:
    got = scaling.finding(asked(), "memcached", CELLS, **{"limits": {}, "peaks": {}, **inputs})  # type: ignore[arg-type]
    assert got is not None
    return got


def test_what_fits_is_compared_where_it_was_looked_for() -> None:
    limits = {
        cell(4, 1): (200_000.0, Interval(lo=190_000, hi=210_000)),
        cell(1, 4): (300_000.0, Interval(lo=280_000, hi=320_000)),
    }
    peaks = {block: dict.fromkeys(CELLS, 1.0) for block in range(3)}
    two, four = factor_finding(limits=limits, peaks=peaks).effects
    assert four.what == "the highest load within QoS"
    assert four.ratio == pytest.approx(1.5)
    assert four.interval is not None
    assert 1.35 < four.interval.lo < 1.5 < four.interval.hi < 1.65
    assert four.sentence.startswith("4 instances of one thread carry 1.5 times (")
    assert four.sentence.endswith("what one of 4 threads does")
    assert (two.what, two.ratio) == ("max RPS", 1.0)


def test_else_peaks_are_block_by_block() -> None:
    peaks = {
        block: {cell(2, 1): 100.0, cell(1, 2): 100.0 * ratio}
        for block, ratio in enumerate((1.2, 1.25, 1.3))
    }
    got = factor_finding(peaks=peaks)
    two, four = got.effects
    assert (two.base, two.level, two.blocks) == ("one of 2 threads", "2 of one thread", 3)
    assert two.ratio == pytest.approx((1.2 * 1.25 * 1.3) ** (1 / 3))
    assert "at their peak" in two.sentence
    assert four.ratio is None
    assert got.sentence == f"memcached: {two.sentence}."


def test_instances_with_another_shield_do_not_compare() -> None:
    peaks = {block: dict.fromkeys(CELLS, 1.0) for block in range(3)}
    shields = {one: {"priority"} for one in CELLS} | {cell(1, 4): {"none"}}
    two, four = factor_finding(peaks=peaks, shields=shields).effects
    assert two.interval is not None
    assert four.interval is None
    assert four.reason.startswith("the shield was not the same (priority and none)")


def test_what_is_not_measured_is_reported() -> None:
    got = scaling.finding(asked(), "memcached", (cell(1, 1), cell(4, 1)), {}, {})
    assert got is not None
    assert "2 instances of one thread cannot be compared" in got.sentence
    assert "not both measured here" in got.sentence
    assert got.effects == ()  # what cannot be had here is not open


def test_only_a_study_that_varies_both_is_asked() -> None:
    one = asked().model_copy(update={"factors": {THREADS: (1, 2)}})
    assert scaling.finding(one, "memcached", (), {}, {}) is None
    assert scaling.finding(asked(), "nginx", CELLS, {}, {}) is None
