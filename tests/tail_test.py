"""What the bench of the tail makes of its rounds."""

from __future__ import annotations

import math
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


def test_the_interval_is_students_of_the_logarithms(tail: Any) -> None:
    """Of ratios 1/e, 1 and e: mean 1, error 1/√3 of the logarithm, 4.303 of it to either side."""
    result = tail.over_none([math.exp(-1), 1.0, math.e], 1.05)
    assert result["over_none"] == pytest.approx(1.0)
    low, high = result["interval"]
    assert math.log(high) == pytest.approx(4.3027 / math.sqrt(3), rel=1e-4)
    assert low * high == pytest.approx(1.0)
    assert result["bound"] == {"most": 1.05, "is": "neither"}
    assert tail.over_none([1.0], 1.05)["interval"] is None


@pytest.mark.parametrize(
    ("ratios", "word"),
    [([1.0, 1.01, 1.02], "shown"), ([1.2, 1.21, 1.22], "refuted"), ([0.9, 1.0, 1.2], "neither")],
)
def test_a_bound_is_shown_only_by_the_whole_interval(
    tail: Any, ratios: list[float], word: str
) -> None:
    assert tail.over_none(ratios, 1.05)["bound"]["is"] == word


def test_a_way_is_set_against_none_of_its_own_round(tail: Any) -> None:
    def row(ns: float) -> dict[str, float]:
        return dict.fromkeys(tail.SEEN, ns)

    rounds = [
        {"none": row(100), "windows": row(200)},
        {"none": row(1000), "windows": row(500)},
        {"none": row(200), "windows": row(1600)},
    ]
    windows = tail.summary(rounds)["windows"]
    assert windows["p99"]["over_none"] == pytest.approx(2.0), "of 2, 1/2 and 8"
    assert (windows["p99"]["median"], windows["p99"]["range"]) == (2.0, [0.5, 8.0])
    assert windows["p99"]["median_ns"] == 500
    assert "bound" not in windows["cpu"]
