"""^C, SIGTERM and a closed terminal: each ends the lab in order, once.

While the lab cleans up it is deaf to further signals: cleaning has deadlines of its own, and an
impatient second ^C must not leave a server behind.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal asked the lab to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number


def _raise(number: int, frame: FrameType | None) -> None:
    del frame
    raise Interrupted(number)


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Within, each of `ENDING` raises `Interrupted`."""
    with _handling(_raise):
        yield


@contextmanager
def deaf() -> Iterator[None]:
    """Within, signals that would end the lab are put off."""
    heard: list[int] = []

    def put_off(number: int, frame: FrameType | None) -> None:
        del frame
        heard.append(number)

    with _handling(put_off):
        yield


@contextmanager
def _handling(handler: signal._HANDLER) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # Python delivers signals to the main thread only, which is its owner's business
        return
    before = {number: signal.signal(number, handler) for number in ENDING}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
