"""Says that a first reply is awaited, where it does not come at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer

from sojourn.cli.faults import say

AFTER_S = 2.0  # most services answer sooner


@contextmanager
def noted(target: str, within_s: float, bound: str, *, after_s: float = AFTER_S) -> Iterator[None]:
    """Say after a while who is awaited, how long at most, why so long, and what shortens that.

    Args:
        target: as it was typed.
        within_s: the longest wait for one reply, s.
        bound: as it was typed; "" without one.
        after_s: how long to be silent, s.
    """
    from sojourn.services.own.first_replies import REPLY_S

    text = f"waiting for a first reply of {target}, {within_s:g} s at most, because "
    text += (
        f"a reply may take twice --bound {bound}, and {REPLY_S:g} s in any case"
        if bound
        else "no --bound says how long a reply may take; a shorter --bound waits less"
    )
    timer = Timer(after_s, say, [text])
    timer.daemon = True
    with suppress(RuntimeError):  # no more threads: then it waits in silence
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
