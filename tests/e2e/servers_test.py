"""Real servers, from start to end, as the lab measures them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import programs, run
from sojourn.errors import Exit, HostFault, RunFault
from sojourn.places import Address, Place, ports, proc
from sojourn.plan import Point
from sojourn.services.clients import http_get
from sojourn.services.clients.where import Where
from sojourn.services.tpcc import trade
from sojourn.spec import Pin, Study

pytestmark = pytest.mark.e2e

Measure = Callable[[Study, Point], Path]
Needs = Callable[[str], None]


def read(folder: Path, name: str) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((folder / name).read_text())
    return table


def is_alive(pid: int) -> bool:
    seen = proc.stat(pid)
    return seen is not None and seen.state != "Z"


KINDS = ("memcached", "nginx", "redis", "ordered_map", "silo", "synthetic")


@pytest.mark.parametrize("kind", KINDS)
def test_a_point_is_measured_and_everything_kept(
    lab: SimpleNamespace, needs: Needs, measure: Measure, kind: str
) -> None:
    needs(kind)
    folder = measure(lab.study(kind), lab.point(kind))
    assert lab.wrong(folder) == {}
    load, served = read(folder, "load.json"), read(folder, "service.json")
    assert load["job"]["target"].rstrip("/").endswith(f":{served['port']}")
    assert read(folder, "run.json")["state"] == "done"
    machine = read(folder, "host.json")
    assert machine["server_cpu_s"] >= 0
    assert machine["server_switches"]["voluntary"] + machine["server_switches"]["involuntary"] > 0
    assert set(served["pins"].values()) <= set(served["placement"]["server"])


def test_a_database_is_placed_counted_audited_and_gone_as_a_whole(
    lab: SimpleNamespace, needs: Needs, measure: Measure, session: run.Session
) -> None:
    needs("shore")
    point = replace(lab.point("shore"), offered_rps=30.0)
    folder = measure(lab.study("shore"), point)
    load, served = read(folder, "load.json"), read(folder, "service.json")
    assert lab.wrong(folder) == {}
    assert load["replies"]["rows"] >= load["replies"]["count"] > 0
    assert load["replies"]["failed"] == {}
    facts = dict(map(tuple, served["setup"]))
    assert facts["answers checked"].startswith("8 requests")
    assert "payments" in facts["consistent"]
    done = sum(map(int, re.findall(r"\d+", facts["consistent"])))
    assert done >= 8 + load["replies"]["rows"], "every request that was answered was done"
    members = [member.pid for member in proc.session(served["pid"])]
    assert len(members) > 3
    server = set(served["placement"]["server"])
    assert all(os.sched_getaffinity(pid) <= server for pid in members)
    # A connection's process has ended by now: its CPU time is in the sum all the same.
    spent_s = read(folder, "host.json")["server_cpu_s"]
    living_s = sum(member.cpu_ns for member in proc.session(served["pid"])) / 1e9
    assert spent_s > 0
    assert proc.used_ns(served["pid"]) / 1e9 >= max(spent_s, living_s)
    session.end()
    assert not any(map(is_alive, members))


def test_all_threads_of_a_virtual_machine_are_placed_and_its_workers_pinned(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("specjbb")
    folder = measure(lab.study("specjbb", threads=2), lab.point("specjbb"))
    assert lab.wrong(folder) == {}
    served = read(folder, "service.json")
    setup = dict(served["setup"])
    assert setup["books"].startswith("agree after")
    assert "of rehearsal" in setup["compiler"]
    tasks = proc.tasks(served["pid"])
    named = {task.tid for task in tasks if task.name in {"worker-0", "worker-1"}}
    assert {int(tid) for tid in served["pins"]} == named
    for task in tasks:  # the compiler's and the collector's too
        where = os.sched_getaffinity(task.tid)
        assert where <= set(served["placement"]["server"]), task.name
        assert task.tid not in named or where == {served["pins"][str(task.tid)]}
    assert {"C2 CompilerThre", "VM Thread"} <= {task.name for task in tasks}


def test_a_service_whose_books_do_not_agree_fails_its_point_and_ends(
    lab: SimpleNamespace, measure: Measure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object) -> None:
        raise RunFault("its books do not agree", at="here", fix="none")

    monkeypatch.setattr(trade.Trade, "audit", broken)
    with pytest.raises(RunFault, match="books do not agree"):
        measure(lab.study("silo"), lab.point("silo"))
    (folder,) = tmp_path.glob("silo-*")
    assert read(folder, "run.json")["state"] == "failed"
    assert not is_alive(read(folder, "service.json")["pid"])
    assert read(folder, "query.json")["check"]["state"] == "holds"


def test_memcached_holds_every_item_and_its_threads_are_pinned(
    lab: SimpleNamespace, needs: Needs, measure: Measure, session: run.Session
) -> None:
    needs("memcached")
    folder = measure(lab.study("memcached", threads=2), lab.point("memcached"))
    served = read(folder, "service.json")
    assert ["items held", "5 000"] in served["setup"]
    named = {task.tid for task in proc.tasks(served["pid"]) if task.name == "mc-worker"}
    assert {int(tid) for tid in served["pins"]} == named
    assert len(named) == 2
    for tid, cpu in served["pins"].items():
        assert os.sched_getaffinity(int(tid)) == {cpu}
    if os.geteuid() == 0 and served["user"] == "nobody":
        assert Path(f"/proc/{served['pid']}").stat().st_uid != 0
    assert session.journal.path.exists()


def test_instances_share_the_keys_and_all_of_them_end(
    lab: SimpleNamespace, needs: Needs, measure: Measure, session: run.Session
) -> None:
    needs("memcached")
    study = lab.study("memcached", threads=1, instances=2)
    folder = measure(study, lab.point("memcached"))
    served, load = read(folder, "service.json"), read(folder, "load.json")
    assert ["items held", "5 000"] in served["setup"], "together"
    assert lab.wrong(folder) == {}
    first = served["port"]
    assert load["job"]["target"].endswith(f":{first},{served['host']}:{first + 1}")
    workers = {task.pid for task in proc.tasks(served["pid"]) if task.name == "mc-worker"}
    assert len(workers) == len(served["pins"]) == 2
    assert {
        owner for port in (first, first + 1) if (owner := ports.owner(port, workers))
    } == workers
    assert len(read(folder, "host.json")["worker_cpu_s"]) == 2
    session.end()
    assert not any(map(is_alive, workers))


def test_an_instance_that_dies_takes_the_others_with_it(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("memcached")
    study = lab.study("memcached", threads=1, instances=2)
    served = read(measure(study, lab.point("memcached")), "service.json")
    workers = {task.pid for task in proc.tasks(served["pid"]) if task.name == "mc-worker"}
    os.kill(max(workers), signal.SIGKILL)
    until = time.monotonic() + 300
    while any(map(is_alive, workers)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(map(is_alive, workers))


def test_workers_that_are_not_pinned_may_be_on_all_cpus_of_the_server(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("memcached")
    study = lab.study("memcached", threads=2)
    free = study.services[0].model_copy(update={"pin": Pin.NONE})
    folder = measure(study.model_copy(update={"services": (free,)}), lab.point("memcached"))
    served = read(folder, "service.json")
    assert served["pins"] == {}
    allowed = {tuple(os.sched_getaffinity(task.tid)) for task in proc.tasks(served["pid"])}
    assert allowed == {tuple(served["placement"]["server"])}


def test_nginx_workers_are_pinned_and_files_are_right(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("nginx")
    served = read(measure(lab.study("nginx"), lab.point("nginx")), "service.json")
    assert len(served["pins"]) == 2
    for pid, cpu in served["pins"].items():
        assert os.sched_getaffinity(int(pid)) == {cpu}
    address = Address(served["host"], served["port"])
    page = ports.ask(address, b"GET /7.html HTTP/1.0\r\n\r\n", within_s=5.0, until=b"7 7 7 7 ")
    assert page is not None
    assert page.startswith(b"HTTP/1.1 200")


def test_nginx_serves_its_files_in_http2(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("nginx")
    folder = measure(lab.study("nginx", http2=True), lab.point("nginx"))
    served, result = read(folder, "service.json"), read(folder, "load.json")
    assert result["job"]["target"].startswith("h2c://")
    assert (result["errors"], result["job"]["depth"]) == ({}, 16)
    assert result["replies"]["bytes_min"] == result["replies"]["bytes_max"] == 4096
    at = Where(scheme="h2c", host=served["host"], port=served["port"])
    assert (http_get.page(at, "/7.html", 5.0) or b"").startswith(b"7 7 7 7 ")


def test_a_server_on_the_cpus_that_a_knob_leaves_it_is_in_force_there(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("memcached")
    cpu = min(os.sched_getaffinity(0))
    study = lab.study("memcached", knobs={"cpuset": f"{cpu}"})
    served = read(measure(study, lab.point("memcached")), "service.json")
    assert served["placement"]["server"] == [cpu]
    assert set(served["pins"].values()) == {cpu}
    allowed = {tuple(os.sched_getaffinity(task.tid)) for task in proc.tasks(served["pid"])}
    assert allowed == {(cpu,)}
    knob = served["knobs"]["cpuset"]
    assert (knob["level"], knob["by"], knob["felt"]) == (f"{cpu}", "sched affinity", "holds")
    assert any(what == "cpuset" and "holds" in how for what, how in served["setup"])


def test_a_life_is_one_start_and_a_repeat_is_a_restart(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("memcached")
    study = lab.study("memcached")
    points = [("a", 0), ("b", 0), ("c", 1)]
    first, second, third = (
        read(measure(study, lab.point("memcached", name=name, repeat=repeat)), "service.json")
        for name, repeat in points
    )
    assert first["pid"] == second["pid"]
    assert third["pid"] != first["pid"]
    assert not is_alive(first["pid"])
    assert third["life"] != first["life"]


def test_another_service_ends_the_first_one(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("memcached")
    study = lab.study("memcached", "null")
    first = read(measure(study, lab.point("memcached")), "service.json")
    measure(study, lab.point("null"))
    assert not is_alive(first["pid"])
    assert ports.is_free(first["port"])


def test_a_taken_port_names_its_holder(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("memcached")
    with socket.socket() as other:
        other.bind((ports.HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(HostFault) as caught:
            measure(lab.study("memcached", port=port), lab.point("memcached"))
    assert f"port {port} is taken by" in caught.value.what
    assert str(os.getpid()) in caught.value.what
    assert caught.value.exit == Exit.USAGE


def when_measuring(session: run.Session, act: Callable[[int], None]) -> None:
    """Do something to the server once load runs."""
    done = threading.Event()

    def see(event: run.Event) -> None:
        served = session._served.get(event.service)
        if event.step != "measure" or served is None or done.is_set():
            return
        if served.live.process is not None:
            done.set()
            act(served.live.process.pid)

    session.show = see


def test_a_server_that_is_killed_ends_the_point_and_not_the_study(
    lab: SimpleNamespace, needs: Needs, measure: Measure, session: run.Session, tmp_path: Path
) -> None:
    needs("memcached")
    when_measuring(session, lambda pid: os.kill(pid, signal.SIGKILL))
    study = lab.study("memcached")
    with pytest.raises(RunFault, match="was killed by SIGKILL"):
        measure(study, lab.point("memcached", measure_s=30.0))
    folder = tmp_path / "memcached-sweep-p"
    assert read(folder, "run.json")["state"] == "failed"
    assert "SIGKILL" in read(folder, "run.json")["fault"]["what"]
    assert read(folder, "load.json")["requests"] > 0  # what was measured is kept
    again = measure(study, lab.point("memcached", name="again"))
    assert lab.wrong(again) == {}


def test_a_server_that_stops_answering_is_found(
    lab: SimpleNamespace, needs: Needs, measure: Measure, session: run.Session
) -> None:
    needs("memcached")
    when_measuring(session, lambda pid: os.kill(pid, signal.SIGSTOP))
    with pytest.raises(RunFault, match="has not answered for"):
        measure(lab.study("memcached"), lab.point("memcached", measure_s=60.0))


def test_a_short_stall_is_measured_and_not_a_fault(
    lab: SimpleNamespace, needs: Needs, measure: Measure, session: run.Session
) -> None:
    needs("memcached")

    def stall(pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(0.3, os.kill, (pid, signal.SIGCONT)).start()

    when_measuring(session, stall)
    folder = measure(lab.study("memcached"), lab.point("memcached", measure_s=3.0))
    assert lab.wrong(folder) == {}
    assert read(folder, "load.json")["sojourn_all_ns"]["max"] > 200_000_000


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the servers' user can enter, as pytest's own cannot be."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("echo cannot bind >&2; exit 71", "ended with exit status 71 before it answered"),
        ("kill -SEGV $$", "was killed by SIGSEGV before it answered"),
        ("exec sleep 600", "did not answer within"),
    ],
)
def test_a_server_that_does_not_come_up(
    lab: SimpleNamespace,
    measure: Measure,
    open_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    text: str,
) -> None:
    fake = open_folder / "memcached"
    fake.write_text(f"#!/bin/sh\n[ $1 = -V ] && echo memcached 0.0.0 && exit\n{script}\n")
    fake.chmod(0o755)
    find = programs.find
    monkeypatch.setattr(
        programs, "find", lambda name, fix=None: fake if name == "memcached" else find(name)
    )
    monkeypatch.setattr(Place, "start_s_max", 1.0)
    with pytest.raises(RunFault) as caught:
        measure(lab.study("memcached"), lab.point("memcached"))
    assert text in caught.value.what
    if "echo" in script:
        assert "cannot bind" in caught.value.what
