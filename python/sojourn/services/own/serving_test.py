"""Who serves a socket that several processes hold: real programs that inherit, accept or do not."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn.errors import HostFault
from sojourn.places import foreign, serving
from sojourn.services.clients.where import Where
from sojourn.services.own import external

#: Opens a socket, does what it is asked with it, and prints who is who; ends with its own input.
PROGRAM = r"""
import json, os, socket, subprocess, sys, time

how, where = sys.argv[1:3]
family = socket.AF_INET if where == "tcp" else socket.AF_UNIX
sock = socket.socket(family)
sock.bind(("127.0.0.1", 0) if where == "tcp" else where)
sock.listen(64)
sock.set_inheritable(True)
fd = str(sock.fileno())
TAKE = '''
import socket, sys, time
sock, taken = socket.socket(fileno=int(sys.argv[1])), []
while len(taken) < int(sys.argv[2]):
    taken.append(sock.accept()[0])
    time.sleep(0.05)
time.sleep(600)
'''
LOOK = "import time; time.sleep(600)"
NAMED = "open('/proc/self/comm', 'w').write('docker-proxy')\n"

def start(text, *words, keeps=True):
    words = [sys.executable, "-I", "-S", "-c", text, *words]
    return subprocess.Popen(words, close_fds=not keeps).pid

def take(most):
    taken = []
    while len(taken) < most:
        taken.append(sock.accept()[0])
        time.sleep(0.05)
    time.sleep(600)

def fork(act):
    pid = os.fork()
    if not pid:
        act()
    return pid

def serve(its):
    sock.close()
    taken = []
    while True:
        taken += socket.recv_fds(its, 1, 1)[1]

def hand(mine):
    while True:
        one = sock.accept()[0]
        socket.send_fds(mine, [b"x"], [one.fileno()])
        one.close()

told = {"self": os.getpid(), "port": sock.getsockname()[1] if where == "tcp" else 0}
if how == "activated":  # socket activation: it holds, the server accepts; and it runs a job
    told["server"] = start(TAKE, fd, "99")
    told["job"] = start(LOOK, keeps=False)
elif how == "forked":  # nginx, gunicorn
    told["workers"] = [fork(lambda: take(99)) for _ in range(2)]
elif how == "started":  # uvicorn's workers
    told["workers"] = [start(TAKE, fd, str(98 + n)) for n in range(2)]
elif how == "leaked":  # the server's own child has it too
    told["child"] = start(LOOK)
elif how == "two":  # two programs take turns
    told["server"] = [start(TAKE, fd, "2"), start("# another\n" + TAKE, fd, "2")]
elif how == "relay":  # docker-proxy and the like: the server is behind it, on a port of its own
    sock.set_inheritable(False)
    behind = socket.create_server(("127.0.0.1", 0))
    behind.set_inheritable(True)
    told["server"] = start(TAKE, str(behind.fileno()), "99")
    with open("/proc/self/comm", "w") as name:
        name.write(sys.argv[3])
elif how == "relays":  # one for each family, as Docker has them
    told["relays"] = [start(NAMED + TAKE, fd, "2"), start("# another\n" + NAMED + TAKE, fd, "2")]
    sock.close()
elif how == "handed":  # it takes connections for a process that did not come of it
    mine, its = socket.socketpair(socket.AF_UNIX)
    read, write = os.pipe()
    first = fork(lambda: os.write(write, str(fork(lambda: serve(its))).encode()) and os._exit(0))
    os.waitpid(first, 0)
    told["server"] = int(os.read(read, 99))
    fork(lambda: hand(mine))
elif how == "asleep":
    told["server"] = [start(LOOK), start("# another\n" + LOOK)]
elif how in ("ancestor", "forked_ancestor"):  # the lab is a job of the supervisor
    is_fork = how != "ancestor"
    told["server"] = fork(lambda: take(99)) if is_fork else start(TAKE, fd, "99")
    lab = [sys.executable, "-c", sys.argv[3], str(told["port"])]
    told["seen"] = json.loads(subprocess.run(lab, stdout=subprocess.PIPE, check=True).stdout)
print(json.dumps(told), flush=True)
if how == "leaked":
    take(99)
sys.stdin.read()
"""
LAB = """
import json, sys
from sojourn.places import foreign
its = foreign.listening(int(sys.argv[1]))
print(json.dumps([its.pid, [m.pid for m in its.members()], list(its.idle)]))
"""
Table = dict[str, object]
#: Names of programs that only pass connections on, with words of theirs.
FORWARDERS = [
    ("docker-proxy",),
    ("conmon",),
    ("socat",),
    ("ssh", "-L"),
    ("kubectl", "port-forward", "svc/web"),
]
NAMED_S_MAX = 60.0  # a guard against a hang


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Table]]:
    """Start the program in a group of its own; at the end all of the group is killed."""
    with contextlib.ExitStack() as stack:

        def start(how: str, *more: str, where: str = "tcp", before: tuple[str, ...] = ()) -> Table:
            words = [*before, sys.executable, "-c", PROGRAM, how, where, *more]
            one = stack.enter_context(
                subprocess.Popen(
                    words,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    cwd=tmp_path,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                    start_new_session=True,
                )
            )
            stack.callback(_end, one.pid)
            assert one.stdout is not None
            assert select.select([one.stdout], [], [], 60.0)[0], "it printed nothing"
            report: Table = json.loads(one.stdout.readline())
            return report

        yield start


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def wait_for_name(pid: int, name: str) -> None:
    until = time.monotonic() + NAMED_S_MAX
    while Path(f"/proc/{pid}/comm").read_text().strip() != name:
        assert time.monotonic() < until, f"process {pid} is not called {name}"
        time.sleep(0.01)


def foreign_service(report: Table) -> foreign.Foreign:
    its = foreign.listening(int(str(report["port"])))
    assert its is not None
    return its


def test_a_supervisor_that_only_holds_the_socket_is_not_the_server(
    run: Callable[..., Table],
) -> None:
    report = run("activated")
    its = foreign_service(report)
    assert its.pid == report["server"]
    assert [member.pid for member in its.members()] == [report["server"]]
    assert its.idle == (report["self"],)


def test_nor_is_it_of_a_unix_socket(run: Callable[..., Table], tmp_path: Path) -> None:
    path = tmp_path / "s"
    report = run("activated", where=str(path))
    its = foreign.listening(0, path)
    assert its is not None
    assert (its.pid, its.idle) == (report["server"], (report["self"],))


@pytest.mark.parametrize("how", ["forked", "started"])
def test_workers_are_found_with_the_process_that_started_them(
    run: Callable[..., Table], how: str
) -> None:
    report = run(how)
    its = foreign_service(report)
    assert its.pid == report["self"]
    workers = report["workers"]
    assert isinstance(workers, list)
    assert {member.pid for member in its.members()} == {report["self"], *workers}
    assert its.idle == ()


def test_a_child_that_was_left_the_socket_is_not_the_server(run: Callable[..., Table]) -> None:
    report = run("leaked")
    its = foreign_service(report)
    assert its.pid == report["self"]
    assert report["child"] in {member.pid for member in its.members()}


@pytest.mark.parametrize("how", ["two", "asleep"])
def test_where_it_cannot_be_seen_who_serves_it_is_reported(
    run: Callable[..., Table], how: str
) -> None:
    report = run(how)
    servers = report["server"]
    assert isinstance(servers, list)
    with pytest.raises(serving.AmbiguousError) as caught:
        foreign_service(report)
    assert all(str(pid) in str(caught.value) for pid in servers)
    at = Where(scheme="http", host="127.0.0.1", port=int(str(report["port"])))
    with pytest.raises(HostFault, match="several processes hold") as refused:
        external.processes_at(at, 0, "")
    assert "pid = NUMBER" in refused.value.fix
    assert "cgroup" in refused.value.fix
    its = external.processes_at(at, servers[0], "")
    assert its is not None
    assert its.pid == servers[0]
    assert external.KIND.cpus is not None
    assert external.KIND.cpus({"target": at.authority}) == ()


@pytest.mark.parametrize("words", FORWARDERS, ids=" ".join)
def test_who_passes_connections_on_is_not_the_server(
    run: Callable[..., Table], words: tuple[str, ...]
) -> None:
    report = run("relay", *words)
    with pytest.raises(serving.ForwarderError) as caught:
        foreign_service(report)
    assert str(caught.value) == f"{words[0]} ({report['self']})"
    at = Where(scheme="http", host="127.0.0.1", port=int(str(report["port"])))
    with pytest.raises(external.AmbiguousFault, match="usually for a server elsewhere") as refused:
        external.processes_at(at, 0, "")
    assert words[0] in refused.value.what
    assert "pid = NUMBER" in refused.value.fix
    assert "cgroup" in refused.value.fix
    for name in ("server", "self"):  # or the forwarder itself, if somebody wants just that
        its = external.processes_at(at, int(str(report[name])), "")
        assert its is not None
        assert its.pid == report[name]


def test_who_hands_connections_to_a_stranger_is_not_the_server(run: Callable[..., Table]) -> None:
    """Its CPU time, which is next to none, was that of the service."""
    report = run("handed")
    with pytest.raises(serving.AmbiguousError) as caught:
        foreign_service(report)
    assert str(report["server"]) in str(caught.value)
    assert str(report["self"]) in str(caught.value)


def test_several_forwarders_at_one_port_are_none_either(run: Callable[..., Table]) -> None:
    report = run("relays")
    relays = report["relays"]
    assert isinstance(relays, list)
    for pid in relays:
        wait_for_name(pid, "docker-proxy")
    with pytest.raises(serving.ForwarderError, match=r"docker-proxy \(\d+\)"):
        foreign_service(report)


@pytest.mark.parametrize("words", [("haproxy",), ("kubectl", "serve"), ("sshpiperd",)])
def test_a_service_that_is_called_alike_is_measured(
    run: Callable[..., Table], words: tuple[str, ...]
) -> None:
    report = run("relay", *words)
    assert foreign_service(report).pid == report["self"]


def test_a_name_is_as_long_as_the_kernel_has_it() -> None:
    assert all(len(name) <= 15 for name in serving.FORWARDERS)


@pytest.mark.parametrize("how", ["ancestor", "forked_ancestor"])
def test_who_started_the_lab_is_not_the_server(run: Callable[..., Table], how: str) -> None:
    report = run(how, LAB)
    assert report["seen"] == [report["server"], [report["server"]], [report["self"]]]


@pytest.mark.skipif(os.geteuid() != 0, reason="a namespace of processes needs root")
def test_nor_is_the_first_process_of_a_container(run: Callable[..., Table]) -> None:
    report = run("ancestor", LAB, before=("unshare", "--pid", "--fork", "--mount-proc"))
    assert report["self"] == 1
    assert report["seen"] == [report["server"], [report["server"]], [1]]


def test_a_process_that_has_the_lab_below_it_is_taken_without_the_lab(
    run: Callable[..., Table],
) -> None:
    text = "from sojourn.places import foreign\nimport json, os\n"
    text += "its = foreign.of_process(os.getppid())\n"
    text += "print(json.dumps([m.pid for m in its.members()]))"
    report = run("ancestor", text)
    seen = report["seen"]
    assert isinstance(seen, list)
    assert {*seen} == {report["self"], report["server"]}
    assert len(seen) == 2
