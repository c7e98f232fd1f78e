"""Which sockets take connections to an address, and what is a reply."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from sojourn.places import Address, ports

ANY = "0.0.0.0"  # noqa: S104


@pytest.fixture
def bound() -> Iterator[dict[str, int]]:
    """Sockets that listen on one port, by their addresses: the inode of each."""
    with ExitStack() as stack:
        port = 0
        made: dict[str, int] = {}
        for host in ("127.0.0.2", "::1", ANY, "::"):
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            try:
                one = stack.enter_context(socket.socket(family))
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                if host == "::":
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                one.bind((host, port))
            except OSError as error:
                pytest.skip(f"{host}: {error}")
            one.listen()
            port = one.getsockname()[1]
            made[host] = os.fstat(one.fileno()).st_ino
        yield {**made, "port": port}


def test_the_nearest_address_takes_a_connection(bound: dict[str, int]) -> None:
    port = bound["port"]
    wanted = {"127.0.0.2": "127.0.0.2", "::ffff:127.0.0.2": "127.0.0.2", "::1": "::1"}
    wanted |= {"127.0.0.1": ANY, "fe80::1%lo": "::"}
    for host, at in wanted.items():
        assert ports.listeners_at(host, port) == {bound[at]}, host
    assert ports.listeners(port) >= {bound[at] for at in wanted.values()}


def test_a_socket_of_ipv6_takes_what_no_one_else_does() -> None:
    try:
        with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as one:
            inode, port = os.fstat(one.fileno()).st_ino, one.getsockname()[1]
            for host in ("127.0.0.1", "::1", "10.0.0.1"):
                assert ports.listeners_at(host, port) == {inode}
    except (OSError, ValueError) as error:
        pytest.skip(f"no IPv6: {error}")


def test_one_of_ipv4_takes_nothing_of_ipv6() -> None:
    with socket.create_server((ANY, 0)) as one:
        port = one.getsockname()[1]
        assert ports.listeners_at("::1", port) == frozenset()
        assert ports.listeners_at("10.0.0.1", port) == {os.fstat(one.fileno()).st_ino}


def test_who_may_not_be_asked_is_not_who_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    own, gone = os.getpid(), 2**22 + 1
    assert ports.unreadable([own, gone]) == ()

    def refuse(path: Path) -> Iterator[Path]:
        raise (PermissionError if str(own) in path.parts else FileNotFoundError)(1, "no")

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert ports.unreadable([own, gone]) == (own,)


@contextmanager
def speaking(say: Callable[[socket.socket], object]) -> Iterator[Address]:
    """A server that says something to the first who comes, until that one has gone."""
    with socket.socket() as listener:
        listener.bind((ports.HOST, 0))
        listener.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                one, _ = listener.accept()
                with one:
                    one.recv(1)  # a close with unread bytes resets, and what was sent is lost
                    say(one)

        thread = threading.Thread(target=serve)
        thread.start()
        yield Address(*listener.getsockname())
        thread.join(10.0)


def flood(one: socket.socket) -> None:
    while True:
        one.sendall(b"x" * 65_536)


def drip(one: socket.socket) -> None:
    while True:
        one.sendall(b"x")
        time.sleep(0.02)


@pytest.mark.parametrize("say", [flood, drip])
def test_a_reply_without_an_end_is_none(
    say: Callable[[socket.socket], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "WHOLE_S", 0.3)
    answers: list[bytes | None] = [b"not yet"]
    with speaking(say) as address:

        def ask() -> None:
            answers.append(ports.ask(address, b"x", within_s=0.2, until=b"\r\n"))

        asker = threading.Thread(target=ask, daemon=True)
        asker.start()
        asker.join(8.0)
        assert answers == [b"not yet", None]


def test_a_long_reply_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "WHOLE_S", 60.0)  # two threads of one interpreter send and read
    body = b"7 " * (20 << 20)
    with speaking(lambda one: one.sendall(b"head" + body)) as address:
        began_s = time.thread_time()
        reply = ports.ask(address, b"x", within_s=30.0, until=body)
        assert reply is not None
        assert (len(reply), reply[:6]) == (4 + len(body), b"head7 ")
        assert time.thread_time() - began_s < 2.0, "each part is looked through once at most"


def test_a_long_reply_has_the_time_that_it_takes_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "WHOLE_S", 0.0)
    monkeypatch.setattr(ports, "SLOWEST", 1e5)
    part = b"7 " * 500_000

    def say(one: socket.socket) -> None:
        for _ in range(4):
            one.sendall(part)
            time.sleep(0.8)
        one.sendall(b"end")

    with speaking(say) as address:
        reply = ports.ask(address, b"x", within_s=2.0, until=4 * part + b"end")
    assert reply is not None
    assert reply.endswith(b"7 end")
