"""Says that a first reply is awaited, where it does not come at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer

from sojourn.cli.faults import say

AFTER_S = 2.0  # most services answer sooner


@contextmanager
def noted(target: str, within_s: float, *, after_s: float = AFTER_S) -> Iterator[None]:
    """Say after a while who is awaited, how long at most, and what shortens that.

    Args:
        target: as it was typed.
        within_s: the longest wait for one reply, s.
        after_s: how long to be silent, s.
    """
    text = f"waiting for a first reply of {target}, {within_s:g} s at most"
    timer = Timer(after_s, say, [f"{text}; a shorter --bound waits less"])
    timer.daemon = True
    with suppress(RuntimeError):  # no more threads: then it waits in silence
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
