"""The piece of work in a guest that was restarted, with a fake of the guest."""

from __future__ import annotations

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
