"""A service that runs already: its CPU time, and how long it is awaited."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.run import attach
from sojourn.run.attach import find, until_back
from sojourn.run.watch import Deadline, Event


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("nginx", "nginx"), "2, the first is nginx (7); CPU time is theirs, without servers"),
        ((), "cannot be seen from here"),
    ],
    ids=["proxy", "unseen"],
)
def test_whose_cpu_time_is_counted_is_in_the_record(names: tuple[str, ...], wanted: str) -> None:
    members = [SimpleNamespace(name=name, pid=7 + nth) for nth, name in enumerate(names)]
    service: Any = SimpleNamespace(address=lambda: "h:1", process=lambda: None)
    endpoint = SimpleNamespace(target="http://h:1/")
    live: Any = SimpleNamespace(
        label="a",
        notes=(),
        answers=lambda: True,
        members=lambda: members,
        service=SimpleNamespace(endpoint=lambda _: endpoint),
    )
    find(live, service)
    ((what, text),) = live.notes
    assert what == "processes"
    assert text.startswith(wanted)


def away(answers: str) -> Any:
    """A service that answers (+) or does not (-), one sign a look, and then as it did last."""
    left = [sign == "+" for sign in answers]
    return SimpleNamespace(label="a", answers=lambda: left.pop(0) if len(left) > 1 else left[0])


def test_a_service_that_its_supervisor_starts_again_is_awaited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attach, "LOOK_S", 0.001)
    shown: list[Event] = []
    assert until_back([away("+"), away("--+")], shown.append) is not None
    assert [event.step for event in shown] == ["back"], "once, whatever number of looks it takes"
    assert until_back([], shown.append) == 0.0
    assert len(shown) == 1


def test_a_service_that_stays_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "LOOK_S", 0.001)
    monkeypatch.setattr(attach, "BACK_S_MAX", 0.01)
    assert until_back([away("-")], lambda _: None) is None


def test_a_deadline_is_extended_by_its_own_length_at_most() -> None:
    limit = Deadline(1_000.0)
    limit.extend(500.0)
    assert 1_000.0 < limit.left_s <= 1_500.0
    limit.extend(5_000.0)
    assert 1_500.0 < limit.left_s <= 2_000.0
