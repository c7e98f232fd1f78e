"""The last resort: safe caps for best effort when the manager is gone or paused.

Run as a script, `python -I -S warden.py FD`. `FD` is one end of a socket pair. The manager sends a
line of JSON, {"caps": [[PATH, TEXT], …], "paused_s": 5.0}, then a byte at each of its rounds, and
"q" when it ends in order. Each is answered by "b", so that a stopped warden is noticed. Where no
byte comes for `paused_s`, or the other end is closed, the caps
are written, and written again until they read back or a second is over. It then says "c" if the
manager is still there, and goes on; a manager that was paused hears it when it wakes. While it is
paused, caps are written again each time, because a group may be made anew or the kernel may have
refused one. When the manager is gone they are not: the next one may have the group by then. What
was refused is reported on standard error.

It opens no file but those and its own oom_score_adj, and starts nothing. It has its own session, so
that no ^C reaches it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

CAP_S = 1.0
OOM = "/proc/self/oom_score_adj"
LINE_BYTES = 1 << 20
QUIT, BEAT, CAPPED = b"q", b"b", b"c"


def main(fd: int) -> None:
    """Watch one manager until it ends."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    spare()
    with socket.socket(fileno=fd) as manager:
        watch(manager)


def spare() -> None:
    """Ask the kernel to kill others first where memory is short; that takes CAP_SYS_RESOURCE."""
    with contextlib.suppress(OSError), open(OOM, "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("-1000")


def watch(manager: socket.socket) -> None:
    """Do what it asks for, until it ends."""
    spec = asked(manager)
    if spec is None:
        return
    caps = [(str(path), str(text)) for path, text in spec["caps"]]
    reported: list[tuple[str, str]] = []
    while True:
        ready, _, _ = select.select([manager], [], [], float(spec["paused_s"]))
        heard = hear(manager) if ready else None
        if heard is not None and QUIT in heard:
            return
        if heard:
            reported = []
            say(manager, BEAT)
            continue
        if heard is None:
            say(manager, CAPPED)
        refused = cap(caps)
        if refused != reported:
            report(refused)
            reported = refused
        if heard == b"":
            return
        say(manager, CAPPED)


def asked(manager: socket.socket) -> dict[str, Any] | None:
    """What to do; None: the manager is gone before it said that."""
    line = b""
    while not line.endswith(b"\n"):
        part = manager.recv(1 << 16)
        if not part or len(line) > LINE_BYTES:
            return None
        line += part
    manager.sendall(b"r")
    results: dict[str, Any] = json.loads(line)
    return results


def hear(manager: socket.socket) -> bytes:
    """What the manager sent; b"": it is gone."""
    try:
        return manager.recv(4096)
    except ConnectionError:
        return b""


def say(manager: socket.socket, what: bytes) -> None:
    """Answer a heartbeat, or say that the caps are set.

    The latter is said before it is done as well: a manager that was paused may wake in between, and
    whoever sees one cap must know the reason.
    """
    with contextlib.suppress(OSError):
        manager.send(what, socket.MSG_DONTWAIT)


def cap(caps: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Write every cap until each reads back or time is over; those that do not read back then.

    Groups that are gone are left out.
    """
    until = time.monotonic() + CAP_S
    left = caps
    while left and time.monotonic() < until:
        left = [one for one in left if not is_set(*one)]
        if left:
            time.sleep(0.01)
    return left


def report(refused: list[tuple[str, str]]) -> None:
    """Name the caps that are not in force, on standard error if that is open."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        for path, text in refused:
            sys.stderr.write(f"sojourn: the safe cap {text} of {path} was refused\n")
        sys.stderr.flush()


def is_set(path: str, text: str) -> bool:
    """Write one cap; whether it reads back, or there is no such file any more."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        os.write(handle, text.encode("ascii"))
        return os.pread(handle, 4096, 0).decode("ascii", "replace").strip() == text
    except OSError:
        return False
    finally:
        os.close(handle)


if __name__ == "__main__":
    main(int(sys.argv[1]))
