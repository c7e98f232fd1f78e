"""Hundreds of imagined clients (fakes): what each costs the real driver.

What the driver does is counted in calls of functions, not in time: a busy machine has the same
number. The agents' own are counted too, and are the same for each client.
"""

from __future__ import annotations

import cProfile
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sojourn import disk
from sojourn.hosts import clock, follow
from sojourn.hosts.fleet import FILES_OF, Fleet
from sojourn.hosts.simulated_testing import Imaginary, Model
from sojourn.hosts.testing import Notes
from sojourn.run.clients import Load
from sojourn.run.generator_job import Files
from sojourn.spec.hosts import HostsSpec

FEW, MANY = FILES_OF + 1, 400  # the fewest clients without stored files
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


@pytest.fixture(scope="module", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SOJOURN_STATE", str(tmp_path_factory.mktemp("lab") / "state"))
        patched.setattr(follow, "NEAR_S", 1.0)  # as few questions while load runs as can be
        patched.setattr(clock, "EXCHANGES_MAX", 1)  # few clients have more of them each
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return Model.measured(tmp_path_factory.mktemp("model"), JOB)


@dataclass(frozen=True, slots=True)
class Offered:
    """A point of so many clients: its result and folder, and the calls of agents and functions."""

    whole: dict[str, Any]
    folder: Path
    asked: int
    calls: int

    @property
    def files(self) -> list[Path]:
        """Results of single clients that were stored."""
        return [at for at in self.folder.glob("load.[0-9]*.json") if ".job" not in at.name]


def offered(count: int, model: Model, folder: Path) -> Offered:
    engine = Imaginary(count, model)
    more = {"rate": str(1000 * count), "connections": 2 * count, "hlog": str(folder / "load.hlog")}
    load = Load({**JOB, **more}, 1, Files.named(folder, "load"))
    with Fleet(HostsSpec(at="auto"), engine) as fleet:
        engine.meter.calls = 0
        with cProfile.Profile(subcalls=False) as profile:  # in C: it is ten times as fast
            (whole,) = fleet.offer([load], Notes())
    calls = sum(entry.callcount for entry in profile.getstats())
    return Offered(dict(whole), folder, engine.meter.calls, calls)


@pytest.fixture(scope="module")
def few(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Offered:
    return offered(FEW, model, tmp_path_factory.mktemp("few"))


def test_of_many_clients_each_costs_the_driver_no_more(
    model: Model, few: Offered, tmp_path: Path
) -> None:
    many = offered(MANY, model, tmp_path)
    for count, one in ((FEW, few), (MANY, many)):
        assert one.whole["requests"] == count * model.result["requests"]
        assert one.whole["sojourn_ns"]["count"] == count * model.result["sojourn_ns"]["count"]
        assert one.asked <= count * 15  # hello, clocks, start, looks, pack, drop
        clients = disk.read_json(one.folder / "hosts.json")["clients"]
        assert len({client["seed"] for client in clients}) == count
    assert many.calls / MANY < 1.1 * few.calls / FEW


def test_files_of_each_client_are_kept_where_they_are_few(
    model: Model, few: Offered, tmp_path: Path
) -> None:
    assert not few.files
    two = offered(2, model, tmp_path).files
    assert len(two) == 2
    for at in two:
        assert json.loads(at.read_text())["requests"] == model.result["requests"]
