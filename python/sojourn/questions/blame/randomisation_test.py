"""The randomisation test against simulated truth: false alarms, power, intervals; who is who."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from sojourn.questions.blame import paired_costs, randomisation
from sojourn.questions.blame.blames import Blames
from sojourn.questions.blame.files import Blamed, BlameFile
from sojourn.questions.blame.randomisation import Contrast, Floats
from sojourn.questions.blame.suspects import (
    CLEARED,
    CPU,
    DISK,
    GUILTY,
    MEMORY,
    NETWORK,
    OTHERS,
    OWN,
    SOFTIRQ,
    UNDECIDED,
    WAIT,
    Row,
    judged,
    resource,
)
from sojourn.stats.interval import Interval

Q = 0.99
Pair = tuple[Floats, Floats]


def window(rng: Generator, times: float = 1.0, spread: float = 0.3) -> Floats:
    """Sojourn times of one window, ns: those of one share a fate, so windows differ."""
    fate = rng.lognormal(0.0, spread)
    return np.asarray(rng.exponential(1e5 * times * fate, 300), float)


def pairs(rng: Generator, ratio: float, blocks: int = 8) -> list[Pair]:
    """Windows with the suspect and without; the machine drifts from block to block."""
    drift = np.exp(np.cumsum(rng.normal(0, 0.2, blocks)))
    return [(window(rng, ratio * d), window(rng, d)) for d in drift]


def test_a_suspect_that_does_nothing_is_rarely_accused() -> None:
    """Of 200 tests at 5 %, 10 are expected; 20 are three sigma above."""
    rng = np.random.default_rng(5)
    results = []
    for _ in range(200):
        both = pairs(rng, 1.0)
        logs = [np.log(pair[side]) for side in (0, 1) for pair in both]
        results.append(randomisation._Test(logs, Q, seed=1).p(0.0))
    assert sum(p < randomisation.ALPHA for p in results) <= 20
    assert min(results) >= 2 / 2**8 - 1e-12  # the swap of all, and none, are as extreme


def test_a_planted_effect_is_found_and_its_interval_covers_it() -> None:
    """Of 24 intervals 23 are expected to hold the truth; 19 are three sigma below."""
    rng, held, seen = np.random.default_rng(7), 0, 0
    for n in range(24):
        one = randomisation.contrast(pairs(rng, 3.0), Q, seed=n)
        assert one.interval is not None
        held += one.interval.lo <= 3.0 <= one.interval.hi
        seen += one.p < randomisation.ALPHA and one.ratio is not None and one.ratio > 1
    assert held >= 19
    assert seen >= 19


def test_the_interval_says_what_the_test_says() -> None:
    rng = np.random.default_rng(11)
    for n in range(10):
        one = randomisation.contrast(pairs(rng, 1.4, blocks=7), Q, seed=n)
        assert one.interval is not None
        excludes = not one.interval.lo <= 1.0 <= one.interval.hi
        if abs(math.log(one.interval.lo)) > 2 * randomisation.STEP:  # not on the edge itself
            assert excludes == (one.p <= randomisation.ALPHA)


def test_lost_requests_are_longer_than_all_others_and_are_no_obstacle() -> None:
    rng = np.random.default_rng(3)
    lost = [(np.append(a, [np.inf] * 20), b) for a, b in pairs(rng, 1.0)]
    (one,) = randomisation.corrected([randomisation.contrast(lost, Q, seed=1)])
    assert (one.with_ns, one.ratio) == (np.inf, np.inf)
    assert one.interval is not None
    assert one.without_ns is not None
    longest_ns = max(float(side[np.isfinite(side)].max()) for pair in lost for side in pair)
    assert one.interval == Interval(lo=longest_ns / one.without_ns, hi=np.inf)  # a bound, no more
    assert one.is_worse
    (other,) = randomisation.corrected(
        [randomisation.contrast([(b, a) for a, b in lost], Q, seed=1)]
    )
    assert other.ratio == 0
    assert other.interval is not None
    assert (other.interval.lo, other.is_worse) == (0, False)
    assert other.interval.hi < 1


def test_where_lost_requests_decide_both_quantiles_nothing_is_compared() -> None:
    """30 % are lost with it and 5 % without it: much harm, of which p99 shows nothing."""
    rng = np.random.default_rng(3)
    lost = [
        (np.append(a, [np.inf] * 129), np.append(b, [np.inf] * 16))
        for a, b in pairs(rng, 1.0, blocks=20)
    ]
    one = randomisation.contrast(lost, Q, seed=1)
    assert (one.with_ns, one.without_ns) == (np.inf, np.inf)
    assert (one.ratio, one.interval) == (None, None)
    row = judged("it", one, None, 1.25)
    assert row.word == UNDECIDED
    assert "lost requests decide" in row.doubt


def test_lost_requests_of_some_swaps_leave_an_interval_without_ends() -> None:
    """Of each block one side lost five: of neither it is 1 %, in most swaps of one it is."""
    rng, lost = np.random.default_rng(3), [np.inf] * 5
    both = [
        (np.append(a, lost), b) if n % 2 else (a, np.append(b, lost))
        for n, (a, b) in enumerate(pairs(rng, 1.0))
    ]
    one = randomisation.contrast(both, Q, seed=1)
    assert one.ratio is not None
    assert 0 < one.ratio < np.inf
    assert one.interval is not None
    assert one.interval.lo == pytest.approx(1 / randomisation.RATIO_MAX)
    assert one.interval.hi == pytest.approx(randomisation.RATIO_MAX)


def test_lost_requests_that_decide_the_quantile_of_every_draw_leave_no_finite_end() -> None:
    """5 % of the requests failed: p99 does not meet a bound of two seconds, nor any other."""
    rng = np.random.default_rng(3)
    windows = [np.append(window(rng), [np.inf] * 16) for _ in range(12)]
    ends = randomisation.spread(windows, Q, seed=1)
    assert ends == Interval(lo=np.inf, hi=np.inf)
    assert Blames(q=Q, bound_ns=2e9, as_is=ends).misses is True
    some = [w if n < 3 else w[np.isfinite(w)] for n, w in enumerate(windows)]  # 1.3 % of all
    ends = randomisation.spread(some, Q, seed=1)
    assert ends is not None
    assert ends.lo < 2e9
    assert ends.hi == np.inf
    assert Blames(q=Q, bound_ns=2e9, as_is=ends).misses is None


@pytest.mark.parametrize("ratio", [3000.0, 1 / 3000.0])
def test_a_ratio_beyond_what_is_sought_lies_in_its_interval(ratio: float) -> None:
    one = randomisation.contrast(pairs(np.random.default_rng(3), ratio), Q, seed=1)
    assert one.interval is not None
    assert one.ratio is not None
    assert one.interval.lo <= one.ratio <= one.interval.hi
    assert (one.interval.lo > 1) == (ratio > 1)
    assert (one.interval.hi < 1) == (ratio < 1)


def test_requests_lost_in_some_blocks_only_convict() -> None:
    both = pairs(np.random.default_rng(3), 1.0, blocks=12)
    some = [(np.append(a, [np.inf] * 9) if n < 8 else a, b) for n, (a, b) in enumerate(both)]
    (one,) = randomisation.corrected([randomisation.contrast(some, Q, seed=1)])
    assert one.is_worse


def test_too_few_blocks_or_requests_are_refused_with_what_is_needed() -> None:
    rng = np.random.default_rng(3)
    few = randomisation.contrast(pairs(rng, 9.0, blocks=5), Q, seed=1)
    assert few.refused == "5 blocks are whole, 6 are needed"
    assert few.ratio is None
    short = [(a[:40], b[:40]) for a, b in pairs(rng, 9.0)]
    assert randomisation.contrast(short, Q, seed=1).refused.startswith("500 requests are needed")
    first, other = randomisation.corrected(
        [few, randomisation.contrast(pairs(rng, 9.0), Q, seed=1)]
    )
    assert not first.is_worse
    assert other.p_holm == other.p  # what was refused is no test
    assert other.is_worse


def contrast(lo: float, hi: float, p_holm: float = 0.001) -> Contrast:
    """A comparison with this interval."""
    return Contrast(
        with_ns=2e6,
        without_ns=1e6,
        ratio=math.sqrt(lo * hi),
        interval=Interval(lo=lo, hi=hi),
        p=p_holm,
        p_holm=p_holm,
        blocks=8,
        requests=5000,
    )


@pytest.mark.parametrize(
    ("stop", "alone", "word", "is_hidden"),
    [
        (contrast(2.0, 4.0), contrast(2.0, 4.0), GUILTY, False),
        (contrast(0.9, 1.1, 1.0), contrast(0.9, 1.1, 1.0), CLEARED, False),
        (contrast(0.9, 1.1, 1.0), contrast(2.0, 4.0), GUILTY, True),  # another one hides its harm
        (
            contrast(1.01, 1.1),
            contrast(2.0, 4.0),
            GUILTY,
            True,
        ),  # beside the others of no consequence
        (
            contrast(0.9, 1.1, 1.0),
            contrast(0.9, 1.6, 1.0),
            UNDECIDED,
            False,
        ),  # not cleared by one alone
        (
            contrast(1.01, 3.0, 0.06),
            contrast(0.9, 1.6, 1.0),
            UNDECIDED,
            False,
        ),  # not after correction
        (contrast(1.01, 1.1), contrast(1.01, 1.1), CLEARED, False),  # sure, and of no consequence
        (contrast(0.3, 0.5), None, CLEARED, False),  # it does not make it longer
    ],
)
def test_either_comparison_convicts_and_both_must_clear(
    stop: Contrast,
    alone: Contrast | None,
    word: str,
    is_hidden: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    row = judged("it", stop, alone, 1.25)
    assert (row.word, row.is_hidden) == (word, is_hidden)


def row_of(wait: float, soft: float, own: float, others: float, disk: float = 0.0) -> Row:
    """A guilty suspect with these costs per request, ns, each sure to a tenth."""
    values = {WAIT: wait, SOFTIRQ: soft, OWN: own, OTHERS: others}
    rng = np.random.default_rng(1)
    costs = tuple(
        paired_costs.change(
            name, [(v + e * max(abs(v), 50) / 10, 0.0) for e in rng.normal(0, 1, 12)]
        )
        for name, v in values.items()
    )
    return Row(
        name="it",
        word=GUILTY,
        resource="",
        stop=contrast(2, 4),
        alone=None,
        costs=costs,
        cpu_share=0.5,
        still_share=0.0,
        disk_bytes_per_s=disk,
        traced_share=None,
        matters=1.25,
    )


def looked(**shares: float) -> list[Blamed]:
    """A look of the tracer that saw these kinds of waits."""
    suspects = [SimpleNamespace(kind=kind, share=share) for kind, share in shares.items()]
    trace: Any = SimpleNamespace(blame=SimpleNamespace(suspects=suspects))
    return [Blamed(file=BlameFile(suspects=[]), trace=trace)]


@pytest.mark.parametrize(
    ("row", "reads", "uses", "wanted"),
    [
        (row_of(5e3, 10, 300, 2e4), False, False, CPU),
        (row_of(5e3, 1.2e4, 300, 2e4), False, False, NETWORK),  # what was taken is soft-IRQ mostly
        (row_of(0, 0, 2e3, 0), False, False, MEMORY),
        (row_of(0, 0, 0, 0, disk=5e7), True, True, DISK),
        (row_of(0, 0, 0, 0, disk=5e7), False, True, ""),  # a service that uses no disk
        (row_of(0, 0, 0, 0, disk=1), True, False, ""),  # a suspect that does nothing there
        (row_of(5e3, 10, 300, 2e4, disk=5e7), True, True, CPU),
    ],
)
def test_the_resource_is_what_changed_when_it_was_stopped(
    row: Row,
    reads: bool,  # noqa: FBT001 - a parameter of the test
    uses: bool,  # noqa: FBT001
    wanted: str,
) -> None:
    assert resource(row, reads_disk=reads, uses_disk=uses, traces=()) == wanted


def test_the_tracer_names_the_disk_only_where_nothing_else_changed() -> None:
    disk, fault = looked(block_io=0.6), looked(page_fault=0.6)
    waits, same = row_of(5e3, 10, 300, 2e4, disk=1), row_of(0, 0, 0, 0, disk=5e7)
    assert resource(waits, reads_disk=False, uses_disk=True, traces=disk) == CPU
    assert resource(same, reads_disk=False, uses_disk=True, traces=disk) == DISK
    assert resource(same, reads_disk=False, uses_disk=False, traces=disk) == ""
    assert resource(same, reads_disk=False, uses_disk=True, traces=fault) == ""
