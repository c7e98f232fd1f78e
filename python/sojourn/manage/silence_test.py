"""A service without windows is silent, whoever else has some."""

from __future__ import annotations

from sojourn.controllers.look import BEST_EFFORT, CRITICAL, Group, Look, Window
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
