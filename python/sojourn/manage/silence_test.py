"""A service without windows is silent, whoever else has some."""

from __future__ import annotations

import pytest

from sojourn.controllers.look import BEST_EFFORT, CRITICAL, Group, Look, Signal, Window
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
    assert "from web" in one.of(at(web=None), 112.1, OPENED_S, SILENT_S)
    assert one.of(at(web=None), 112.2, 111.0, SILENT_S) == ""


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
