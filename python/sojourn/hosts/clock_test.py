"""Planted offsets and drifts come out, and their errors hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

from sojourn.hosts.clock import (
    DRIFT_MAX,
    Bounds,
    Exchange,
    HostClock,
    JumpedError,
    Reading,
    reading,
    same,
    spread_ns,
)

MS = 1_000_000
SECOND = 1_000_000_000


def host(offset_ns: int, drift: float) -> Callable[[int], int]:
    """A host's clock as a function of the driver's."""
    return lambda ns: ns + offset_ns + round(drift * ns)


def exchanged(draw: Random, clock: Callable[[int], int], at_ns: int, n: int = 20) -> list[Exchange]:
    """Exchanges over a way of 0.1 ms or more each way, with rare long waits; the ways differ."""
    result = []
    for _ in range(n):
        out, back = (100_000 + round(draw.expovariate(1 / 200_000)) for _ in range(2))
        wait = round(draw.expovariate(1 / (5 * MS))) if draw.random() < 0.2 else 0
        result.append(Exchange(at_ns, clock(at_ns + out + wait), at_ns + out + wait + back))
        at_ns = result[-1].back_ns
    return result


def planted() -> Iterator[tuple[int, float]]:
    for offset_s in (0, 0.0003, -0.5, 10, -10, 86_400):
        for drift_ppm in (0, 100, -100):
            yield round(offset_s * SECOND), drift_ppm * 1e-6


@pytest.mark.parametrize(("offset_ns", "drift"), list(planted()))
def test_offsets_up_to_10_s_and_drifts_of_100_ppm_are_corrected_to_1_ms(
    offset_ns: int, drift: float
) -> None:
    for seed in range(50):
        draw, clock = Random(seed), host(offset_ns, drift)  # noqa: S311
        known = HostClock((reading(exchanged(draw, clock, 3 * SECOND)),))
        start = 6 * SECOND  # a start that is asked for three seconds ahead
        assert abs(known.there(start) - clock(start)) <= MS, "before it is known how it drifts"
        end = 130 * SECOND
        known = known.with_reading(reading(exchanged(draw, clock, end)))
        for at in (start, 60 * SECOND, end):
            seen = known.here(clock(at))
            assert abs(seen.at_ns - at) <= seen.error_ns <= MS / 2
        slope, error = known.drift()
        assert abs(slope - drift) <= error < 10e-6


def test_the_error_is_a_bound_and_not_a_guess() -> None:
    for seed in range(500):
        draw = Random(seed)  # noqa: S311
        offset = draw.randrange(-10 * SECOND, 10 * SECOND)
        result = reading(exchanged(draw, host(offset, 0.0), SECOND, n=draw.randrange(1, 9)))
        assert abs(result.offset_ns - offset) <= result.error_ns


def test_one_way_that_is_longer_widens_the_bounds_and_does_not_break_them() -> None:
    slow_back = [Exchange(0, 1000 + 100, 900_000), Exchange(10, 1000 + 160, 700_000)]
    result = reading(slow_back)
    assert result.low_ns <= 1000 <= result.high_ns
    assert result.way_ns == 699_990


def test_a_clock_that_is_set_is_seen() -> None:
    draw = Random(1)  # noqa: S311
    before = exchanged(draw, host(0, 0.0), SECOND)
    after = exchanged(draw, host(5 * MS, 0.0), 2 * SECOND)
    with pytest.raises(JumpedError, match="while it was read"):
        reading([*before, *after])
    known = HostClock((reading(before),))
    with pytest.raises(JumpedError, match=r"jumped by [345]\.\d+ ms within 1\.0 s"):
        known.with_reading(reading(after))
    backward = reading(exchanged(draw, host(-5 * MS, 0.0), 2 * SECOND))
    with pytest.raises(JumpedError):
        known.with_reading(backward)


def test_a_clock_that_drifts_as_fast_as_one_may_has_not_jumped() -> None:
    draw, clock = Random(2), host(SECOND, 0.9 * DRIFT_MAX)  # noqa: S311
    known = HostClock((reading(exchanged(draw, clock, SECOND)),))
    assert len(known.with_reading(reading(exchanged(draw, clock, 60 * SECOND))).readings) == 2


def test_far_from_every_reading_less_is_known() -> None:
    known = HostClock((Reading(at_ns=0, offset_ns=5.0, error_ns=10.0),))
    assert known.at(0).error_ns == 10.0
    assert known.at(SECOND).error_ns == pytest.approx(10 + DRIFT_MAX * SECOND)


def test_starts_are_as_far_apart_as_they_can_be() -> None:
    starts = [Reading(at_ns=at, offset_ns=0, error_ns=error) for at, error in ((0, 7), (5, 1))]
    assert spread_ns([*starts, same(2)]) == 13
    assert spread_ns([same(4), same(4)]) == 0


def watched(draw: Random, clock: Callable[[int], int], seconds: int) -> str:
    """What is seen of a clock that is asked once a second, over a way of a millisecond or more."""
    bounds = Bounds(reading(exchanged(draw, clock, SECOND)))
    try:
        for second in range(2, seconds):
            for one in exchanged(draw, clock, second * SECOND, n=1):
                bounds.add(one)
    except JumpedError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("drift", [0.0, 100e-6, -100e-6])
@pytest.mark.parametrize("jump_ms", [30, -30])
def test_a_jump_in_ten_minutes_is_seen_within_seconds(drift: float, jump_ms: int) -> None:
    """Two readings ten minutes apart allow for 300 ms of drift."""
    draw, steady = Random(7), host(SECOND, drift)  # noqa: S311

    def jumps(ns: int) -> int:
        return steady(ns) + jump_ms * MS * (ns > 300 * SECOND)

    assert "the clock jumped by" in watched(draw, jumps, 600)
    ends = [reading(exchanged(draw, jumps, at * SECOND)) for at in (1, 600)]
    HostClock((ends[0],)).with_reading(ends[1])  # by its ends alone it is a drift


@pytest.mark.parametrize("drift", [0.0, 100e-6, -0.99 * DRIFT_MAX, 0.99 * DRIFT_MAX])
def test_a_clock_that_drifts_stays_within_its_bounds(drift: float) -> None:
    for seed in range(20):
        draw = Random(seed)  # noqa: S311
        assert not watched(draw, host(SECOND, drift), 300)
