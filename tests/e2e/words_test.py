"""Search, speech and translation as the lab measures them, where they were made."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import run, samples
from sojourn.places import proc
from sojourn.plan import Point
from sojourn.spec import Study

pytestmark = pytest.mark.e2e

Measure = Callable[[Study, Point], Path]
Needs = Callable[[str], None]
RATES = {"xapian": 500.0, "sphinx": 1.0, "moses": 100.0}
LENGTHS_S = {"sphinx": 4.0}
STAGES = 11


def read(folder: Path, name: str) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((folder / name).read_text())
    return table


@pytest.mark.parametrize("kind", RATES)
def test_a_point_is_measured_and_every_reply_is_whole(
    lab: SimpleNamespace, needs: Needs, measure: Measure, session: run.Session, kind: str
) -> None:
    needs(kind)
    length_s = LENGTHS_S.get(kind, 1.0)
    point = replace(lab.point(kind, measure_s=length_s), offered_rps=RATES[kind])
    folder = measure(lab.study(kind), point)
    outcome, served = samples.read(folder), read(folder, "service.json")
    assert lab.wrong(folder) == {}
    setup = dict(served["setup"])
    assert setup["answers checked"].startswith("5 queries, as they were when")
    assert read(folder, "host.json")["server_cpu_s"] > 0
    members = proc.session(served["pid"])
    assert len(members) == (1 + 2 * STAGES if kind == "moses" else 1)
    allowed = set(served["placement"]["server"])
    for task in proc.tasks_of(members):
        assert os.sched_getaffinity(task.tid) <= allowed
    session.end()
    report = read(folder, "query.json")
    assert report["answered"] >= outcome.requests - outcome.lost
    assert report["refused"] == 0


def test_a_pipeline_is_pinned_and_counted_with_its_worker(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("moses")
    point = replace(lab.point("moses"), offered_rps=100.0)
    folder = measure(lab.study("moses"), point)
    served, machine = read(folder, "service.json"), read(folder, "host.json")
    named = {int(tid): cpu for tid, cpu in served["pins"].items()}
    assert len(named) == 2 * (1 + STAGES)
    tasks = proc.tasks_of(proc.session(served["pid"]))
    for nth in range(2):
        crew = {
            named[task.tid]
            for task in tasks
            if task.name == f"worker-{nth}" or task.command.startswith(f"worker-{nth}/")
        }
        assert len(crew) == 1, "one CPU for a worker and its stages"
        assert all(
            os.sched_getaffinity(task.tid) == crew
            for task in tasks
            if task.command.startswith(f"worker-{nth}/")
        )
    assert len(machine["worker_cpu_s"]) == 2
    # All but the reader's own time is the workers': the stages are counted with them.
    assert sum(machine["worker_cpu_s"]) > 0.8 * machine["server_cpu_s"]
