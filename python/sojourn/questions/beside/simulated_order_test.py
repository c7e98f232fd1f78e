"""The simulator's order of settings against a measured one: agreed, reversed, undecided."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn import programs
from sojourn.models.simulator import Command, Job, Result, Simulator
from sojourn.questions.beside import simulated_order, simulation
from sojourn.questions.beside.costs import Beside
from sojourn.questions.beside.interference import Break
from sojourn.questions.beside.simulation import Asked

ASKED = Asked(
    settings=("other", "nice:-20", "fifo:1", "deadline:1ms/2ms"),
    service_us=10.0,
    busy="6ms",
    period="48ms",
    most=0.5,
    alone_us=60.0,
    alone_load=0.1,
    base="cfs",
    q="p95",
)
KEY = "services.memcached.knobs.policy"


class Fake(Simulator):
    """Answers with a tail that breaks at a load known by policy and weight."""

    def run(self, command: Command, job: Job, *options: str) -> Result:
        service = job["services"][0]
        load = float(service["rate"]) * ASKED.service_us / 1e6
        at = {"rt": math.inf}.get(job["policy"], 0.4 if service["grant"] else 0.15)
        broken = bool(job["neighbours"]) and load >= at
        return {"services": [{"sojourn_ns": {"p95": 6e6 if broken else 30e3}}]}


def measured(setting: str, lo: float, hi: float) -> Beside:
    return Beside(
        service="memcached",
        setting=setting,
        levels=((KEY, setting),),
        neighbour="noise:wave",
        q=0.95,
        rows=(),
        breaks=Break(lo=lo, hi=hi, most=0.5),
        kept=None,
    )


def test_each_setting_breaks_where_its_simulated_tail_is_twice_that_alone() -> None:
    at = simulation.simulate(ASKED, Fake("none", 1))
    assert at == {"other": 0.15, "nice:-20": 0.4, "fifo:1": math.inf}


@pytest.mark.parametrize(
    ("other", "nice", "verdicts", "message"),
    [
        ((0.0, 0.1), (0.3, 0.5), ["concordant"] * 3, "is the measured one in all pairs"),
        # planted: nice breaks first, although the simulator says that it breaks last
        ((0.3, 0.5), (0.0, 0.1), ["reversed", "concordant", "concordant"], "reversed in 1"),
        ((0.0, 0.5), (0.1, 0.5), ["undecided", "concordant", "concordant"], "undecided in 1"),
    ],
)
def test_a_pair_is_judged_by_the_measured_intervals(
    other: tuple[float, float], nice: tuple[float, float], verdicts: list[str], message: str
) -> None:
    results = [
        measured("other", *other),
        measured("nice:-20", *nice),
        measured("fifo:1", 0.5, math.inf),
    ]
    at = {"other": 0.15, "nice:-20": 0.4, "fifo:1": math.inf}
    pairs = simulated_order.pairs_of(results, at)
    assert [pair.verdict for pair in pairs] == verdicts
    text = simulated_order.in_words(pairs, ASKED, ASKED.settings, at)
    assert message in text
    assert "it knows no deadline:1ms/2ms" in text
    assert ("nice:-20 breaks before other" in text) == ("reversed" in verdicts)


def test_settings_that_break_at_one_simulated_load_have_no_order() -> None:
    results = [measured("other", 0.0, 0.1), measured("nice:-20", 0.3, 0.5)]
    at = {"other": 0.15, "nice:-20": 0.15}
    assert simulated_order.pairs_of(results, at) == []
    assert "separates no two" in simulated_order.in_words([], ASKED, ["other", "nice:-20"], at)


def test_what_was_simulated_is_kept_until_something_else_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Any] = []

    def simulate(asked: Asked, simulator: Simulator) -> dict[str, float]:
        del simulator
        runs.append(asked)
        return {"other": 0.15, "fifo:1": math.inf}

    monkeypatch.setattr(simulation, "simulate", simulate)
    monkeypatch.setattr(programs, "find", lambda name, **_: Path(name))
    first = simulation.known(ASKED, tmp_path)
    assert simulation.known(ASKED, tmp_path) == first == {"other": 0.15, "fifo:1": math.inf}
    assert len(runs) == 1
    simulation.known(replace(ASKED, service_us=20.0), tmp_path)
    assert len(runs) == 2


@pytest.mark.skipif(programs.maybe("sojourn-sim") is None, reason="needs sojourn-sim")
def test_a_damaged_answer_is_simulated_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "Simulator", Fake)
    monkeypatch.setattr(programs, "find", lambda _: Path("none"))
    first = simulation.known(ASKED, tmp_path)
    (tmp_path / simulation.FILE).write_text("{")
    assert simulation.known(ASKED, tmp_path) == first
    monkeypatch.setattr(simulation, "DEPARTS", 1e6)  # what is asked of the same jobs
    assert simulation.known(ASKED, tmp_path)["other"] == math.inf


def test_the_simulator_takes_every_setting_that_is_known() -> None:
    settings = ("other", "nice:-20", "idle", "fifo:1", "slice:3ms", "bvt:16ms")
    asked = replace(ASKED, settings=settings, base="eevdf")
    simulator = Simulator.find()
    parts = [simulation.terms(name, "eevdf") for name in settings]
    jobs = [{**simulation._job(asked, part, 0.3), "duration": "300ms"} for part in parts]
    assert all(result["services"] for result in simulator.runs("sched", jobs))
