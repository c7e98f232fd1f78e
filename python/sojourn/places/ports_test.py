"""Which sockets take connections to an address, as the kernel says it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sojourn.places import ports

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
