"""How busy an observed host was: while load ran, and not before or after it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.hosts import observed
from sojourn.hosts.observed import Looks
from sojourn.run.generator import Watcher


class Busy:
    """A host of which each look is an entry of a list: CPU time in all, and used, s."""

    node, facts = SimpleNamespace(name="h", address="10.0.0.6"), {"cpus": [0, 1]}

    def __init__(self, *looks: tuple[float, float]) -> None:
        self.looks = list(looks)

    def asked(self, name: str) -> Any:
        assert name == "ticks"
        all_s, used_s = self.looks.pop(0)
        return {"all_s": all_s, "used_s": used_s, "stolen_s": used_s / 10}

    def answer(self, pending: Any) -> Any:
        return pending

    def understood(self) -> AbstractContextManager[None]:
        return nullcontext()


class Heard(Watcher):
    def __init__(self) -> None:
        self.lines: list[Any] = []

    def second(self, line: Any) -> None:
        self.lines.append(line)


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which a test lets pass."""
    now = [1000.0]
    monkeypatch.setattr(observed, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def row(
    passed: list[float], *looks: tuple[float, float], lines: int, every_s: float = 1.0
) -> dict[str, Any]:
    host: Any = Busy(*looks)
    inner = Heard()
    watched = Looks([host], inner)
    for nth in range(lines):
        watched.second({"t_s": nth})
        passed[0] += every_s
    assert inner.lines == [{"t_s": nth} for nth in range(lines)]
    (own,) = watched.rows()
    return own


def test_what_comes_before_and_after_the_load_does_not_count(passed: list[float]) -> None:
    own = row(passed, (0, 0), (100, 10), (102, 11), (104, 12.5), lines=3)
    assert (own["used_share"], own["stolen_share"]) == (0.625, 0.0625)
    assert (own["host"], own["address"], own["cpus"]) == ("h", "10.0.0.6", 2)


def test_a_load_with_few_lines_is_seen_from_before_it(passed: list[float]) -> None:
    assert row(passed, (0, 0), (4, 1), lines=1)["used_share"] == 0.25
    assert row(passed, (0, 0), (8, 1), lines=0)["used_share"] == 0.125
    near = row(passed, (0, 0), (4, 1), (4.02, 1.02), lines=2, every_s=0.01)
    assert near["used_share"] == 0.2537


def test_a_clock_that_stands_has_no_share(passed: list[float]) -> None:
    assert row(passed, (4, 1), (4, 1), (4, 1), lines=2)["used_share"] is None
