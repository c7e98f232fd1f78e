"""A service without windows is silent, whoever else has some."""

from __future__ import annotations

import pytest

from sojourn.controllers.look import BEST_EFFORT, CRITICAL, Group, Look, Signal, Window
from sojourn.manage.facts import NO_PORT, NO_PROCESS
from sojourn.manage.silence import Silence

OPENED_S, SILENT_S = 100.0, 2.0


def at(**age_ms: float | None) -> Look:
    """A look at services with a window of this age each; None: with no window."""
    groups = {
        name: Group(
            role=CRITICAL,
            target_ns=1e6,
            windows=() if age is None else (Window(length_ms=100, n=9, age_ms=age),),
        )
        for name, age in age_ms.items()
    }
    groups["batch"] = Group(role=BEST_EFFORT)
    return Look(t_s=0, cpus=1, groups=groups)


def test_one_that_never_had_a_window_is_silent_from_the_opening_on() -> None:
    one = Silence()
    assert one.of(at(web=10.0, db=None), 101.9, OPENED_S, SILENT_S) == ""
    reason = one.of(at(web=10.0, db=None), 102.1, OPENED_S, SILENT_S)
    assert reason == "no window came from db for 2 s"


def test_one_that_has_died_is_silent_although_another_goes_on() -> None:
    one = Silence()
    assert one.of(at(web=0.0, db=0.0), 110.0, OPENED_S, SILENT_S) == ""
    assert one.of(at(web=0.0, db=1900.0), 111.9, OPENED_S, SILENT_S) == ""
    assert "from db" in one.of(at(web=0.0, db=2100.0), 112.1, OPENED_S, SILENT_S)
    assert one.of(at(web=0.0, db=0.0), 112.2, OPENED_S, SILENT_S) == "", "it is back"


def test_a_source_that_begins_anew_may_have_no_window_for_a_moment() -> None:
    """As a histogram does after a restart; and a source that was just opened by a reload."""
    one = Silence()
    assert one.of(at(web=0.0), 110.0, OPENED_S, SILENT_S) == ""
    assert one.of(at(web=None), 111.9, OPENED_S, SILENT_S) == ""
    assert one.of(at(web=None), 112.1, 111.0, SILENT_S) == ""
    assert "from web" in one.of(at(web=None), 113.1, 111.0, SILENT_S)


def answering(n: int, waiting: int | None = None, target_ns: float = 1e6, **signals: float) -> Look:
    """A look at a service with a window of now."""
    known = {name: Signal(value=value) for name, value in signals.items()}
    window = Window(length_ms=100, n=n, waiting=waiting)
    web = Group(role=CRITICAL, target_ns=target_ns, windows=(window,), signals=known)
    return Look(t_s=0, cpus=1, groups={"web": web, "batch": Group(role=BEST_EFFORT)})


@pytest.mark.parametrize(
    "who", [{"waiting": 5}, {"accept_queue": 1.0}, {"receive_queue_bytes": 9.0}]
)
def test_a_service_that_answers_none_of_those_who_wait_is_silent(who: dict[str, float]) -> None:
    """Its client still writes windows: each has no request."""
    one = Silence()
    assert one.of(answering(100), 110.0, OPENED_S, SILENT_S) == ""
    stuck = answering(0, **who)  # type: ignore[arg-type]  # one is a count
    assert one.of(stuck, 111.9, OPENED_S, SILENT_S) == ""
    reason = one.of(stuck, 112.1, OPENED_S, SILENT_S)
    assert reason == "requests wait, and web answered none for 2 s"
    assert one.of(answering(1, waiting=5), 112.2, OPENED_S, SILENT_S) == "", "one was answered"


def test_a_service_that_nobody_asks_is_not_silent() -> None:
    one = Silence()
    for now_s in range(101, 200):
        assert one.of(answering(0, waiting=0, accept_queue=0.0), now_s, OPENED_S, SILENT_S) == ""
    assert one.of(answering(0), 300.0, OPENED_S, SILENT_S) == "", "who waits is not known"


def test_a_service_of_slow_requests_has_the_time_of_its_target() -> None:
    one, slow = Silence(), answering(0, waiting=1, target_ns=5e9)
    assert one.of(slow, 109.9, OPENED_S, SILENT_S) == ""
    assert (
        one.of(slow, 110.1, OPENED_S, SILENT_S) == "requests wait, and web answered none for 10 s"
    )


def test_a_source_that_is_opened_anew_gives_a_silent_service_no_more_time() -> None:
    """As a reload does while the caps are in force: they would be taken back for `silent_s`."""
    one, reloaded_s = Silence(), 105.0
    for silent in (at(web=None), answering(0, waiting=3)):
        assert one.of(answering(9), 101.0, OPENED_S, SILENT_S) == ""
        reason = one.of(silent, 104.9, OPENED_S, SILENT_S)
        assert "web" in reason
        assert one.of(silent, 105.1, reloaded_s, SILENT_S) == reason
        assert one.of(answering(1), 105.2, reloaded_s, SILENT_S) == "", "it has answered"
        assert one.of(silent, 106.0, reloaded_s, SILENT_S) == ""
        one = Silence()


def test_a_reload_does_not_shorten_the_time_of_a_service_that_is_not_silent() -> None:
    one = Silence()
    assert one.of(at(web=0.0), 110.0, OPENED_S, SILENT_S) == ""
    assert one.of(at(web=None), 111.9, 111.8, SILENT_S) == ""
    assert one.of(at(web=None), 113.7, 111.8, SILENT_S) == ""
    assert "web" in one.of(at(web=None), 113.9, 111.8, SILENT_S)


def slow(now_s: float, answered_s: float) -> Look:
    """A service that always has a request: windows of 20 ms come five at a look, the last empty."""
    windows = [Window(length_ms=20, n=0, waiting=4)]
    for length_ms in (500, 1000, 2000):
        n = int(now_s - answered_s < length_ms / 1000)
        windows.append(Window(length_ms=length_ms, n=n))
    web = Group(role=CRITICAL, target_ns=1e6, windows=tuple(windows))
    return Look(t_s=0, cpus=1, groups={"web": web, "batch": Group(role=BEST_EFFORT)})


def test_replies_in_a_window_between_two_looks_are_seen_in_a_longer_window() -> None:
    one, answered_s = Silence(), 100.0
    for tick in range(1, 100):
        now_s = 100.0 + tick / 10
        answered_s = now_s - 0.05 if tick % 10 == 3 else answered_s  # one a second
        assert one.of(slow(now_s, answered_s), now_s, OPENED_S, SILENT_S) == "", tick
    stuck_s = next(
        now_s
        for now_s in (answered_s + tick / 10 for tick in range(100))
        if one.of(slow(now_s, answered_s), now_s, OPENED_S, SILENT_S)
    )
    assert stuck_s - answered_s < 2 * SILENT_S, "a longer window holds the reply for no longer"


def test_each_service_is_looked_at_although_another_one_is_silent() -> None:
    """Else one that answered all the time would count as stuck as soon as the other is back."""

    def both(web: float | None, n: int) -> Look:
        one = at(web=web, db=0.0)
        window = Window(length_ms=100, n=n, waiting=1)
        db = one.groups["db"].model_copy(update={"windows": (window,)})
        return one.model_copy(update={"groups": {**one.groups, "db": db}})

    one = Silence()
    assert one.of(both(0.0, 9), 101.0, OPENED_S, SILENT_S) == ""
    for now_s in range(104, 120):
        assert "from web" in one.of(both(None, 9), now_s, OPENED_S, SILENT_S)
    assert one.of(both(0.0, 0), 119.1, OPENED_S, SILENT_S) == ""


def empty(**missing: str) -> Look:
    """A service whose windows have no request, and no client waits."""
    one = answering(0, waiting=0)
    web = one.groups["web"].model_copy(update={"missing": missing})
    return one.model_copy(update={"groups": {**one.groups, "web": web}})


@pytest.mark.parametrize("why", [NO_PROCESS, NO_PORT])
def test_a_service_that_was_killed_is_silent_although_nobody_waits(why: str) -> None:
    """Its group stays, and its clients are refused, so their windows are those of an idle one."""
    one = Silence()
    assert one.of(answering(9, accept_queue=0.0), 110.0, OPENED_S, SILENT_S) == ""
    assert one.of(empty(accept_queue=why), 111.9, OPENED_S, SILENT_S) == ""
    reason = one.of(empty(accept_queue=why), 112.1, OPENED_S, SILENT_S)
    assert reason == f"web answers nothing, because {why}"
    assert one.of(answering(1), 112.2, OPENED_S, SILENT_S) == "", "it is back"


def test_a_service_that_never_had_a_port_may_be_idle() -> None:
    one = Silence()
    for now_s in range(101, 120):
        assert one.of(empty(accept_queue=NO_PORT), now_s, OPENED_S, SILENT_S) == ""
    assert one.of(empty(accept_queue="the kernel does not list"), 130.0, OPENED_S, SILENT_S) == ""
