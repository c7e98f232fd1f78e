"""^C, SIGTERM and a closed terminal: each ends the lab in order, once.

While the lab cleans up it is deaf to further signals: every wait of the cleaning has a deadline,
and an impatient second ^C must not leave a server behind. What was ignored when the lab started
stays ignored, because `nohup` and a shell's background jobs ask for just that.
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


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Within, the first of `ENDING` raises `Interrupted`; it is being obeyed, so others are not.

    A second one would else interrupt the cleaning at every level that `Interrupted` passes through.
    """
    heard: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        del frame
        heard.append(number)
        if len(heard) == 1:
            raise Interrupted(number)

    with _handling(end):
        yield


@contextmanager
def deaf() -> Iterator[None]:
    """Put off signals that would end the lab until this block is through; then obey them.

    For what must be done whole: a server is started and noted, or stopped and crossed out. A block
    that fails is through as well: the lab would else go on with its next point. Each signal is
    obeyed once, in order: the first may be one that ends nothing, as SIGHUP is for a manager.
    """
    heard: list[int] = []

    def put_off(number: int, frame: FrameType | None) -> None:
        del frame
        heard.append(number)

    try:
        with _handling(put_off):
            yield
    finally:
        for number in dict.fromkeys(heard):  # the one that ends the lab leaves the rest
            signal.raise_signal(number)


@contextmanager
def _handling(handler: signal._HANDLER) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # Python delivers signals to the main thread only, which is its owner's business
        return
    obeyed = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in obeyed}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
