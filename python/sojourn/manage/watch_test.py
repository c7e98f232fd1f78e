"""What a look has of a group that is not read from the kernel."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.controllers.look import Window
from sojourn.manage.absent import BACK_S
from sojourn.manage.audit import Audit
from sojourn.manage.signals import Signals
from sojourn.manage.testing import TREE
from sojourn.manage.watch import Watch, of_load
from sojourn.run.signals import Interrupted, ending_in_order


@pytest.mark.parametrize(
    ("lengths_ms", "used_ms"),
    [
        ((100, 500, 1000, 2000, 15_000), 1000),
        ((1003, 2006, 14_040), 1003),
        ((100, 500), 500),
        ((5010, 15_030), 5010),
        ((170,), 170),
    ],
)
def test_the_load_is_that_of_about_a_second(lengths_ms: tuple[int, ...], used_ms: int) -> None:
    windows = tuple(Window(length_ms=one, n=one) for one in lengths_ms)
    assert of_load(windows).length_ms == used_ms


def test_a_group_that_comes_back_while_the_manager_is_stopped_is_put_back_with_the_others() -> None:
    """Taken half, it would be capped for good: the manager puts back only groups that it has."""
    taken: list[str] = []

    def take_again() -> str:
        signal.raise_signal(signal.SIGTERM)
        taken.append("whole")
        return ""

    batch: Any = SimpleNamespace(name="batch", cpus=(0,), take_again=take_again, is_made_anew=True)
    batch.spec, batch.lose = SimpleNamespace(pid=0), lambda: None
    watch = Watch({"batch": batch}, Signals(TREE), Audit(None, lambda _line: None))
    watch.absent.add(watch.groups.pop("batch"))
    assert not watch._take_again(0.0)
    with pytest.raises(Interrupted), ending_in_order():
        watch._take_again(2 * BACK_S)
    assert taken == ["whole"]
    assert (list(watch.groups), list(watch.absent.groups)) == (["batch"], [])
