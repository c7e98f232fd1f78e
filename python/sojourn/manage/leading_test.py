"""Leading signals of real sockets are what was caused; what is missing says why.

Pressure, disks and resctrl are of made-up trees: groups here are of version 1.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.controllers.look import Signal
from sojourn.host.sockets_test import line, table
from sojourn.host.tree import Tree
from sojourn.manage import facts, leading, monitors, testing
from sojourn.manage.accounts_test import DEV, link
from sojourn.manage.leading import CROWDED, FIRST, SHARED, SHRANK, UNREADABLE, Leading
from sojourn.manage.signals_test import written
from sojourn.manage.testing import until

SERVER = """
import socket, sys, time
families = {"4": (socket.AF_INET, "127.0.0.1"), "6": (socket.AF_INET6, "::1")}
family, host = families[sys.argv[1]]
one = socket.create_server((host, 0), family=family, backlog=16)
print(one.getsockname()[1], flush=True)
accepted = one.accept()
time.sleep(600)
"""
AT = "/sys/fs/cgroup/web"
NAMES = {*facts.QUEUES, *facts.PRESSURES, *facts.MONITORED, "disk", "network"}


def group(*pids: int, name: str = "web", is_service: bool = True, **more: Any) -> Any:
    """A group of these processes, in a folder of version 2."""
    folder = SimpleNamespace(folder=AT, version=2)
    parts = {"cpu": folder, "cpuset": None, "others": {}, "disk": "", **more}
    spec = SimpleNamespace(pid=pids[0] if pids else 1, cgroup="/web")
    service = {"name": name, "is_best_effort": not is_service, "pids": lambda: pids}
    return SimpleNamespace(**service, spec=spec, **parts)


@contextmanager
def server(family: str, *before: str) -> Iterator[tuple[int, int]]:
    """A process that listens, accepts one connection and reads nothing: its number, its port."""
    words = [*before, sys.executable, "-c", SERVER, family]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        try:
            yield program.pid, int(testing.line(program))
        finally:
            program.kill()


def values(signals: dict[str, Signal]) -> dict[str, float]:
    return {name: one.value for name, one in signals.items()}


@pytest.mark.parametrize("has_diag", [True, False])
@pytest.mark.parametrize(("family", "host"), [("4", "127.0.0.1"), ("6", "::1")])
def test_queues_of_a_service_are_what_clients_put_there(
    family: str, host: str, *, has_diag: bool
) -> None:
    one = Leading(Tree())
    if not has_diag:
        one._diag = None
    elif one._diag is None:
        pytest.skip("sock_diag is not there, or would load a module")
    with server(family) as (pid, port):
        clients = [socket.create_connection((host, port)) for _ in range(4)]
        for client in clients[:2]:
            client.send(b"x" * 300)
        service, now_s = group(pid), 0.0

        def read() -> dict[str, float]:
            nonlocal now_s
            now_s += 1e6  # a reading that is slow is repeated seldom
            return values(one.of_group(service, now_s)[0])

        wanted = {"accept_queue": 3, "receive_queue_bytes": 600}
        assert until(lambda: read().items() >= wanted.items())
        signals, missing = one.of_group(service, now_s + 0.001)
        assert signals["receive_queue_bytes"].age_ms == 1, "it is spared, and says its age"
        assert signals["accept_queue"].age_ms == (0 if has_diag else 1)
        assert missing["network"].startswith("its network namespace is the machine's")
        for client in clients:
            client.close()


def test_a_service_that_does_not_listen_has_no_queues_and_a_batch_job_is_not_asked() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as program:
        one = Leading(Tree())
        signals, missing = one.of_group(group(program.pid), 1.0)
        assert not {*facts.QUEUES} & {*signals}
        assert {missing[name] for name in facts.QUEUES} == {facts.NO_PORT}
        _, missing = one.of_group(group(program.pid, name="batch", is_service=False), 1.0)
        assert not {*facts.QUEUES} & {*missing}
        program.communicate(b"\n")
    _, missing = one.of_group(group(program.pid), 100.0)
    assert missing["accept_queue"] == missing["network"] == "none of its processes is there"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a network namespace")
def test_queues_in_a_namespace_of_its_own_are_read_too() -> None:
    up = ["sh", "-c", 'ip link set lo up; exec "$@"', "-"]
    with server("4", "unshare", "--net", "--", *up) as (pid, port):
        send = (
            "import socket, time\n"
            f"ends = [socket.create_connection(('127.0.0.1', {port})) for _ in range(3)]\n"
            "ends[0].send(b'x' * 70)\nprint(flush=True)\ntime.sleep(600)"
        )
        inside = ["nsenter", f"--net=/proc/{pid}/ns/net", sys.executable, "-c", send]
        with subprocess.Popen(inside, stdout=subprocess.PIPE, text=True) as client:
            try:
                assert testing.line(client) == "\n"
                one = Leading(Tree())
                one.of_group(group(pid), 0.0)
                time.sleep(0.05)
                signals, missing = one.of_group(group(pid), 100.0)
            finally:
                client.kill()
        queues = {name: values(signals)[name] for name in facts.QUEUES}
        assert queues == {"accept_queue": 2, "receive_queue_bytes": 70}
        assert missing["network"] == UNREADABLE, "it has no link but loopback"


def net(root: Path, pid: int, received: int, like: int = 0) -> None:
    """Links of a process's network namespace; it is that of the process `like`, if there is one."""
    text = DEV + link("lo", 9, 9) + link("eth0", received, 0)
    path = root / f"proc/{pid}/net/dev"
    if like:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.hardlink_to(root / f"proc/{like}/net/dev")
        return
    written(root, {f"proc/{pid}/net/dev": text})


def made(root: Path, second: int) -> Tree:
    """A machine at some second: one process, 7, in a namespace of its own, with all its counts."""
    net(root, 1, 0)
    net(root, 7, 1000 * second)
    fd = root / "proc/7/fd"
    fd.mkdir(parents=True, exist_ok=True)
    if not (fd / "3").is_symlink():
        (fd / "3").symlink_to("socket:[71]")
        (root / "proc/self").symlink_to("1")
    table(root, "tcp", line(80, 10, 3, 71), line(80, 1, 9, 72), line(90, 10, 5, 73))
    some = {what: f"some total={1000 * second * nth}" for nth, what in enumerate(("cpu", "io"), 1)}
    at = "sys/fs/resctrl/mon_groups/web"
    return written(
        root,
        {
            **{f"{AT[1:]}/{what}.pressure": text for what, text in some.items()},
            f"{AT[1:]}/io.stat": f"8:0 rbytes={500 * second} wbytes={second}",
            "sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy": "0",
            "proc/7/task/7/comm": "x",
            f"{at}/tasks": "7",
            f"{at}/mon_data/mon_L3_00/{monitors.OCCUPANCY}": "4096",
            f"{at}/mon_data/mon_L3_00/{monitors.MOVED}": str(70_000 * second),
        },
    )


def test_rates_are_differences_and_each_signal_is_there_or_says_why_not(tmp_path: Path) -> None:
    one = Leading(made(tmp_path, 0))
    signals, missing = one.of_group(group(7), 0.0)
    assert {*signals} | {*missing} == NAMES
    assert not {*signals} & {*missing}
    assert missing["disk"] == missing["network"] == missing["psi_cpu"] == FIRST
    made(tmp_path, 20)
    signals, missing = one.of_group(group(7), 20.0)
    assert values(signals) == pytest.approx(
        {
            "accept_queue": 3,
            "receive_queue_bytes": 9,
            "psi_cpu": 0.001,
            "psi_io": 0.002,
            "disk": 501,
            "network": 1000,
            "memory_bandwidth": 70_000,
            "cache_bytes": 4096,
        }
    )
    assert missing == {"psi_memory": UNREADABLE}
    made(tmp_path, 1)
    _, missing = one.of_group(group(7), 40.0)
    assert {missing[name] for name in ("disk", "network", "psi_io", "memory_bandwidth")} == {SHRANK}


def test_what_is_garbled_or_gone_is_absent_until_it_comes_again(tmp_path: Path) -> None:
    one, tree = Leading(made(tmp_path, 0)), Tree(tmp_path)
    one.of_group(group(7), 0.0)
    written(tree.root, {f"{AT[1:]}/cpu.pressure": "some total=\0", f"{AT[1:]}/io.stat": "8:0 x"})
    table(tmp_path, "tcp", line(80, 10, 3, 71), "garbled")
    signals, missing = one.of_group(group(7), 1.0)
    signals, missing = one.of_group(group(7), 50.0)
    assert not {"psi_cpu", "disk", *facts.QUEUES} & {*signals}
    assert missing["psi_cpu"] == missing["disk"] == UNREADABLE
    made(tmp_path, 60)
    one.of_group(group(7), 100.0)
    made(tmp_path, 70)
    signals, _ = one.of_group(group(7), 150.0)
    assert {"psi_cpu", "disk", *facts.QUEUES} <= {*signals}


def test_others_on_its_port_and_in_its_namespace_are_not_taken_for_it(tmp_path: Path) -> None:
    one = Leading(made(tmp_path, 0))
    table(tmp_path, "tcp", line(80, 10, 3, 71), line(80, 10, 4, 99), line(80, 1, 9, 72))
    net(tmp_path, 8, 0, like=7)
    groups = group(7), group(8, name="batch", is_service=False)
    for second in (0, 50):
        results = [one.of_group(each, float(second)) for each in groups]
    (web, missing), (batch, why) = results
    assert values(web)["accept_queue"] == 3, "four wait for another program"
    assert missing["receive_queue_bytes"] == SHARED
    assert missing["network"] == why["network"] == CROWDED
    assert "network" not in {*web, *batch}
    one.forget("batch")
    for second in (100, 150):
        web, _ = one.of_group(groups[0], float(second))
    assert "network" in web


@pytest.mark.parametrize(("at", "name"), [(os, "scandir"), (Path, "readlink")])
def test_hidden_files_matter_only_where_the_namespace_is_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: Any, name: str
) -> None:
    def refuse(_path: object) -> None:
        raise PermissionError

    monkeypatch.setattr(at, name, refuse)
    own = facts.of(group(7), made(tmp_path, 0), None)
    assert own.ports == {80, 90}, "all that listens there is its own"
    net(tmp_path, 9, 0, like=1)
    (tmp_path / "proc/9/net/tcp").write_bytes((tmp_path / "proc/7/net/tcp").read_bytes())
    (tmp_path / "proc/9/fd").mkdir()
    (tmp_path / "proc/9/fd/3").symlink_to("socket:[71]")
    shared = facts.of(group(9), Tree(tmp_path), None)
    assert shared.ports == frozenset()
    assert "hidden" in shared.missing["accept_queue"]
    (tmp_path / "proc/1/net/dev").unlink()
    (tmp_path / "proc/9/net/dev").unlink()
    net(tmp_path, 9, 0)
    unknown = facts.of(group(9), Tree(tmp_path), None)
    assert "network" in unknown.missing, "it cannot be compared with the machine's"


def test_a_service_that_opens_too_much_is_not_looked_through_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = made(tmp_path, 0)
    net(tmp_path, 9, 0, like=1)
    table(tmp_path, "tcp", *(line(port, 10, 1, 71) for port in range(1, 70)))
    many = facts.of(group(7), tree, None)
    assert many.missing["accept_queue"] == "it listens on more than 64 ports"
    monkeypatch.setattr(facts, "WITHIN_S", -1.0)
    (tmp_path / "proc/9/net/tcp").write_bytes((tmp_path / "proc/7/net/tcp").read_bytes())
    late = facts.of(group(9), tree, None)
    assert late.missing["accept_queue"] == "it has too many open files to look through"


def test_processes_in_two_namespaces_are_of_none(tmp_path: Path) -> None:
    tree = made(tmp_path, 0)
    net(tmp_path, 8, 0)
    both = facts.of(group(7, 8), tree, None)
    assert both.pid == 0
    assert both.missing["accept_queue"] == "its processes are in several network namespaces"


def test_a_group_of_version_1_has_no_pressure(tmp_path: Path) -> None:
    old = group(7, cpu=SimpleNamespace(folder=AT, version=1))
    known = facts.of(old, made(tmp_path, 0), None)
    assert {known.missing[name] for name in facts.PRESSURES} == {
        "it has no control group of version 2"
    }
    assert leading.ACCEPT not in known.missing
