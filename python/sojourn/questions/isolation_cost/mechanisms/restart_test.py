"""The piece of work in a guest that was restarted, with a fake of the guest."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sojourn.places.guest.guest import Guest
from sojourn.questions.isolation_cost.mechanisms.restart import PROBES, ROUNDS, Restart


class Fake(Guest):
    """A guest with these answers, then none."""

    def __init__(self, answers: int) -> None:
        self.answers, self.asked = answers, 0

    def work(self, rounds: int) -> int | None:
        assert rounds == ROUNDS
        self.asked += 1
        return 100 + self.asked if self.asked <= self.answers else None


def restarted(task: object, starts: int) -> Restart:
    """A restart that has started `task` last."""
    result = Restart("vm", cast(Any, SimpleNamespace()))
    result._task, result._starts = cast(Any, task), starts
    return result


def test_the_first_answer_is_left_out() -> None:
    assert restarted(Fake(99), 2).probed() == tuple(range(102, 101 + PROBES))


@pytest.mark.parametrize(("answers", "times"), [(0, ()), (1, ()), (3, (102, 103))])
def test_a_guest_that_does_not_answer_is_not_asked_again(
    answers: int, times: tuple[int, ...]
) -> None:
    """Each question has a deadline, and a late answer would be that to the next."""
    guest = Fake(answers)
    assert restarted(guest, 2).probed() == times
    assert guest.asked == answers + 1


def test_the_first_guest_and_what_is_no_guest_are_not_asked() -> None:
    guest = Fake(99)
    assert restarted(guest, 1).probed() == ()
    assert restarted(object(), 5).probed() == ()
    assert guest.asked == 0


class FakePlace:
    """A place with these starts, one after the other: (fell back, doubt)."""

    start_s_max = 0.0

    def __init__(self, starts: list[tuple[str, str]]) -> None:
        self.starts = starts
        self.fell_back = self.start_doubt = ""

    def start(self, launch: object) -> Any:
        del launch
        self.fell_back, self.start_doubt = self.starts.pop(0)
        return SimpleNamespace(
            is_up=True, pid=len(self.starts), poll=lambda *_: None, stop=lambda **_: None
        )


@pytest.mark.parametrize(
    ("off", "why"),
    [(("no state", ""), "it booted: no state"), (("", "another time"), "another time")],
)
def test_a_start_that_went_wrong_is_reported_though_later_ones_did_not(
    off: tuple[str, str], why: str, tmp_path: Path
) -> None:
    """On an idle host a block of starts is read back once, after its last."""
    inputs = SimpleNamespace(on=SimpleNamespace(book=None), folder=tmp_path, cpus=(0,))
    mechanism = Restart("vm:restored", cast(Any, inputs))
    fine = ("", "")
    mechanism._place = cast(Any, FakePlace([("saves its state", ""), fine, off, fine, fine, fine]))
    for _ in range(2):
        mechanism._start()
    assert mechanism.amiss(0) == ""
    mechanism.act(0)
    mechanism.act(0)
    assert mechanism.amiss(0) == why
    mechanism.act(0)
    assert mechanism.amiss(0) == ""
