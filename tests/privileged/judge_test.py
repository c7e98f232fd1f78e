"""`sojourn judge` on a server that is stopped, and a client that leaves requests out meanwhile.

Both are a few lines of Python, so that what was sent is known to the request.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import Exit, HostFault
from sojourn.places import ports
from sojourn.referee import target

pytestmark = pytest.mark.privileged
STOP_S, PERIOD_S, SECONDS = 0.4, 1.2, 6
THREADS, EACH_RPS = 4, 50
SERVER = """
import selectors, socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
look = selectors.DefaultSelector()
look.register(server, selectors.EVENT_READ)
while True:
    for key, _ in look.select():
        if key.fileobj is server:
            look.register(server.accept()[0], selectors.EVENT_READ)
        elif data := key.fileobj.recv(100):
            key.fileobj.sendall(data)
        else:
            look.unregister(key.fileobj)
            key.fileobj.close()
"""
FORKING = """
import os, signal, socket, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection = server.accept()[0]
    if os.fork() == 0:
        server.close()
        while data := connection.recv(100):
            connection.sendall(data)
        os._exit(0)
    connection.close()
"""
CALLS = 1500  # more than the kernel's side once had room for
CALLER = """
import socket, sys
for _ in range(int(sys.argv[2])):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
        connection.sendall(b"hello")
        assert connection.recv(100) == b"hello"
"""
CLIENT = """
import socket, sys, threading, time
port, threads, each, seconds, answer = sys.argv[1:]
sent = []
def work(number):
    with socket.create_connection(("127.0.0.1", int(port))) as connection:
        step = 1 / int(each)
        begin = due = time.monotonic() + number * step / int(threads)
        while due < begin + int(seconds):
            time.sleep(max(0, due - time.monotonic()))
            connection.sendall(b"hello")
            assert connection.recv(100) == b"hello"
            sent.append(1)
            due += step
            while due < time.monotonic():
                due += step  # left out
workers = [threading.Thread(target=work, args=(n,)) for n in range(int(threads))]
[one.start() for one in workers]
[one.join() for one in workers]
open(answer, "w").write(str(len(sent)))
"""


@pytest.fixture(params=[SERVER], ids=["one process"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """Its process and port."""
    try:
        target.check_rights()
    except HostFault as fault:
        pytest.skip(str(fault.what))
    port = ports.free()
    with subprocess.Popen([sys.executable, "-c", request.param, str(port)]) as process:
        try:
            while not ports.listeners(port):
                assert process.poll() is None
                time.sleep(0.01)
            yield process.pid, port
        finally:
            os.kill(process.pid, signal.SIGCONT)
            process.kill()


@contextlib.contextmanager
def stopping(pid: int) -> Iterator[None]:
    end = threading.Event()

    def work() -> None:
        while not end.wait(PERIOD_S - STOP_S):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(STOP_S)
            os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def judge(*words: str) -> subprocess.CompletedProcess[str]:
    """The command's end and what it wrote."""
    command = [sys.executable, "-m", "sojourn", "judge", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def judged(port: int, folder: Path, *words: str) -> tuple[int, dict[str, Any], int]:
    """Exit code, judgement, and how many requests the client sent."""
    numbers = map(str, (port, THREADS, EACH_RPS, SECONDS, folder / "sent"))
    client = (sys.executable, "-c", CLIENT, *numbers)
    done = judge("--port", str(port), "--json", *words, "--", *client)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), int((folder / "sent").read_text())


def test_users_wait_for_a_stop_that_the_client_left_out(
    server: tuple[int, int], tmp_path: Path
) -> None:
    pid, port = server
    with stopping(pid):
        code, of, sent = judged(port, tmp_path, "--rate", str(THREADS * EACH_RPS))
    assert of["requests"] == sent, "each request is seen"
    assert of["connections"] == THREADS
    assert (code, of["verdict"]) == (Exit.VIOLATED, "misleading")
    assert of["limit"]["who"] == "server"
    lengths = [(one["resume_ns"] - one["begin_ns"]) / 1e9 for one in of["gaps"]["stops"]]
    planted = [one for one in lengths if 0.8 * STOP_S < one < 2 * STOP_S]
    assert len(planted) >= SECONDS / PERIOD_S - 2
    assert of["omitted"] > 0.5 * len(planted) * STOP_S * THREADS * EACH_RPS
    p90 = of["numbers"][1]
    assert p90["q"] == 0.9
    assert p90["users"]["value"] > 0.4 * STOP_S * 1e9, "a third of the users came in a stop"
    assert p90["server"]["value"] < p90["users"]["value"]


def test_without_a_rate_there_are_bounds_and_without_traffic_nothing(
    server: tuple[int, int], tmp_path: Path
) -> None:
    pid, port = server
    with stopping(pid):
        _, of, sent = judged(port, tmp_path)
    assert of["requests"] == sent
    assert of["is_bound"]
    assert of["load"]["tool"] == ""
    done = judge("--port", str(port), "--", "sleep", "1")
    assert done.returncode == Exit.UNKNOWN
    assert "0 requests came, and 100 are needed" in " ".join(done.stdout.split())


def test_a_load_that_runs_is_judged_by_its_process(server: tuple[int, int], tmp_path: Path) -> None:
    _, port = server
    numbers = map(str, (port, THREADS, EACH_RPS, 60, tmp_path / "sent"))
    with subprocess.Popen([sys.executable, "-c", CLIENT, *numbers]) as load:
        try:
            words = ["--port", str(port), "--pid", str(load.pid), "--duration", "2s", "--json"]
            done = judge(*words)
            assert load.poll() is None, "it is left as it is"
        finally:
            load.kill()
    of = json.loads(done.stdout)
    assert of["load_exit_code"] is None
    assert of["requests"] >= 100
    assert of["client"]["busiest"]


@pytest.mark.parametrize("server", [FORKING], indirect=True, ids=["a process for each connection"])
def test_a_server_with_a_process_for_each_connection_is_seen_to_the_end(
    server: tuple[int, int],
) -> None:
    _, port = server
    caller = (sys.executable, "-c", CALLER, str(port), str(CALLS))
    done = judge("--port", str(port), "--json", "--", *caller)
    assert done.stdout, done.stderr
    of = json.loads(done.stdout)
    assert (of["requests"], of["connections"]) == (CALLS, CALLS)
    assert "none of the service's" not in " ".join(of["unknown"])
