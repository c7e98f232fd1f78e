"""The race on real servers: the border from runs, and which requests a rule is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def race(bench_modules: Any) -> Any:
    """A module of the race by its name."""
    return bench_modules("", "race")


def runs(race: Any, border: float, rounds: int, rng: np.random.Generator) -> list[Any]:
    """Runs of a server whose share of misses is 1 % at the border, and tenfold 10 % above."""
    probe = race("border").Probe
    made = []
    for number in range(1, rounds + 1):
        for factor in (0.8, 0.88, 0.94, 1.0, 1.06, 1.12, 1.2):
            share = min(1.0, 0.01 * 10 ** ((factor - 1) / 0.1))
            made.append(probe(number, border * factor, 20_000, int(rng.binomial(20_000, share))))
    return made


def test_the_border_is_where_one_in_a_hundred_misses(race: Any) -> None:
    border, rng = race("border"), np.random.default_rng(1)
    inside = 0
    for _ in range(20):
        found = border.fitted(runs(race, 50_000, 4, rng), rng)
        assert found.rps == pytest.approx(50_000, rel=0.01)
        inside += found.lo_rps <= 50_000 <= found.hi_rps
    assert inside >= 12, "an interval of 90 % holds less only by chance or by a mistake"
    assert (found.probes, found.requests) == (28, 28 * 20_000)
    assert found.is_inside
    lost = border.fitted([border.Probe(1, load, 1_000, 900) for load in (1e3, 2e3)], rng)
    assert not lost.is_inside, "all loads are beyond it"


def test_a_border_outside_of_the_loads_is_the_nearest_of_them(race: Any) -> None:
    border = race("border")
    every = [border.Probe(1, load, 1_000, over) for load, over in ((1e3, 500), (2e3, 900))]
    assert border.crossing(every) == 1e3
    every = [border.Probe(1, load, 100_000, 0) for load in (1e3, 2e3)]
    assert border.crossing(every) == 2e3
    assert border.Probe(1, 1.0, 0, 0).share == 1.0, "no request is no success"


def test_a_rule_is_shown_what_its_tool_would_see(
    race: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, world = race("real"), race("world")
    due, sent = np.array([0.0, 0.5, 1.0, 2.0]), np.array([0.0, 0.9, np.inf, 2.5])
    done = np.array([0.1, 1.0, np.inf, 3.0])
    asked: list[list[str]] = []

    def offered(url: str, words: list[str], seconds: float, seed: int) -> Any:
        asked.append(words)
        return due, sent, done, {"verdict": "holds", "achieved_rps": 1.0}

    monkeypatch.setattr(real, "offered", offered)
    server = real.RealWorld("memcache://127.0.0.1:1", 1e-3)
    ask, kinds = world.Ask, world.Client
    seen = server.measure(ask(client=kinds.PACED, load=10.0, seconds=2.0))
    assert list(seen.latencies) == pytest.approx([0.1, 0.5, np.inf, 1.0])
    assert seen.achieved_rps == 1.0
    seen = server.measure(ask(client=kinds.LIMITED, load=10.0, seconds=2.0, connections=7))
    assert list(seen.latencies) == pytest.approx([0.1, 0.1]), "it counts from the send"
    server.measure(ask(client=kinds.RAMP, load=60_000.0, seconds=2.0))
    server.measure(ask(client=kinds.CLOSED, load=16, seconds=2.0))
    assert [" ".join(words) for words in asked] == [
        "--rate 10.000 --arrivals fixed --connections 64",
        "--rate 10.000 --arrivals fixed --connections 7",
        "--rate ramp:1..60000 --arrivals fixed --connections 64",
        "--find-max --connections 16",
    ]
    assert (server.spent_s, server.trials) == (8.0, 4)


def test_a_race_that_was_ended_goes_on_with_what_it_lacks(race: Any, tmp_path: Path) -> None:
    real, border = race("real"), race("border")
    first = real.Race(tmp_path)
    row = real.Row(
        rule="k6 ramp", queue="nginx", seed=0, load=5e4, lo=float("nan"), hi=float("nan"),
        seconds=90.0, trials=1, cpu_s=float("nan"),
    )  # fmt: skip
    first.add(row)
    first.add_probes([border.Probe(1, 1e4, 100, 3, "holds")])
    again = real.Race(tmp_path)
    assert [one.load for one in again.rows] == [5e4]
    assert again.probes == first.probes
    assert not again.lacks("k6 ramp", 0)
    assert again.lacks("k6 ramp", 1)
    assert again.lacks("nighthawk", 0)
    again.add_probes([border.Probe(2, 2e4, 100, 0, "holds")])
    assert [one.round for one in real.Race(tmp_path).probes] == [1, 2]


def test_the_loads_of_a_border_move_if_it_lies_near_their_end(race: Any) -> None:
    real, rng = race("real"), np.random.default_rng(1)
    every = runs(race, 50_000, 4, rng)
    assert real.centred(50_000.0, every, rng) == 50_000.0
    assert real.centred(44_000.0, every, rng) == pytest.approx(50_000, rel=0.02)
