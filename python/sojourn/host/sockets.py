"""TCP sockets with their queues, from the kernel: sock_diag, or /proc/PID/net/tcp.

The kernel has one table of connections for all network namespaces. To walk it takes 0.4 ms with
262,144 buckets (Linux 6.18), and to write it as text takes ten times as long. So
`Diag` lets the kernel leave out other ports, and asks for both families at once. It asks in the
form before SOCK_DIAG_BY_FAMILY, because the newer one walks the table once for each family.

Source: include/uapi/linux/inet_diag.h, sock_diag(7) and proc_pid_net(5).
"""

from __future__ import annotations

import binascii
import os
import socket
import struct
import time
import weakref
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import NamedTuple

from sojourn.host import reading
from sojourn.host.tree import Tree

ESTABLISHED, LISTEN = 1, 10  # include/net/tcp_states.h
SOCK_DIAG = 4  # NETLINK_SOCK_DIAG
GETSOCK, DONE, ERROR = 18, 3, 2  # TCPDIAG_GETSOCK; NLMSG_DONE, NLMSG_ERROR
REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_ROOT | NLM_F_MATCH
BYTECODE = 1  # INET_DIAG_REQ_BYTECODE
JMP, S_GE, S_LE = 1, 2, 3  # INET_DIAG_BC_…
HEAD = struct.Struct("=IHHII")  # length, type, flags, number, port
OP = struct.Struct("=BBH")  # code, yes, no
REQUEST = struct.Struct("=BBBB48xII")  # struct inet_diag_req: family …, states, dbs
ASKED = struct.Struct("=BB2x2s50xIIII")  # struct inet_diag_msg: family, state … inode
PORT = struct.Struct(">H")
PORTS_MAX = 64
BYTES_MAX = 1 << 20  # of one answer: some 8,000 sockets
WITHIN_S = 0.05  # for each part of an answer to come, and of CPU time for all of them
MODULES, LOADED = "/proc/modules", "/sys/module/tcp_diag"
TABLES = ("tcp", "tcp6")


class Queue(NamedTuple):
    """One socket.

    Attributes:
        waiting: of one that listens, connections to accept; of another, bytes to read.
    """

    state: int
    port: int
    waiting: int
    inode: int


class Diag:
    """Asks the kernel for the sockets of this process's network namespace."""

    def __init__(self) -> None:
        """No socket is open yet."""
        self._kernel: socket.socket | None = None
        self._close: Callable[[], object] = lambda: None

    def queues(self, state: int, ports: Collection[int]) -> list[Queue] | None:
        """Sockets in one state; None: refused, late, or too many.

        Args:
            state: ESTABLISHED or LISTEN.
            ports: own ports that are asked for; empty: all of them.
        """
        try:
            kernel = self._kernel or self._opened()
            kernel.send(asked(state, frozenset(ports)))
            return _answer(kernel)
        except (OSError, ValueError, struct.error):
            self._close()  # what may still come is no answer to the next question
            self._kernel = None
            return None

    def _opened(self) -> socket.socket:
        kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG)
        self._kernel, self._close = kernel, weakref.finalize(self, kernel.close)
        within = struct.pack("@ll", 0, round(WITHIN_S * 1e6))  # struct timeval
        for way in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):  # without a poll before each call
            kernel.setsockopt(socket.SOL_SOCKET, way, within)
        return kernel


def _answer(kernel: socket.socket) -> list[Queue]:
    results: list[Queue] = []
    until_s, size = time.thread_time() + WITHIN_S, 0
    while size <= BYTES_MAX and time.thread_time() < until_s:
        part = kernel.recv(1 << 16)
        size += len(part)
        if _take(part, results):
            return results
    raise TimeoutError


def diag(tree: Tree) -> Diag | None:
    """One that works on this tree's machine; None: none does.

    It is not tried where the kernel would load a module, because that stays afterwards.
    """
    if not tree.is_live or (
        tree.exists(MODULES) and not tree.exists(LOADED) and not _is_built_in()
    ):
        return None
    one = Diag()
    return None if one.queues(LISTEN, ()) is None else one


def _is_built_in() -> bool:
    built = Tree().text(f"/lib/modules/{os.uname().release}/modules.builtin") or ""
    return "/tcp_diag.ko" in built


@lru_cache(64)  # a manager asks the same ten times a second
def asked(state: int, ports: frozenset[int]) -> bytes:
    """The request for all sockets of one state with one of these own ports.

    Each port is two comparisons, and a jump to the end where both are true. A comparison that is
    false goes on with the next port; behind the last one it leaves the program, so it refuses.
    """
    if len(ports) > PORTS_MAX:
        raise ValueError(f"more than {PORTS_MAX} ports")
    code, size = b"", 20 * len(ports) - 4  # of the program: the last port needs no jump
    for nth, port in enumerate(sorted(ports), 1):
        value = OP.pack(0, 0, port)
        code += OP.pack(S_GE, 8, 20) + value + OP.pack(S_LE, 8, 12) + value
        if nth < len(ports):
            code += OP.pack(JMP, 4, size - len(code))
    body = REQUEST.pack(socket.AF_INET, 0, 0, 0, 1 << state, 0)
    if code:
        body += struct.pack("=HH", 4 + len(code), BYTECODE) + code
    return HEAD.pack(HEAD.size + len(body), GETSOCK, REQUEST_DUMP, 1, 0) + body


def _take(part: bytes, results: list[Queue]) -> bool:
    """Take the messages of a part of the answer; whether it was the last one.

    Raises:
        OSError: the kernel refused.
        struct.error, ValueError: it is no answer.
    """
    at = 0
    while at < len(part):
        length, kind, _, _, _ = HEAD.unpack_from(part, at)
        if kind == DONE:
            return True
        if kind == ERROR or not HEAD.size <= length <= len(part) - at:
            raise ValueError("no answer")
        _, state, port, waiting, _, _, inode = ASKED.unpack_from(part, at + HEAD.size)
        results.append(Queue(state, PORT.unpack(port)[0], waiting, inode))
        at += (length + 3) & ~3
    return False


def of_process(tree: Tree, pid: int) -> list[Queue] | None:
    """Sockets that listen or are connected, of the network namespace of a process.

    None: the tables cannot be read, are too large, or have a line that is not as the kernel writes
    it. There need not be a table of IPv6.
    """
    results: list[Queue] = []
    for nth, name in enumerate(TABLES):
        text = reading.whole(tree, f"/proc/{pid}/net/{name}", BYTES_MAX)
        if text is None and (nth == 0 or tree.exists(f"/proc/{pid}/net/{name}")):
            return None
        try:
            results += [_of_line(line) for line in (text or b"").split(b"\n")[1:] if line]
        except (ValueError, IndexError):
            return None
    return [one for one in results if one.state in {ESTABLISHED, LISTEN}]


def _of_line(line: bytes) -> Queue:
    """One line of such a table; ValueError or IndexError where it is none.

    >>> _of_line(b"0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:0 00 0 0 77 1")
    Queue(state=10, port=8080, waiting=3, inode=77)
    """
    words = line.split()
    port = _hex(words[1].rpartition(b":")[2], 4)
    return Queue(_hex(words[3], 2), port, _hex(words[4].partition(b":")[2], 8), _decimal(words[9]))


def _hex(word: bytes, digits: int) -> int:
    if len(word) != digits:
        raise ValueError(word)
    return int.from_bytes(binascii.unhexlify(word), "big")


def _decimal(word: bytes) -> int:
    result = reading.count(word)
    if result is None:
        raise ValueError(word)
    return result
