"""The shield on real servers: in force while a point is measured, and nothing left of it."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import host, run, samples
from sojourn.host import place
from sojourn.host.tree import Tree, cpu_list
from sojourn.knobs import priority
from sojourn.knobs.priority import Rank
from sojourn.places import proc
from sojourn.plan import Phase, Point
from sojourn.run import shield
from sojourn.run.session import placement
from sojourn.spec import Study

pytestmark = pytest.mark.e2e

Measure = Callable[[Study, Point], Path]
Needs = Callable[[str], None]
ORDINARY = Rank(policy=os.SCHED_OTHER, priority=0)


def shielded(study: Study, name: str) -> Study:
    return study.model_copy(update={"run": study.run.model_copy(update={"shield": name})})


def served(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((folder / "service.json").read_text())
    return table


def ranks(leader: int) -> set[Rank | None]:
    return {priority.rank(task) for task in proc.tasks(leader)}


@pytest.fixture
def bystander() -> Iterator[int]:
    """A process that the lab did not start, on the last CPU: the server's, where there are two."""
    words = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(words, start_new_session=True) as made:
        os.sched_setaffinity(made.pid, {max(os.sched_getaffinity(0))})
        yield made.pid
        made.kill()


def state_of(pid: int) -> tuple[int, int, int, set[int]]:
    policy, rank = os.sched_getscheduler(pid), os.sched_getparam(pid).sched_priority
    return policy, rank, os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid)


@pytest.mark.parametrize("kind", ["memcached", "nginx"])
def test_a_shielded_point_says_so_and_leaves_nothing(
    lab: SimpleNamespace,
    needs: Needs,
    measure: Measure,
    session: run.Session,
    bystander: int,
    kind: str,
) -> None:
    needs(kind)
    params = {"workers": 1} if kind == "nginx" else {}
    study = lab.study(kind, **params)
    before = state_of(bystander), state_of(os.getpid())
    folder = measure(study, lab.point(kind))
    got = served(folder)
    if got["shield"] == "none":
        pytest.skip(got["shield_why"])
    assert samples.read(folder).shield == "priority"
    assert got["shield_facts"]["threads"] == len(proc.tasks(got["pid"])) > 0
    assert ranks(got["pid"]) == {Rank(policy=os.SCHED_RR, priority=1)}
    assert ["shield", f"priority: {got['shield_why']}"] in got["setup"]
    assert (state_of(bystander), state_of(os.getpid())) == before
    tasks = proc.tasks(got["pid"])
    session.end()
    assert [task for task in tasks if priority.rank(task) is not None] == []


def test_no_shield_gives_none(lab: SimpleNamespace, needs: Needs, measure: Measure) -> None:
    needs("memcached")
    folder = measure(shielded(lab.study("memcached"), "none"), lab.point("memcached"))
    got = served(folder)
    assert (got["shield"], got["shield_why"]) == ("none", "the study asks for none")
    assert ranks(got["pid"]) == {ORDINARY}
    assert samples.read(folder).shield == "none"


def test_as_scheduled_is_a_life_of_its_own_without_it(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("memcached")
    study = lab.study("memcached")
    first = served(measure(study, lab.point("memcached")))
    point = dataclasses.replace(
        lab.point("memcached"), key="memcached/scheduled/b0", phase=Phase.SCHEDULED
    )
    folder = measure(study, point)
    second, machine = served(folder), json.loads((folder / "host.json").read_text())
    assert second["pid"] != first["pid"]
    assert second["shield"] == "none"
    assert "own scheduling" in second["shield_why"]
    assert ranks(second["pid"]) == {ORDINARY}
    assert machine["culprits_source"] in ("scheduler", "proc"), machine["culprits_why"]
    assert machine["culprits_s"] > 0


def test_nothing_of_the_lab_runs_on_the_servers_cpus(
    lab: SimpleNamespace, needs: Needs, tmp_path: Path, session: run.Session
) -> None:
    """Generator and wardens too, but for the sentinels: looked at while load runs."""
    needs("memcached")
    study, point = lab.study("memcached"), lab.point("memcached", measure_s=2.5)
    where = placement(study.services[0], session.facts)
    if set(where.server) & set(where.housekeeping):
        pytest.skip("one CPU: everybody shares it")
    numbers: dict[str, set[int]] = {}

    def look(event: run.Event) -> None:
        if event.step != "measure" or numbers:
            return
        for folder in (Path(f"/proc/{pid}/task") for pid in proc.pids() if _is_ours(pid)):
            for task in folder.iterdir():
                name = (task / "comm").read_text().strip()
                numbers[f"{name} {task.name}"] = os.sched_getaffinity(int(task.name))

    session.show = look
    folder = tmp_path / "p"
    folder.mkdir()
    run.execute(study, point, folder, session)
    server = {t.tid for t in proc.tasks(served(folder)["pid"])}
    lab_tasks = {who: cpus for who, cpus in numbers.items() if int(who.split()[-1]) not in server}
    assert any(who.startswith("sojourn-load") for who in lab_tasks)
    there = [who for who, cpus in lab_tasks.items() if cpus & set(where.server)]
    assert all(who.startswith("sojourn-load") for who in there)
    assert len(there) <= len(where.server)  # the sentinel that sleeps on each (M29)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What `move` takes for the machine: one interrupt, and no task at all."""
    file = tmp_path / "fake/proc/irq/24/smp_affinity_list"
    file.parent.mkdir(parents=True)
    file.write_text(f"0-{(os.cpu_count() or 1) - 1}")
    monkeypatch.setattr(shield, "TREE", Tree(tmp_path / "fake"))
    return file


def test_what_was_moved_is_back_when_the_service_ends(
    lab: SimpleNamespace, needs: Needs, measure: Measure, session: run.Session, fake: Path
) -> None:
    needs("memcached")
    if set(place(session.facts.topology).server) & set(place(session.facts.topology).client):
        pytest.skip("one CPU: there is no other to move to")
    before = fake.read_text()
    folder = measure(shielded(lab.study("memcached"), "move"), lab.point("memcached"))
    got = served(folder)
    assert fake.read_text() != before
    assert (got["shield"], samples.read(folder).shield) == ("move", "move")
    assert got["shield_facts"]["moved"]["interrupts"] == 1
    session.end()
    assert cpu_list(fake.read_text()) == cpu_list(before)


@pytest.mark.usefixtures("sigint_raises")
def test_what_was_moved_is_back_after_ctrl_c(
    lab: SimpleNamespace, needs: Needs, tmp_path: Path, state: Path, fake: Path
) -> None:
    needs("memcached")
    seen: list[str] = []

    def interrupt(event: run.Event) -> None:
        if event.step == "measure":
            seen.append(fake.read_text())
            os.kill(os.getpid(), signal.SIGINT)

    facts, before = host.read(sample_s=0), fake.read_text()
    if set(place(facts.topology).server) & set(place(facts.topology).client):
        pytest.skip("one CPU: there is no other to move to")
    study = shielded(lab.study("memcached"), "move")
    with (
        pytest.raises(KeyboardInterrupt),
        run.Session(facts, show=interrupt, state=state, every_s=1.0) as made,
    ):
        run.execute(study, lab.point("memcached", measure_s=5.0), tmp_path, made)
    assert seen[0] != before
    assert cpu_list(fake.read_text()) == cpu_list(before)


def _is_ours(pid: int) -> bool:
    """Whether this process or an ancestor of it is the lab, which is this test."""
    while pid > 1:
        if pid == os.getpid():
            return True
        seen = proc.stat(pid)
        pid = seen.parent if seen is not None else 0
    return False
