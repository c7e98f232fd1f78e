"""What the bench of the tail makes of its rounds."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "bench/trace"


@pytest.fixture
def tail(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    yield SimpleNamespace(**runpy.run_path(str(FOLDER / "tail.py")))
    sys.modules.pop("tracers", None)


def test_the_interval_of_a_median_comes_from_ranks(tail: Any) -> None:
    """Binomial: of 20 the 6th and the 15th value hold the median in 95.9 % of the cases."""
    assert [tail.median_limits(n) for n in (5, 6, 8, 9, 20)] == [-1, 0, 0, 1, 5]
    found = tail.spread("over_none", [float(k) for k in range(20, 0, -1)])
    assert (found["over_none"], found["interval"]) == (10.5, [6.0, 15.0])
    assert tail.spread("over_none", [1.0, 2.0])["interval"] is None


def test_a_way_is_set_against_none_of_its_own_round(tail: Any) -> None:
    def row(ns: float, **more: float) -> dict[str, float]:
        return {**dict.fromkeys(tail.SEEN, ns), **more}

    rounds = [
        {"none": row(100), "windows": row(110, within_p99=1.01)},
        {"none": row(1000), "windows": row(1000, within_p99=1.03)},
        {"none": row(200), "windows": row(240, within_p99=1.02)},
    ]
    found = tail.summary(rounds)["windows"]
    assert found["p99"]["over_none"] == pytest.approx(1.1)
    assert found["p99"]["median_ns"] == 240
    assert found["p99"]["within"]["median"] == 1.02
    assert "within" not in found["mean"]
