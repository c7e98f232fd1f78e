"""Whether a service alone meets its target: one stall is no answer."""

from __future__ import annotations

from collections.abc import Iterable

from sojourn.controllers.look import CRITICAL, Group, Look, Window
from sojourn.controllers.testing import look
from sojourn.manage.alone import Alone, Answer

TARGET_NS = 1e6


def answer(looks: Iterable[Look]) -> Answer:
    alone = Alone()
    for one in looks:
        alone.add(one)
    return alone.answers()["web"]


def seen(t_s: float, *windows: Window) -> Look:
    """A look at a service with these windows."""
    web = Group(role=CRITICAL, target_ns=TARGET_NS, windows=windows)
    return Look(t_s=t_s, cpus=1, groups={"web": web})


def edges(lo_ns: float, hi_ns: float) -> Window:
    """A window of a source that counts no late requests."""
    return Window(length_ms=100, n=200, p99_ns=(lo_ns + hi_ns) / 2, lo_ns=lo_ns, hi_ns=hi_ns)


def test_one_stall_in_the_newest_window_is_no_reason_to_refuse_the_start() -> None:
    every = [look(i / 10, n=200, above=120 if i == 50 else 0) for i in range(51)]
    result = answer(every)
    assert result.verdict == "unknown"
    assert result.why == "120 of 10000 requests were late"


def test_late_requests_in_each_window_are_a_reason_to_refuse_the_start() -> None:
    result = answer(look(i / 10, n=200, above=8) for i in range(11))
    assert (result.verdict, result.why) == ("no", "80 of 2000 requests were late")
    assert answer(look(i / 10, n=200, above=0) for i in range(11)).verdict == "yes"


def test_what_was_seen_before_the_caps_and_twice_does_not_count() -> None:
    before = seen(10.0, Window(length_ms=100, n=500, above=500))
    assert answer([before]).why == "no window says enough"
    new = Window(length_ms=100, n=500, above=1)
    again = new.model_copy(update={"age_ms": 50.0})
    result = answer([before, seen(10.1, new), seen(10.15, again)])
    assert result.why == "1 of 500 requests were late"


def test_of_several_new_windows_the_longest_counts() -> None:
    first = seen(10.0)
    windows = [Window(length_ms=ms, n=5 * ms, above=0) for ms in (100, 500, 1000, 15_000)]
    assert answer([first, seen(11.0, *windows)]).why == "0 of 5000 requests were late"


def test_of_windows_that_have_an_interval_alone_most_must_agree() -> None:
    late, fine, wide = edges(2e6, 3e6), edges(2e5, 5e5), edges(5e5, 2e6)
    for windows, verdict, why in (
        ([late] + [fine] * 9, "yes", "p99 of 9 of 10 windows is below the target"),
        ([late] * 9 + [fine], "no", "p99 of 9 of 10 windows is above the target"),
        ([late] * 5 + [wide] * 5, "unknown", "no window says enough"),
        ([late], "no", "p99 of 1 of 1 windows is above the target"),
    ):
        looks = [seen(10.0), *(seen(10.1 + i / 10, one) for i, one in enumerate(windows))]
        result = answer(looks)
        assert (result.verdict, result.why) == (verdict, why)
