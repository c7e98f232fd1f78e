"""A part of a service that hangs is noticed; busy and slow services do not hang."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from sojourn.controllers.look import BEST_EFFORT, CRITICAL, Group, Look, Window
from sojourn.manage.silence import Silence
from sojourn.manage.unanswered import Unanswered

SILENT_S, TARGET_NS = 2.0, 1e6


def group(n: int, waiting: int | None, p99_ns: float | None = 3e5, above: int | None = 0) -> Group:
    window = Window(length_ms=100, n=n, p99_ns=p99_ns, above=above, waiting=waiting)
    return Group(role=CRITICAL, target_ns=TARGET_NS, windows=(window,))


def judged(of: Callable[[int], Group], looks: int = 100) -> Iterator[tuple[float, int]]:
    one = Unanswered()
    for tick in range(looks):
        one.take(of(tick), tick / 10)
        yield tick / 10, one.count(SILENT_S)


def test_one_worker_that_hangs_is_noticed_although_the_others_answer() -> None:
    draw = random.Random(30)  # noqa: S311
    seen = [*judged(lambda tick: group(300, draw.randrange(2) + (3 if tick >= 30 else 0)))]
    first = next(t_s for t_s, count in seen if count)
    assert 3.0 + SILENT_S <= first <= 3.0 + SILENT_S + 0.2
    assert all(count >= 3 for t_s, count in seen if t_s > first)


def test_it_is_silent_for_the_manager_until_the_last_one_has_an_answer() -> None:
    one, reasons = Silence(), []
    for tick in range(60):
        web = group(300, 3 if 10 <= tick < 50 else 0)
        look = Look(t_s=0, cpus=1, groups={"web": web, "batch": Group(role=BEST_EFFORT)})
        reasons.append(one.of(look, 100 + tick / 10, 100.0, SILENT_S))
    assert reasons[35] == "3 requests of web have had no answer for 2 s"
    assert not any(reasons[:30])
    assert not any(reasons[50:])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("rate", "mean_s"), [(1e3, 3e-4), (5e4, 2e-4), (2e3, 0.02)])
def test_a_busy_service_whose_requests_all_have_an_answer_is_not_taken_for_it(
    rate: float, mean_s: float, seed: int
) -> None:
    """Exponential times, so p99 is 4.6 times the mean; what waits is Poisson's."""
    draw = np.random.default_rng(seed)

    def of(_tick: int) -> Group:
        n, waiting = int(draw.poisson(rate / 10)), int(draw.poisson(rate * mean_s))
        return group(n, waiting, mean_s * 4.6e9, above=0)

    assert not any(count for _, count in judged(of, 2000))


def test_a_few_requests_that_are_slow_but_answered_are_not_taken_for_it() -> None:
    """Nine in a thousand take 1.5 s, so that some 13 wait at any time; p99 does not show them."""
    assert not any(count for _, count in judged(lambda _: group(1000, 13, above=9)))


def test_what_is_not_counted_says_nothing() -> None:
    for of in (group(900, None), group(900, 5, above=None), group(900, 5, p99_ns=None)):
        assert not any(count for _, count in judged(lambda _, of=of: of))  # type: ignore[misc]


def test_one_window_that_is_looked_at_many_times_counts_once() -> None:
    one = Unanswered()
    for tick in range(100):
        web = group(900, 5)
        window = web.windows[0].model_copy(update={"age_ms": float(tick)})
        one.take(web.model_copy(update={"windows": (window,)}), 5.0 + tick / 1000)
    assert one.count(0.05) == 0
