"""Services that the lab starts for the user: their words, and what is refused before they run."""

from __future__ import annotations

import signal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest

from sojourn import services
from sojourn.errors import HostFault, RunFault, SpecFault
from sojourn.places import Address, ports, users
from sojourn.places.task import Task
from sojourn.services import Allowance
from sojourn.services.capabilities import RunsAs
from sojourn.services.own import asked
from sojourn.services.own.command import Command
from sojourn.services.own.proof import Proof
from sojourn.services.redis import Redis

ROOM = Allowance(cpus=4, memory_bytes=8 << 30, open_files=1 << 20)
AT = Address(ports.HOST, 5000)
WEB = "http://{host}:{port}/"


def built(**params: services.Value) -> Command:
    made = services.build("command", {"argv": "sh -c {port}", **params}, ROOM)
    assert isinstance(made, Command)
    return made


def test_port_host_threads_and_folder_are_put_in(tmp_path: Path) -> None:
    made = built(
        argv="sh app.sh --port {port} --on {host} '{\"json\": 1}' {work}",
        environment="N={threads} 'B=a b'",
        threads="cpus-1",
        folder=str(tmp_path),
        stop="INT",
    )
    start, needs = made.start(Path("/w"), AT), made.needs()
    words = list(start.words)
    assert words[:2] == ["-C", str(tmp_path)]
    assert words[-2:] == ['{"json": 1}', "/w"]
    assert words[words.index("sh") :][:6] == ["sh", "app.sh", "--port", "5000", "--on", "127.0.0.1"]
    assert start.variables == {"N": "3", "B": "a b"}
    assert (needs.workers, needs.is_pinned, start.stop) == (3, False, signal.SIGINT)
    assert made.endpoint(AT).target == "http://127.0.0.1:5000/"
    assert not made.filling().is_preloaded
    assert built(target="redis://{host}:{port}").filling().is_preloaded


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"argv": ""}, "no command"),
        ({"argv": "sh 'x"}, "cannot be read"),
        ({"argv": "sh -c x"}, "does not get its port"),
        ({"threads": 2}, "does not use it"),
        ({"environment": "x"}, "no NAME=VALUE"),
        ({"ready": "health"}, "ready is 'health'"),
        ({"target": "{host}:{port}"}, "no protocol"),
        ({"target": "redis://{host}:{port}", "ready": "/x"}, "is of HTTP"),
        ({"worker": "("}, "is not a pattern"),
        ({"stop": "STOP"}, "stop is STOP"),
        ({"argv": "no-such-program {port}"}, "no program no-such-program"),
        ({"argv": "./no-such-program {port}"}, "no program"),
        ({"folder": "/no/such/folder"}, "no folder"),
    ],
)
def test_what_could_never_run_is_refused(params: dict[str, services.Value], said: str) -> None:
    with pytest.raises((SpecFault, HostFault), match=said) as caught:
        built(**params)
    assert caught.value.fix


def test_files_that_the_user_of_servers_cannot_reach_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "app.py"
    script.touch(mode=0o600)
    monkeypatch.setattr(users, "server_user", lambda: users.User("nobody", 65534, 65534))
    asks = {"argv": "sh app.py {port}", "folder": str(tmp_path)}
    with pytest.raises(HostFault, match="nobody cannot reach"):
        built(**asks, user="nobody")
    assert built(**asks).needs().runs_as is RunsAs.LAB


@pytest.mark.parametrize(
    ("ready", "status", "why"),
    [
        ("", 403, "GET / has status 403, and one from 200 to 299 is ready"),
        ("/health", 503, "GET /health has status 503, and one from 200 to 299 is ready"),
        ("/health?key=secret", 404, "GET /health has status 404"),
        ("", 200, ""),
        ("tcp", 403, ""),
    ],
)
def test_a_server_that_answers_with_another_status_is_named_by_it(
    ready: str, status: int, why: str
) -> None:
    class Refuses(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer((ports.HOST, 0), Refuses) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        at = Address(ports.HOST, server.server_port)
        made = built(ready=ready)
        assert made.ready(at, 2.0) == (why == "")
        said = made.not_ready(at, 2.0)
        server.shutdown()
    assert said.startswith(why)
    assert bool(said) == bool(why)


@pytest.mark.parametrize(
    ("asked_in", "first", "reply", "other", "fix"),
    [
        (WEB, b"", b"ERROR\r\n", "memcache", "--target 'memcache://{host}:{port}'"),
        (WEB, b"", b"-ERR unknown command\r\n", "RESP", "--target 'redis://{host}:{port}'"),
        (
            "redis://{host}:{port}",
            b"",
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "HTTP/1",
            "--target 'http://{host}:{port}'",
        ),
        ("h2c://{host}:{port}/", b"", b"HTTP/1.1 404 Not Found\r\n\r\n", "", ""),
        ("memcache://{host}:{port}", b"", b"ERROR\r\n", "", ""),
        (WEB, b"SSH-2.0-x\r\n", b"", "SSH", "a service that the generator can ask"),
        (WEB, b"", b"", "", ""),
    ],
)
def test_a_server_that_speaks_another_protocol_is_refused_with_its_scheme(
    asked_in: str, first: bytes, reply: bytes, other: str, fix: str
) -> None:
    class Speaks(BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(first)
            if self.request.recv(4096) and reply:
                self.request.sendall(reply)

    with ThreadingTCPServer((ports.HOST, 0), Speaks) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        at = Address(ports.HOST, server.server_address[1])
        made = built(target=asked_in)
        if other:
            with pytest.raises(SpecFault, match=f"looks like {other}") as raised:
                made.not_ready(at, 0.2)
            assert fix in raised.value.fix
        else:
            assert "looks like" not in made.not_ready(at, 0.2)
        server.shutdown()


def test_later_starts_must_answer_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    made = built()
    replies = iter([Proof(bytes=5), Proof(bytes=5), Proof(bytes=6)])
    monkeypatch.setattr(asked.Asked, "prove", lambda *_: next(replies))
    assert made.endpoint(AT).job == {}
    made.check(AT)
    assert made.endpoint(AT).job == {"expect_bytes": 5}
    made.check(AT._replace(port=5001))
    with pytest.raises(RunFault, match="5 bytes, this one with 6"):
        made.check(AT)


def test_a_length_that_the_study_names_is_required_whatever_is_asked() -> None:
    for load in ({}, {"method": "POST", "body": "x"}):
        made = built(expect_bytes=500).adapted(load)
        assert made.endpoint(AT).job == {"expect_bytes": 500}
        assert built().adapted(load).endpoint(AT).job == {}
    assert built(expect_bytes=0).endpoint(AT).job == {"allow_empty": True}


def test_a_program_may_stand_in_the_command_line() -> None:
    text = "import http.server; " * 30
    made = built(argv=f"sh -c '{text}' {{port}}", user="nobody", folder="/")
    assert made.words[2] == text


def test_workers_are_found_by_name_or_command_line() -> None:
    tasks = [
        Task(pid=10, tid=10, name="app", command="app --serve"),
        Task(pid=10, tid=11, name="worker-1", command="app --serve"),
        Task(pid=12, tid=12, name="app", command="app: child"),
    ]
    assert built().pinned(tasks) == ()
    assert built(worker=r"worker-\d").pinned(tasks) == (11,)
    assert built(worker="app: child").pinned(tasks) == (12,)


def test_redis_is_held_to_its_memory_and_keeps_nothing() -> None:
    small = Allowance(cpus=2, memory_bytes=1 << 30, scale=1 / 128, profile="quick")
    stored = services.build("redis", {"threads": 2, "items": 1000}, small)
    assert isinstance(stored, Redis)
    words = " ".join(stored.start(Path("/w"), AT).words)
    assert "--io-threads 2" in words
    assert "--appendonly no" in words
    assert "--maxmemory-policy noeviction" in words
    assert stored.endpoint(AT).target == "resp://127.0.0.1:5000"
    tasks = [
        Task(pid=9, tid=9, name="redis-server", command="redis-server"),
        Task(pid=9, tid=12, name="io_thd_1", command="redis-server"),
        Task(pid=9, tid=10, name="bio_close_file", command="redis-server"),
    ]
    assert stored.pinned(tasks) == (9, 12)
    with pytest.raises(HostFault, match="this machine has"):
        services.build("redis", {"items": 100_000_000}, small)
