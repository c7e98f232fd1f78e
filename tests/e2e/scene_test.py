"""Scenes on a real server: a neighbour beside it, a manager above it, and a null everything."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import actors, programs, run, samples
from sojourn.actors.probes import host as counters
from sojourn.actors.probes import trace
from sojourn.errors import HostFault, RunFault
from sojourn.places import proc
from sojourn.plan import Phase, Point
from sojourn.plan.setting import Setting
from sojourn.questions.blame import files as stopped
from sojourn.questions.blame import plan as blame
from sojourn.questions.blame.asks import OfService
from sojourn.samples import resources
from sojourn.spec import ServiceSpec, Study

pytestmark = pytest.mark.e2e

Measure = Callable[[Study, Point], Path]
Needs = Callable[[str], None]


def read(folder: Path, name: str) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((folder / name).read_text())
    return table


def test_a_server_is_measured_beside_a_neighbour_and_then_alone(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("memcached")
    beside = measure(lab.study("memcached", neighbour="spin"), lab.point("memcached"))
    host, service = read(beside, "host.json"), read(beside, "service.json")
    server = service["placement"]["server"]
    assert host["neighbour"]["kind"] == "spin"
    assert set(host["neighbour"]["cpu_s"]) == {str(cpu) for cpu in server}
    assert sum(host["neighbour"]["cpu_s"].values()) > 0
    assert service["shield"] == "none"
    cpus = ", ".join(map(str, server))
    text = f"spin on CPU {cpus}, beside every point, the load axis included"
    assert ["neighbour", text] in service["setup"]
    assert samples.read(beside).requests > 0
    alone = measure(lab.study("memcached"), lab.point("memcached", name="alone"))
    host = read(alone, "host.json")
    assert "neighbour" not in host
    assert host["neighbours_on_server_share"] == 0.0


def test_what_a_server_uses_is_sampled_and_agrees_with_the_counters_of_the_whole_run(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    """Two ways to the same share: samples of threads, and the processes before and after."""
    needs("memcached")
    folder = measure(lab.study("memcached"), lab.point("memcached", measure_s=3.0))
    table, host = read(folder, "resources.json"), read(folder, "host.json")
    assert table["probe"]["cpu_s"] > 0
    served = set(read(folder, "service.json")["placement"]["server"])
    assert not table["probe"]["is_apart"] or served.isdisjoint(table["probe"]["cpus"])
    reports = [
        (share, length_s)
        for share, length_s in zip(
            table["columns"].get("service_cpu_share", []), table["length_s"], strict=False
        )
        if share is not None
    ]
    if sum(length_s for _, length_s in reports) < 0.6 * host["length_s"]:
        pytest.skip("the probe was kept from its CPU for most of the run")
    used_s = sum(share * length_s for share, length_s in reports) * len(served)
    # What is not in a sample is used as well; ticks are 10 ms a process.
    assert used_s <= 1.1 * host["server_cpu_s"] + 0.05
    assert used_s >= 0.3 * host["server_cpu_s"] - 0.05
    own = resources.read(folder)
    assert own is not None
    assert "service_cpu_share" in own.names


def test_a_manager_moves_a_neighbour_while_load_runs_and_everything_is_back_afterwards(
    lab: SimpleNamespace, needs: Needs, measure: Measure, session: run.Session
) -> None:
    """`sojourn manage` with a fixed quota: the neighbour gets that much of a CPU, and no more."""
    needs("memcached")
    study = lab.study("memcached", neighbour="spin:server", manager="static:quota=0.3")
    study = study.model_copy(update={"services": (_with_target(study.services[0]),)})
    try:
        actors.check(study, study.services[0], session.facts)
    except HostFault as fault:
        pytest.skip(fault.what)
    asked = lab.point("memcached", measure_s=4.0)
    asked = dataclasses.replace(asked, overrides=(("qos_quantile", 0.99), ("qos_bound", "1ms")))
    folder = measure(study, asked)
    did, host = read(folder, "manager.json"), read(folder, "host.json")
    assert (did["manager"], did["ended"]) == ("static", "")
    assert did["settled"]["quota"] == 0.3
    audit = [json.loads(line) for line in (folder / "manager.audit.jsonl").read_text().splitlines()]
    changes = [event for event in audit if event["event"] == "change"]
    assert all(change["in_force"] for change in changes)
    assert audit[-1] == {**audit[-1], "event": "end", "stuck": []}
    windows = [json.loads(line) for line in (folder / "windows.jsonl").read_text().splitlines()]
    assert sum(window["n"] for window in windows) > 0
    (used_s,) = [host["neighbour"]["cpu_s"][cpu] for cpu in host["neighbour"]["cpu_s"]][:1]
    assert used_s > 0
    text = dict(read(folder, "service.json")["setup"])["manager"]
    assert text.startswith("static, by sojourn manage: ")
    groups = host["groups"]["spin:server"]["cgroup"]
    assert not Path("/sys/fs/cgroup/cpu" + groups).exists(), "its group is gone"


def _with_target(spec: ServiceSpec) -> ServiceSpec:
    return ServiceSpec.model_validate(
        {**spec.model_dump(by_alias=True), "qos": {"q": 0.99, "bound": "1ms"}}
    )


def test_a_probe_that_cannot_enter_fails_the_point_and_leaves_its_server_for_the_next(
    lab: SimpleNamespace,
    needs: Needs,
    measure: Measure,
    session: run.Session,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    needs("memcached")

    def broken(*_: object) -> None:
        raise RunFault("no counters", at="/proc", fix="none")

    with monkeypatch.context() as patch:
        patch.setattr(counters, "moment", broken)
        with pytest.raises(RunFault, match="no counters"):
            measure(lab.study("memcached"), lab.point("memcached"))
    folder = tmp_path / "memcached-sweep-p"
    assert read(folder, "run.json")["state"] == "failed"
    pid = read(folder, "service.json")["pid"]
    again = measure(lab.study("memcached"), lab.point("memcached", name="again"))
    assert read(again, "service.json")["pid"] == pid


def traced(lab: SimpleNamespace, name: str, *, is_traced: bool) -> Point:
    levels = {"load": 0.01, "neighbour": "spin", "connections": 1, "tracer": is_traced}
    point: Point = dataclasses.replace(
        lab.point("memcached", name=name, measure_s=2.0),
        phase=Phase.TRACE,
        setting=Setting.of(levels),
        fraction=0.01,
        overrides=(("connections", 1), ("threads", 1)),
    )
    return point


def test_a_traced_point_beside_a_neighbour_and_its_twin(
    lab: SimpleNamespace, needs: Needs, measure: Measure, session: run.Session
) -> None:
    """What was the condition "context switch": the tracer is a probe, the disturber a neighbour."""
    needs("memcached")
    study = lab.study("memcached", goals=("breakdown",))
    try:
        actors.check(study, study.services[0], session.facts)
    except HostFault as fault:
        pytest.skip(fault.what)
    folder = measure(study, traced(lab, "with", is_traced=True))
    assert read(folder, "trace.json")["matched"] > 0
    assert read(folder, "host.json")["neighbour"]["kind"] == "spin"
    assert "neighbour" not in dict(read(folder, "service.json")["setup"])  # the setting says it
    twin = measure(study, traced(lab, "without", is_traced=False))
    assert not (twin / "trace.json").exists()
    assert read(twin, "host.json")["neighbour"]["kind"] == "spin"
    assert read(twin, "service.json")["pid"] == read(folder, "service.json")["pid"]


def test_a_tracer_that_does_not_trace_fails_the_point_with_its_own_words(
    lab: SimpleNamespace,
    needs: Needs,
    measure: Measure,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    needs("memcached")
    fake = tmp_path / "tracer"
    fake.write_text("#!/bin/sh\necho 'error: no such process' >&2\nexit 1\n")
    fake.chmod(0o755)
    find = programs.find
    monkeypatch.setattr(
        programs, "find", lambda name, **more: fake if name == trace.PROGRAM else find(name, **more)
    )
    study = lab.study("memcached", goals=("breakdown",))
    with pytest.raises(RunFault, match="does not trace: error: no such process"):
        measure(study, traced(lab, "with", is_traced=True))
    folder = tmp_path / "memcached-sweep-with"
    assert read(folder, "run.json")["state"] == "failed"
    assert not (folder / "load.json").exists()  # nothing is measured that was to be traced
    assert sum(read(folder, "host.json")["neighbour"]["cpu_s"].values()) >= 0  # and it has left


def test_a_suspect_is_stopped_in_its_windows_and_runs_in_the_others(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    """What it uses while it is stopped: nothing, or the tick that was begun before."""
    needs("memcached")
    asked = {"rate": "1k", "neighbours": "spin:server"}
    bare = lab.study("memcached", goals=("blame",))
    spec = OfService.model_validate({**dict(bare.services[0]), "blame": asked})
    study = bare.model_copy(update={"services": (spec,)})
    (kind,) = (kind for kind in blame.KIND.phases if kind.name is blame.PHASE)
    point = dataclasses.replace(
        lab.point("memcached", name="blame", measure_s=5.5),
        phase=blame.PHASE,
        rules=dataclasses.replace(kind.rules, neighbours=blame.neighbours(study, spec)),
    )
    folder = measure(study, point)
    text = stopped.read(folder, samples.read(folder))
    assert text is not None
    assert text.file.failed == ""
    (suspect,) = text.file.suspects
    assert suspect.name == "spin:server"
    assert not any(proc.stat(pid) for pid in suspect.pids)  # it ended with the point
    if len(text.windows) < 4:
        pytest.skip("the lab was kept from its CPU for most of the run")
    used: dict[bool, int] = {True: 0, False: 0}
    for window in text.windows:
        used[bool(window.stopped)] += window.entry.suspects[0].cpu_ns
    stops = sum(bool(window.stopped) for window in text.windows)
    assert used[True] <= stops * proc.TICK_NS
    assert used[False] > used[True]
    assert read(folder, "host.json")["neighbour"]["died"] == []
