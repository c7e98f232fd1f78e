"""Queues of sockets are what was put there; what is garbled is unknown."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.host import sockets
from sojourn.host.sockets import ESTABLISHED, HEAD, LISTEN, PORTS_MAX, Diag, Queue
from sojourn.host.tree import Tree

HAS_DIAG = sockets.diag(Tree()) is not None
HEADING = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
LINE = "0: 0100007F:{port:04X} 0:0 {state:02X} 00000000:{waiting:08X} 00:0 0 0 0 {inode} 1"

WITHIN_S = 20.0


@contextlib.contextmanager
def busy(family: int, host: str) -> Iterator[tuple[int, int]]:
    """A server with three connections, of which one is accepted and has 500 bytes: port, inode."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server((host, 0), family=family, backlog=9))
        port = server.getsockname()[1]
        to = [stack.enter_context(socket.create_connection((host, port))) for _ in range(3)]
        stack.enter_context(server.accept()[0])
        to[0].send(b"x" * 500)
        yield port, os.fstat(server.fileno()).st_ino


def table(root: Path, name: str, *lines: str) -> None:
    path = root / f"proc/7/net/{name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADING + "".join(f"{line}\n" for line in lines))


def line(port: int, state: int, waiting: int, inode: int) -> str:
    """One line of a table such as /proc/net/tcp."""
    return LINE.format(port=port, state=state, waiting=waiting, inode=inode)


def by_text(state: int, ports: frozenset[int]) -> list[Queue]:
    every = sockets.of_process(Tree(), os.getpid())
    assert every is not None
    return [one for one in every if one.state == state and one.port in ports]


@pytest.mark.skipif(not HAS_DIAG, reason="sock_diag is not there, or would load a module")
def test_both_ways_see_what_waits_of_both_families_and_of_no_other_port() -> None:
    diag = Diag()
    with busy(socket.AF_INET, "127.0.0.1") as v4, busy(socket.AF_INET6, "::1") as v6:
        for ports in (frozenset({v4[0]}), frozenset({v4[0], v6[0]})):
            servers = {Queue(LISTEN, *one) for one in ((v4[0], 2, v4[1]), (v6[0], 2, v6[1]))}
            wanted = {one for one in servers if one.port in ports}
            assert set(diag.queues(LISTEN, ports) or ()) == wanted
            assert set(by_text(LISTEN, ports)) == wanted

            def ends(ports: frozenset[int] = ports) -> list[Queue]:
                return diag.queues(ESTABLISHED, ports) or []

            bytes_sent = 500 * len(ports)
            until_s = time.monotonic() + WITHIN_S
            while sum(one.waiting for one in ends()) != bytes_sent and time.monotonic() < until_s:
                time.sleep(0.005)
            assert sum(one.waiting for one in ends()) == bytes_sent
            assert sorted(ends()) == sorted(by_text(ESTABLISHED, ports))
            assert len(ends()) == 3 * len(ports)
        assert wanted <= set(diag.queues(LISTEN, ()) or ())


@pytest.mark.skipif(not HAS_DIAG, reason="sock_diag is not there, or would load a module")
def test_the_kernel_takes_as_many_ports_as_are_allowed_and_no_more_are_asked_for() -> None:
    diag = Diag()
    with busy(socket.AF_INET, "127.0.0.1") as (port, inode):
        for low in (port - PORTS_MAX + 1, port - 20, port):  # it is the last, in the middle, first
            asked = [n if n < 65536 else n - PORTS_MAX for n in range(low, low + PORTS_MAX)]
            assert Queue(LISTEN, port, 2, inode) in (diag.queues(LISTEN, asked) or ())
        others = [n for n in range(1, PORTS_MAX + 1) if n != port]
        assert port not in {one.port for one in diag.queues(LISTEN, others) or ()}
        assert diag.queues(LISTEN, range(1, PORTS_MAX + 2)) is None
        assert diag.queues(LISTEN, [port]), "it goes on after that"


def answer(*parts: bytes) -> list[Queue] | None:
    """What a kernel that sends these parts makes of a question."""
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, kernel:
        ours.settimeout(0.05)
        for part in parts:
            kernel.send(part)
        diag = Diag()
        diag._kernel = ours
        return diag.queues(LISTEN, [80])


DONE = HEAD.pack(HEAD.size, sockets.DONE, 0, 0, 0)


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (HEAD.pack(36, sockets.ERROR, 0, 0, 0) + bytes(20),),
        (HEAD.pack(0, sockets.GETSOCK, 0, 0, 0),),
        (HEAD.pack(4000, sockets.GETSOCK, 0, 0, 0) + bytes(100), DONE),
        (HEAD.pack(40, sockets.GETSOCK, 0, 0, 0) + bytes(24), DONE),
        (b"x", DONE),
    ],
    ids=["silence", "error", "no length", "beyond its end", "short", "one byte"],
)
def test_an_answer_that_is_late_or_none_is_unknown(parts: tuple[bytes, ...]) -> None:
    assert answer(*parts) is None
    assert answer(DONE) == [], "one that is empty is none"


def test_both_tables_of_a_process_are_read(tmp_path: Path) -> None:
    table(tmp_path, "tcp", line(80, LISTEN, 3, 71), line(80, ESTABLISHED, 9, 72), line(80, 6, 0, 0))
    assert sockets.of_process(Tree(tmp_path), 7) == [Queue(10, 80, 3, 71), Queue(1, 80, 9, 72)]
    table(tmp_path, "tcp6", line(81, LISTEN, 1, 73))
    assert (sockets.of_process(Tree(tmp_path), 7) or [])[2:] == [Queue(10, 81, 1, 73)]
    assert sockets.of_process(Tree(tmp_path), 8) is None


@pytest.mark.parametrize("name", ["tcp", "tcp6"])
@pytest.mark.parametrize(
    "bad",
    [
        "garbled",
        "\0",
        line(80, LISTEN, 3, 71)[:-5],
        line(80, LISTEN, 3, 71).replace(":0050", ":-050"),
        line(80, LISTEN, 3, 71).replace("00000003", "0x000003"),
        line(80, LISTEN, 3, 71).replace(" 71 ", " -1 "),
        "0: " * 400_000,
    ],
)
def test_a_table_with_a_garbled_line_is_unknown(tmp_path: Path, name: str, bad: str) -> None:
    table(tmp_path, "tcp", line(80, LISTEN, 3, 71))
    table(tmp_path, name, line(80, LISTEN, 3, 71), bad)
    assert sockets.of_process(Tree(tmp_path), 7) is None


def test_a_kernel_that_would_load_a_module_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Modular(Tree):
        def exists(self, path: str) -> bool:
            return path == sockets.MODULES

    monkeypatch.setattr(sockets, "_is_built_in", lambda: False)
    assert sockets.diag(Modular()) is None
    assert sockets.diag(Tree(Path("/nowhere"))) is None, "a fake machine has no kernel"
