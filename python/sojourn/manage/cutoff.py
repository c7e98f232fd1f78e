"""Deadlines for a whole exchange over a connection, and not for each part of it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def cut_after(wire: socket.socket, seconds: float) -> Iterator[None]:
    """Within, the connection ends after so long, also for a thread that waits at it."""
    timer = threading.Timer(seconds, end, [wire])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def end(wire: socket.socket) -> None:
    """End a connection for whoever waits at it."""
    with contextlib.suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)
