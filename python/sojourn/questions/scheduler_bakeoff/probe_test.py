"""Stand-ins on a real CPU: what they have never exceeds what there is, or what was granted."""

from __future__ import annotations

import os
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import knobs
from sojourn.knobs import KINDS, Asked, Felt, Knob, Offered, Turned
from sojourn.knobs.testing import MemoryBook
from sojourn.questions.scheduler_bakeoff.property import measure, stand_in
from sojourn.questions.scheduler_bakeoff.property.measure import MeasureInputs

CPU = min(os.sched_getaffinity(0))
SLACK = 0.05
OFFERED = {"a": Offered(load=0.1, rps=900.0), "b": Offered(load=0.1, rps=90.0)}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "WINDOWS", 4)
    monkeypatch.setattr(measure, "WAKES", 60)


def seen(a: dict[str, str], b: dict[str, str], book: MemoryBook) -> dict[str, Any]:
    on = Turned(label="a", leader=os.getpid(), book=book)
    inputs = MeasureInputs(
        labels=("a", "b"), levels={"a": a, "b": b}, on=on, offered=OFFERED, cpu=CPU
    )
    return measure.measured(inputs)


def test_two_hogs_share_a_cpu_and_one_alone_has_it() -> None:
    book = MemoryBook()
    result = seen({"policy": "other"}, {}, book)
    assert result["share"]["asked"] == [0.5, 0.5]
    first, second = result["share"]["got"]
    assert len(first) == len(second) == len(result["sleeps"]["got"]) == 4
    assert sum(first) + sum(second) <= 4 * (1 + SLACK)
    assert [len(run["late_ns"]) for run in result["wake"]["runs"]] == [60]
    assert not book.open


def test_a_level_that_is_refused_is_told_in_place() -> None:
    result = seen({"cpu_weight": "0"}, {}, MemoryBook())
    assert "weight" in result["share"].get("refused")
    assert "got" not in result["share"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root (real-time threads)")
def test_a_budget_by_load_holds_the_second_while_the_first_sleeps() -> None:
    levels = {"policy": "fifo:rate", "rt_quota": "load/24ms"}
    if lack := KINDS["rt_quota"].lacks(Asked(level="load/24ms")):
        pytest.skip(lack.missing)
    book = MemoryBook()
    result = seen(levels, levels, book)
    if refused := [
        of["refused"] for of in result.values() if isinstance(of, dict) and "refused" in of
    ]:
        assert not book.open
        pytest.skip(f"others on this machine hold its real-time budget: {refused[0]}")
    assert result["share"]["asked"] == [0.45, 0.45]
    assert sum(result["sleeps"]["got"]) / 4 <= 0.45 + SLACK
    assert [run["level"] for run in result["wake"]["runs"]] == ["fifo:9", "fifo:11"]
    assert not book.open


def test_a_stand_in_is_not_taken_for_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler keeps whom it serves by label: a service would lose its place to a stand-in."""
    labels: list[str] = []

    class Noting(Knob):
        by = "nobody"

        def __init__(self, on: Turned) -> None:
            labels.append(on.label)

        def read(self) -> str:
            return ""

        def apply(self, level: str) -> None:
            del level

        def verify(self) -> Felt:
            return Felt(holds=True, why="")

        def restore(self) -> None:
            """Nothing was turned."""

    kind = replace(KINDS["policy"], build=Noting)
    monkeypatch.setattr(knobs, "kind", lambda _: kind)
    on = Turned(label="web", leader=os.getpid(), book=MemoryBook())
    probe: Any = SimpleNamespace(pid=os.getpid())
    with stand_in.under(probe, "web", {"policy": "bvt"}, on, {}):
        pass
    assert labels == ["web-stand-in"]
