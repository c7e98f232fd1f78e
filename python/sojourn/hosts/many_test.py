"""Hundreds of imagined clients (fakes): what each costs the real driver.

What the driver does is counted in calls of functions, not in time: a busy machine has the same
number. The agents' own are counted too, and are the same for each client.
"""

from __future__ import annotations

import cProfile
import json
from pathlib import Path
from typing import Any

import pytest

from sojourn import disk
from sojourn.hosts import crew, follow
from sojourn.hosts.fleet import FILES_OF, Fleet
from sojourn.hosts.simulated_testing import Imaginary, Model
from sojourn.hosts.testing import Notes
from sojourn.run.clients import Load
from sojourn.run.generator_job import Files
from sojourn.spec.hosts import HostsSpec

FEW, MANY = 40, 400
JOB = {
    "target": "null:",
    "rate": "1000",
    "duration": "0.4s",
    "warmup": "0.1s",
    "connections": 2,
    "wait": "sleep",
    "seed": 3,
    "outage_over": "10s",
    "timely_within": "10s",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return Model.measured(tmp_path_factory.mktemp("model"), JOB)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(follow, "NEAR_S", 1.0)  # as few questions while load runs as can be
    monkeypatch.setattr(crew, "EXCHANGES_MAX", 1)  # few clients have more of them each


def offered(count: int, model: Model, folder: Path) -> tuple[dict[str, Any], Imaginary, int]:
    """A point of so many clients: its result, the engine, and the calls of functions."""
    engine = Imaginary(count, model)
    more = {"rate": str(1000 * count), "connections": 2 * count, "hlog": str(folder / "load.hlog")}
    load = Load({**JOB, **more}, 1, Files.named(folder, "load"))
    with Fleet(HostsSpec(at="auto"), engine) as fleet:
        engine.meter.calls = 0
        with cProfile.Profile(subcalls=False) as profile:  # in C: it is ten times as fast
            (whole,) = fleet.offer([load], Notes())
    return dict(whole), engine, sum(entry.callcount for entry in profile.getstats())


def test_of_many_clients_each_costs_the_driver_no_more(model: Model, tmp_path: Path) -> None:
    spent: dict[int, float] = {}
    for count in (FEW, MANY):
        folder = tmp_path / str(count)
        folder.mkdir()
        whole, engine, calls = offered(count, model, folder)
        spent[count] = calls / count
        assert whole["requests"] == count * model.result["requests"]
        assert whole["sojourn_ns"]["count"] == count * model.result["sojourn_ns"]["count"]
        assert engine.meter.calls <= count * 15  # hello, clocks, start, looks, pack, drop
        clients = disk.read_json(folder / "hosts.json")["clients"]
        assert len({one["seed"] for one in clients}) == count
    assert spent[MANY] < 1.1 * spent[FEW], spent


def test_files_of_each_client_are_kept_where_they_are_few(model: Model, tmp_path: Path) -> None:
    for count in (2, FILES_OF + 1):
        folder = tmp_path / str(count)
        folder.mkdir()
        offered(count, model, folder)
        files = [at for at in folder.glob("load.[0-9]*.json") if ".job" not in at.name]
        assert len(files) == (count if count <= FILES_OF else 0)
        for at in files:
            assert json.loads(at.read_text())["requests"] == model.result["requests"]
