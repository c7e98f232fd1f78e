"""The race's rules on a server that either answers at once or not at all: each finds the border."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sojourn.analysis.queue import Queue

ROOT = Path(__file__).parents[1]


@pytest.fixture
def race(bench_modules: Any) -> Any:
    """A module of the race by its name."""
    return bench_modules("race")


def _answer(race: Any, name: str, border: float) -> float:
    """What a rule answers if every request above the border misses and none below."""
    rules, world = race("rules"), race("world")
    rule = rules.RULES[name]()
    ask = next(rule)
    while True:
        count = max(1, int(ask.load * ask.seconds)) if ask.client is not world.Client.CLOSED else 50
        latencies = np.full(count, 1.0 if ask.load > border else 1e-4)
        ended = np.linspace(0.0, ask.seconds, count, endpoint=False)
        seen = world.Reading(latencies=latencies, ended=ended, achieved_rps=ask.load, bound_s=1e-3)
        try:
            ask = rule.send(seen)
        except StopIteration as end:
            return float(end.value.load_rps)


@pytest.mark.parametrize("border", [7_300.0, 23_000.0])
@pytest.mark.parametrize(
    ("name", "within"),
    [
        ("cachecannon", 0.06),
        ("nighthawk", 0.02),
        ("wrk2 in a loop", 0.7),
        ("JMeter staircase", 0.7),
    ],
)
def test_a_rule_finds_the_border_of_a_server_without_noise(
    race: Any, name: str, within: float, border: float
) -> None:
    answer = _answer(race, name, border)
    assert border * (1 - within) <= answer <= border * 1.01, answer


def test_goodput_counts_streams(race: Any) -> None:
    assert 90 <= _answer(race, "guidellm goodput", 100.0) <= 100


@pytest.mark.parametrize("most", [23, 60])
def test_redline_stays_at_the_most_clients_without_an_error(race: Any, most: int) -> None:
    rule, active = race("rules").RULES["OSB redline"](), []
    ask = next(rule)
    while True:
        active.append(ask.load)
        latencies = np.full(50, 11.0 if ask.load > most else 0.01)  # its time-out is 10 s
        seen = race("world").Reading(
            latencies=latencies, ended=np.arange(50.0), achieved_rps=ask.load, bound_s=1e-3
        )
        try:
            ask = rule.send(seen)
        except StopIteration as end:
            answer = float(end.value.load_rps)
            break
    assert max(active) > most, "it tries until a request fails"
    assert most - 5 < answer <= most


def test_a_threshold_over_all_requests_is_looked_at_every_two_seconds(race: Any) -> None:
    rules, world = race("rules"), race("world")
    rule = rules.RULES["k6 ramp"]()
    ask = next(rule)
    at = world.arrivals(ask, np.random.default_rng(1))
    border_s = ask.seconds / 2  # from here on each request misses
    seen = world.Reading(
        latencies=np.where(at > border_s, 0.01, 1e-4), ended=at, achieved_rps=1.0, bound_s=1e-3
    )
    with pytest.raises(StopIteration) as end:
        rule.send(seen)
    # Of t² requests 1 % miss at t = border / √0.99, half a per cent later, and it looks every 2 s.
    answered_s = end.value.value.load_rps * ask.seconds / ask.load
    assert border_s < answered_s <= border_s / 0.99**0.5 + 2


def _server(race: Any) -> Any:
    """1,000 requests a second, 1 ms each."""
    queue = Queue(name="d", rate_rps=1000.0, bound_s=1e-3, border=1.0, is_fixed=True)
    return race("world").World(queue=queue, capacity=1.0, rng=np.random.default_rng(1))


def test_latencies_of_a_limited_client_leave_out_the_wait_for_a_connection(race: Any) -> None:
    world = race("world")

    def p99_s(client: Any) -> float:
        ask = world.Ask(client=client, load=1500.0, seconds=4.0, connections=10)
        return float(_server(race).measure(ask).p99_s)

    # Half more than it can serve, for 4 s: the last of 6,000 requests waits for 6 − 4 = 2 s.
    assert p99_s(world.Client.PACED) == pytest.approx(2.0, rel=0.05)
    assert p99_s(world.Client.LIMITED) == pytest.approx(10e-3, rel=0.05)  # ten in line, 1 ms each


def test_a_closed_client_never_sees_a_load_above_the_capacity(race: Any) -> None:
    world = race("world")
    seen = _server(race).measure(world.Ask(client=world.Client.CLOSED, load=8, seconds=3.0))
    assert seen.achieved_rps == pytest.approx(1000.0, rel=0.01)
    assert float(np.median(seen.latencies)) == pytest.approx(8e-3, rel=0.01)


def test_a_ramp_grows_from_nothing_to_its_load(race: Any) -> None:
    world = race("world")
    ask = world.Ask(client=world.Client.RAMP, load=600.0, seconds=10.0)
    at = world.arrivals(ask, np.random.default_rng(1))
    assert len(at) == pytest.approx(3000, abs=2)
    assert ((at > 8) & (at <= 9)).sum() == pytest.approx(510, abs=2)  # 600 · 8.5 / 10


def test_the_table_of_the_readme_is_a_part_of_the_page_s() -> None:
    """Median and range of eight in ten, as rows.csv has them."""
    columns = {"M/M/1": "mm1", "rare stalls of 5–20 ms": "vac", "slow phases": "slow"}
    with (ROOT / "bench/race/runs/2026-11-30/rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    at = lines.index("| rule | " + " | ".join(columns) + " |") + 2
    cells = [line.strip("| ").split(" | ") for line in lines[at : at + 5]]
    for rule, *own in cells:
        for queue, cell in zip(columns.values(), own, strict=True):
            answers = [float(r["load"]) for r in rows if (r["rule"], r["queue"]) == (rule, queue)]
            low, middle, high = np.quantile(answers, [0.1, 0.5, 0.9])
            assert cell == f"{middle:.2f} ({low:.2f}–{high:.2f})", (rule, queue)
    assert [rule for rule, *_ in cells][:2] == ["Sojourn, quick", "MLRsearch"]
