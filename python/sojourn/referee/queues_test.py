"""Connections of a port, by the kernel's diagnosis and by its text."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sojourn.host import sockets
from sojourn.referee import queues
from sojourn.referee.queues import Queues
from sojourn.referee.watch import sample

SERVER = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
with socket.create_connection(server.getsockname()):
    print(server.getsockname()[1], flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["diag", "text"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "text":
        monkeypatch.setattr(sockets, "diag", lambda _: None)
    return str(request.param)


def test_connections_that_are_not_accepted_are_counted(way: str) -> None:
    own = [os.getpid()]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        looked = Queues(port)
        if way == "text":
            assert looked._asked() is None
        assert looked.look(own) == (0, 0)
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert looked.look(own) == (1, 1)
            assert Queues(client.getsockname()[1]).look(own) == (0, 1), "another port"
            seen = sample(own, looked)
            assert (seen.accept_queue, seen.connections) == (1, 1)
            accepted, _ = server.accept()
            with accepted:
                assert looked.look(own) == (0, 1)
    assert queues.overflows(own) >= 0


def test_no_process_has_no_connections(way: str) -> None:
    assert Queues(80).look([]) == (0, 0)
    assert Queues(80).look([999_999_999]) == (0, 0)
    assert queues.overflows([999_999_999]) == 0


@pytest.fixture
def elsewhere() -> Iterator[tuple[int, int]]:
    """A server in a network namespace of its own: its number and its port."""
    inside = 'ip link set lo up 2>/dev/null || ifconfig lo up; exec "$0" -c "$1"'
    words = ["unshare", "--net", "sh", "-c", inside, sys.executable, SERVER]
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True) as server:
        assert server.stdout is not None
        port = server.stdout.readline()
        yield server.pid, int(port or 0)
        server.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a network namespace")
def test_the_namespace_of_the_server_counts_and_not_our_own(elsewhere: tuple[int, int]) -> None:
    pid, port = elsewhere
    if not port:
        pytest.skip("no network namespace can be made here")
    assert Queues(port).look([999_999_999, pid]) == (1, 1)
    assert Queues(port).look([os.getpid()]) == (0, 0)
