"""Effects in words where a number has no end, or a border no interval."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sojourn import analysis
from sojourn.analysis import counted
from sojourn.analysis.block_values import Borders
from sojourn.analysis.effect_sentences import LIMIT, NO_LOAD_SOME, OPEN_BORDER, Number, Saying
from sojourn.analysis.factors_test import THREADS, asked, effect, played
from sojourn.findings.effects import Effect
from sojourn.plan.setting import Setting
from sojourn.stats.interval import Interval
from sojourn.stats.log_ratio_contrasts import Contrast
from sojourn.testing_questions import answers

CELLS = tuple(Setting.of(a=a, b=b) for b in ("x", "y") for a in (1, 2))
SAYING = Saying(Contrast(CELLS, "a", 1, 2, is_fraction=False), "a")
TAIL = Number("p99 at 10 % load", is_time=True)
ENDS = (100.0, Interval(lo=90.0, hi=110.0))


def of_blocks(*values: tuple[float, float]) -> Effect:
    """Of one pair, block by block."""
    blocks = {n: dict(zip(CELLS[:2], both, strict=True)) for n, both in enumerate(values)}
    return SAYING.of_blocks(TAIL, blocks, unlike="")


def of_borders(borders: Borders) -> Effect:
    return SAYING.of_borders(Number(LIMIT, is_time=False), borders, unlike="")


def test_lost_requests_in_every_block_are_named_and_are_no_overload() -> None:
    study = asked(f"{THREADS}=1,2")
    result = analysis.study(played(study, loses=f"load=0.3,{THREADS}=2"), answers())
    one = effect(result, "threads", "p99 at 30 % load")
    assert (one.endless, one.ratio, one.interval) == (1, None, None)
    assert one.reason == "3.3 % of the requests were lost"
    assert one.sentence == (
        "p99 at 30 % load is infinite with threads = 2, and not with 1: 3.3 % of the requests were "
        "lost"
    )
    assert counted.is_decided(one)


def test_lost_requests_in_the_only_block_decide_nothing() -> None:
    study = asked(f"{THREADS}=1,2", repeats=1)
    result = analysis.study(played(study, loses=f"load=0.3,{THREADS}=2"), answers())
    one = effect(result, "threads", "p99 at 30 % load")
    assert (one.endless, counted.is_decided(one)) == (0, False)
    assert one.reason == "it is infinite in 1 of 1 blocks: 3.3 % of the requests were lost"


def test_enough_blocks_settle_what_one_infinite_block_leaves_open() -> None:
    rest = [(1.0, 2.0 + n / 100) for n in range(8)]
    few = of_blocks((1.0, math.inf), *rest[:7])
    assert (few.ratio, few.interval) == (None, None)
    enough = of_blocks((1.0, math.inf), *rest)
    assert enough.interval is not None
    assert [enough.interval.lo, enough.interval.hi] == pytest.approx([2.01, 2.07])
    assert counted.is_decided(enough)
    assert enough.sentence.endswith(", by the median, for it is infinite in 1 of 9 blocks")


def test_an_open_border_under_one_combination_leaves_the_average_open() -> None:
    closed = dict.fromkeys(CELLS, ENDS)
    whole = of_borders(Borders(closed=closed, fitting=frozenset(CELLS)))
    assert whole.interval is not None
    del closed[CELLS[3]]
    one = of_borders(Borders(closed=closed, fitting=frozenset(CELLS)))
    assert one.interval is None
    assert one.reason == "how much load fits has no closed interval under some levels"
    assert not counted.is_decided(one)


def test_pairs_in_which_no_load_fits_are_left_out_and_counted() -> None:
    closed = dict.fromkeys(CELLS[:2], ENDS)
    fitting, without = frozenset(CELLS[:2]), frozenset(CELLS[2:])
    one = of_borders(Borders(closed=closed, fitting=fitting, without=without))
    assert one.interval is not None
    assert one.doubt == "no load fits in 1 of 2 pairs, which are left out"
    assert one.sentence.endswith(f", but {one.doubt}")


@pytest.mark.parametrize(("level", "side"), [(2, -1), (1, 1)])
def test_where_one_level_alone_lets_load_fit_that_is_the_answer(level: int, side: int) -> None:
    without = frozenset(cell for cell in CELLS if cell["a"] == level)
    fitting = frozenset(CELLS) - without
    one = of_borders(Borders(closed=dict.fromkeys(fitting, ENDS), fitting=fitting, without=without))
    assert (one.endless, one.interval) == (side, None)
    assert one.sentence == (
        f"no load fits within QoS with a = {level}, and some does with {3 - level}"
    )
    assert counted.is_decided(one)


def test_pairs_that_are_left_out_are_named_where_one_level_alone_lets_load_fit() -> None:
    """In the pair that is left out no load fits under either level."""
    without = frozenset(CELLS[1:])
    fitting = frozenset(CELLS[:1])
    one = of_borders(Borders(closed=dict.fromkeys(fitting, ENDS), fitting=fitting, without=without))
    assert (one.endless, one.interval) == (-1, None)
    assert one.doubt == "no load fits in 1 of 2 pairs, which are left out"
    assert one.sentence == (
        f"no load fits within QoS with a = 2, and some does with 1, but {one.doubt}"
    )
    assert counted.is_decided(one)


def test_in_a_fraction_of_a_design_no_load_under_some_levels_is_named() -> None:
    """It has no pairs: only (1, x) and (2, y) of it are measured."""
    cells = (CELLS[0], CELLS[3])
    saying = Saying(Contrast(cells, "a", 1, 2, is_fraction=True), "a")
    borders = Borders(
        closed={CELLS[0]: ENDS}, fitting=frozenset(cells[:1]), without=frozenset(cells[1:])
    )
    one = saying.of_borders(Number(LIMIT, is_time=False), borders, unlike="")
    assert one.reason == NO_LOAD_SOME
    open_ = replace(borders, without=frozenset())
    other = saying.of_borders(Number(LIMIT, is_time=False), open_, unlike="")
    assert other.reason == OPEN_BORDER


def test_where_no_load_fits_at_all_or_only_under_some_levels_nothing_is_decided() -> None:
    nowhere = of_borders(Borders(closed={}, without=frozenset(CELLS)))
    mixed = of_borders(
        Borders(
            closed=dict.fromkeys(CELLS[:3], ENDS),
            fitting=frozenset(CELLS[:3]),
            without=frozenset(CELLS[3:]),
        )
    )
    for one in (nowhere, mixed):
        assert (one.endless, one.interval) == (0, None)
        assert one.reason == "no load fits under some levels"
        assert not counted.is_decided(one)
