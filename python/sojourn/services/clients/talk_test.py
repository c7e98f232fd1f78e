"""A few words with servers of all kinds: who is told from whom, and what is refused how."""

from __future__ import annotations

import errno
import http.client
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn.errors import HostFault
from sojourn.places import foreign, ports
from sojourn.services import Allowance
from sojourn.services.clients import connect, http2, http_get, talk
from sojourn.services.clients.testing_servers import (
    OK,
    Replies,
    binary,
    locked,
    memcached,
    of_grpc2,
    plain_to_tls,
    redis,
    refused2,
    serving,
    silence,
    status,
    tls,
    web,
    web2,
)
from sojourn.services.clients.where import Where
from sojourn.services.own import asked, external
from sojourn.services.own.asked import Asked, RefusedError

ROOM = Allowance(cpus=1, memory_bytes=1 << 30)
Serve = Callable[[Replies], Where]


@pytest.fixture(name="serve")
def _serve() -> Iterator[Callable[..., Where]]:
    with ExitStack() as stack:

        def start(replies: Replies, scheme: str = "http", greeting: bytes = b"") -> Where:
            made = serving(replies, greeting, socket.AF_INET, (ports.HOST, 0))
            port = stack.enter_context(made).getsockname()[1]
            return Where(scheme=scheme, host=ports.HOST, port=port)

        yield start


@pytest.mark.parametrize(
    ("replies", "greeting", "name"),
    [
        (web, b"", "http"),
        (redis, b"", "resp"),
        (locked, b"", "resp"),
        (memcached, b"", "memcache"),
        (tls, b"", "tls"),
        (web2, b"", "http2"),
        (silence, b"SSH-2.0-OpenSSH_9.2\r\n", "ssh"),
        (lambda _: b"S", b"", "postgres"),
        (binary, b"", "memcache-binary"),
        (silence, b"", ""),
    ],
)
def test_who_speaks_is_told_by_the_first_bytes(
    serve: Callable[..., Where], replies: Replies, greeting: bytes, name: str
) -> None:
    assert talk.recognise(serve(replies, greeting=greeting))[0] == name


@pytest.mark.parametrize(
    ("replies", "scheme", "what", "fix"),
    [
        (redis, "http", r"not speak HTTP/1, it looks like RESP \(Redis\)", "try redis://"),
        (memcached, "resp", "it looks like memcache", "try memcache://"),
        (web, "memcache", "it looks like HTTP/1", "try http://"),
        (web, "postgres", "it looks like HTTP/1", "try http://"),
        (lambda _: b"S", "resp", "it looks like PostgreSQL", "try postgres://"),
        (tls, "http", "it looks like TLS", "try https://"),
        (web2, "http", "it looks like HTTP/2", "try h2c://"),
        (web, "h2c", "not speak HTTP/2, it looks like HTTP/1", "try http://"),
        (web, "grpc", "not speak HTTP/2, it looks like HTTP/1", "try http://"),
        (redis, "h2", r"not speak HTTP/2 over TLS, it looks like RESP \(Redis\)", "try redis://"),
        (tls, "grpc", "not speak HTTP/2, it looks like TLS", "try grpcs://"),
        (refused2, "h2c", "needs credentials: status 403", "auth ="),
        (of_grpc2, "h2c", "answers with status 415", "grpc://HOST:PORT/PACKAGE.SERVICE/METHOD"),
        (binary, "memcache", "it looks like memcached's binary protocol", "without -B binary"),
        (silence, "resp", "what it says is silence", "scheme of what it speaks"),
        (status("401 No", 'WWW-Authenticate: Basic realm="x"'), "http", "401 .*Basic", "header"),
        (locked, "resp", "needs a password: .*NOAUTH", "requirepass"),
        (status("302 Found", "Location: /there"), "http", "302 to /there", "ask for /there"),
        (status("404 No"), "http", "status 404", "a page that is there"),
        (status("500 Oh"), "http", "status 500", "the server's own log"),
        (status("503 Busy"), "http", "status 503", "what limits requests or connections"),
        (status("429 Slow"), "http", "answers with status 429", "raise its limit"),
        (status("407 No"), "http", "behind a proxy .*status 407", "Proxy-Authorization: env:NAME"),
        (status("405 No"), "http", "answers with status 405", "--method POST"),
        (status("304 Same"), "http", "answers with status 304", "the server's own log"),
        (
            status("302 Found", "Location: //u:pw@h/?token=ab"),
            "http",
            r"//u:…@h/\?token=…$",
            "//u:…@",
        ),
        (
            status("401 No", 'WWW-Authenticate: Digest realm="x"'),
            "http",
            "only Digest$",
            "Basic or",
        ),
        (
            status("401 No", "WWW-Authenticate: Negotiate", "WWW-Authenticate: Basic realm=x"),
            "http",
            "401 .Negotiate, Basic",
            "--auth basic",
        ),
        (plain_to_tls, "http", "it looks like TLS", "try https://"),
        (status("200 OK"), "http", "an empty reply, which is not a success", "expect_bytes = 0"),
    ],
)
def test_what_does_not_answer_as_it_should_is_refused(
    serve: Callable[..., Where], replies: Replies, scheme: str, what: str, fix: str
) -> None:
    with pytest.raises(RefusedError, match=what) as caught:
        Asked().prove(serve(replies, scheme))
    assert fix in caught.value.fix


def test_a_protocol_that_nobody_typed_and_is_not_spoken_says_what_helps(
    serve: Callable[..., Where],
) -> None:
    """It was silence, to whom no scheme helps."""
    with pytest.raises(RefusedError, match="looks like memcached's binary protocol") as caught:
        external._guessed(serve(binary, ""))
    assert "without -B binary" in caught.value.fix


def test_the_user_nobody_and_an_unknown_name_are_distinguished() -> None:
    with socket.socket() as held:  # bound, and nothing listens
        held.bind((ports.HOST, 0))
        port = held.getsockname()[1]
        no_one = Where(scheme="http", host=ports.HOST, port=port)
        with pytest.raises(RefusedError, match=f"{port}: nothing listens") as caught:
            Asked().prove(no_one)
        assert "start the server" in caught.value.fix
        assert not Asked().answers(no_one, 1.0)
    with pytest.raises(RefusedError, match="no address"):
        Asked().prove(Where(scheme="http", host="no-such-host.invalid", port=80))


@pytest.mark.parametrize("reply", [b"VERSION \r\n", b"VERSION  \r\n", b"VERSION \xff\r\n"])
def test_a_version_that_says_nothing_is_no_fault(serve: Callable[..., Where], reply: bytes) -> None:
    proof = Asked().prove(serve(lambda _: reply, "memcache"))
    assert dict(proof.facts)["version"]


def test_a_redis_whose_password_the_generator_has_is_taken_as_it_is(
    serve: Callable[..., Where],
) -> None:
    at, proof = serve(locked, "resp"), Asked(is_plain=False)
    assert "given by the generator" in dict(proof.prove(at).facts)["password"]
    assert proof.answers(at, 5.0)
    assert not Asked().answers(at, 5.0)
    with pytest.raises(RefusedError, match=r"PING is answered|not speak RESP"):
        proof.prove(serve(memcached, "resp"))


def test_a_machine_without_a_local_port_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def connected(at: Where, within_s: float = 1.0) -> socket.socket:
        raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))

    monkeypatch.setattr(connect, "connected", connected)
    with pytest.raises(RefusedError, match="no local port is left") as caught:
        Asked().prove(Where(scheme="http", host=ports.HOST, port=80))
    assert "ip_local_port_range" in caught.value.fix


def test_the_length_of_the_first_replies_is_that_of_all(serve: Callable[..., Where]) -> None:
    at = serve(web)
    proof = Asked().prove(at)
    assert proof.bytes == 5
    assert Asked().job("http", proof) == {"expect_bytes": 5}
    assert Asked(expect_bytes=0).prove(at).bytes == 0
    with pytest.raises(RefusedError, match="answers with 5 bytes, not 6"):
        Asked(expect_bytes=6).prove(at)
    sizes = iter(range(1, 100))
    other = serve(lambda _: OK % (n := next(sizes), b"x" * n))
    proof = Asked().prove(other)
    assert (proof.bytes, Asked().job("http", proof)) == (0, {})
    assert "differ" in dict(proof.facts)["replies"]
    assert Asked(is_plain=False).prove(at).bytes == 0, "paths of the study's own differ"


def test_pages_in_http2_are_as_long_as_their_data(serve: Callable[..., Where]) -> None:
    at = serve(web2, "h2c")
    proof = Asked().prove(at)
    assert (proof.bytes, Asked().job("h2c", proof)) == (5, {"expect_bytes": 5})
    assert http_get.page(at, "/", 1.0) == b"hello"
    assert Asked().answers(at, 1.0)
    assert http_get.page(serve(refused2, "h2c"), "/", 1.0) is None
    calls = Asked().prove(serve(web2, "grpc"))
    assert (calls.bytes, Asked().job("grpc", calls)) == (0, {})
    made = external.build({"target": at.authority}, ROOM)  # no one says what it speaks
    assert made.adapted({}).endpoint(ports.Address("", 0)).target == at.url


def test_one_that_runs_is_checked_and_its_process_identified(serve: Callable[..., Where]) -> None:
    at = serve(web)
    made = external.build({"target": at.authority}, ROOM)  # no one says what it speaks
    satisfied = made.adapted({})
    assert satisfied.endpoint(ports.Address("", 0)).target == f"{at.url}"
    assert satisfied.endpoint(ports.Address("", 0)).job == {"expect_bytes": 5}
    its = satisfied.process()
    assert its is not None
    assert its.pid == os.getpid()
    assert its.poll() is None
    assert os.getpid() in {member.pid for member in its.members()}
    assert set(its.cpus()) >= os.sched_getaffinity(0)
    its.stop()
    assert external.KIND.cpus({"target": at.authority}) == its.cpus()


def test_a_unix_socket_is_checked_too(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with serving(web, b"", socket.AF_UNIX, str(path)):
        at = Where(scheme="http", socket=path)
        assert Asked().prove(at).bytes == 5
        its = foreign.listening(0, path)
        assert its is not None
        assert its.pid == os.getpid()
    with pytest.raises(RefusedError, match="nothing listens"):
        Asked().prove(at)


def test_a_process_or_group_that_is_not_there_is_refused(tmp_path: Path) -> None:
    at = Where(scheme="http", host=ports.HOST, port=1)
    with pytest.raises(HostFault, match="no process"):
        external.processes_at(at, (1 << 22) - 1, "")
    with pytest.raises(HostFault, match="has no process"):
        external.processes_at(at, 0, "no/such.service")
    (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n")
    its = external.processes_at(at, 0, str(tmp_path))
    assert its is not None
    assert [member.pid for member in its.members()] == [os.getpid()]


def test_a_name_is_reached_at_any_of_its_addresses_and_stays_the_name_that_was_typed(
    monkeypatch: pytest.MonkeyPatch, serve: Callable[..., Where]
) -> None:
    heard: list[bytes] = []

    def hears(words: bytes) -> bytes:
        heard.append(words)
        return web(words)

    at = serve(hears)
    plain = socket.getaddrinfo
    infos = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, at.port))
        for host in ("127.0.0.9", ports.HOST)
    ]
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *a, **k: infos if host == "two" else plain(host, *a, **k),
    )
    for _ in range(2):
        satisfied = external.build({"target": f"http://two:{at.port}/"}, ROOM).adapted({})
        assert satisfied.endpoint(ports.Address("", 0)).target == f"http://two:{at.port}/"
        assert f"\r\nHost: two:{at.port}\r\n".encode() in heard[-1]
        infos.reverse()


INTERIM = b"HTTP/1.1 %d Wait\r\nLink: </a.css>; rel=preload\r\n\r\n"


@pytest.mark.parametrize("statuses", [(100,), (102,), (103,), (103, 103, 100), (199, 102)])
def test_interim_replies_are_passed_over(serve: Serve, statuses: tuple[int, ...]) -> None:
    early = b"".join(INTERIM % status for status in statuses)
    at = serve(lambda heard: early + web(heard))
    assert Asked().prove(at).bytes == 5
    assert Asked().answers(at, 1.0)
    closed = serve(lambda _: early + b"HTTP/1.1 200 OK\r\n\r\nhello")  # ends with the connection
    assert http_get.get(closed, "/", 1.0).body_bytes == 5


def test_a_change_of_protocol_is_no_interim_reply(serve: Serve) -> None:
    with pytest.raises(RefusedError, match="status 101"):
        Asked().prove(serve(lambda heard: INTERIM % 101 + web(heard)))


@pytest.mark.parametrize("part", [INTERIM % 100, INTERIM % 103, b"HTTP/1.1 200 OK\r\nA: b\r\n"])
def test_heads_without_an_end_are_not_waited_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, part: bytes
) -> None:
    monkeypatch.setattr(http_get, "WHOLE_S", 0.0)
    with pytest.raises((TimeoutError, http.client.HTTPException)):
        http_get.get(serve(lambda _: part * 50_000), "/", 5.0)


def test_a_slow_service_is_waited_for_as_long_as_its_bound_says(
    monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    monkeypatch.setattr(asked, "REPLY_S", 0.2)

    def slow(heard: bytes) -> bytes:
        time.sleep(0.5)
        return web(heard)

    at = serve(slow)
    with pytest.raises(RefusedError, match=r"has not answered within 0\.2 s") as caught:
        Asked().prove(at)
    assert "--bound" in caught.value.fix
    proof = Asked().examined({}, 10.0).prove(at)
    assert proof.typical_s >= 0.5
    assert proof.reply_s >= 5.0
    assert proof.stretch >= 2.0
    assert "take about" in str(proof.facts)
    made = external.build({"target": at.url}, ROOM).adapted({}, 10.0)
    assert made.reply_s() >= 5.0


def test_a_reply_without_an_end_is_not_waited_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_get, "WHOLE_S", 0.0)
    events = b"HTTP/1.1 200 OK\r\n\r\n" + b"data: tick\n\n" * 100_000
    with pytest.raises(TimeoutError, match="does not end"):
        http_get.get(serve(lambda _: events), "/", 5.0)
    monkeypatch.setattr(http_get, "WHOLE_S", 30.0)
    assert http_get.get(serve(lambda _: events), "/", 5.0).body_bytes == 1_200_000


@pytest.mark.parametrize("flags", [http2.PADDED, http2.PADDED | http2.PRIORITY, http2.PRIORITY])
def test_a_frame_without_what_its_flags_promise_is_no_reply(serve: Serve, flags: int) -> None:
    settings = http2.frame(http2.SETTINGS, 0, 0, b"")
    text = (
        settings
        + http2.frame(http2.HEADERS, flags, 1, b"")
        + http2.frame(http2.DATA, flags, 1, b"")
    )
    where = replace(serve(lambda _: text), scheme="h2c")
    with pytest.raises(RefusedError):
        Asked(expect_bytes=-1).prove(where)
