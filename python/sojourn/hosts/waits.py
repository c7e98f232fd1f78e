"""A call that may never return, with a deadline.

What a cluster's library asks of a dead head, a stopped node or a broken way may hang for ever. Such
a call runs in a thread of its own. When its time is over the thread is left behind: it is a daemon,
so it does not hold up the lab's end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from typing import TypeVar

from sojourn.hosts.engine import SilentError

T = TypeVar("T")


def within(
    length_s: float, call: Callable[[], T], what: str, *, starts_processes: bool = False
) -> T:
    """What `call` returns or raises, if it does so in time.

    Args:
        length_s: deadline.
        call: what may hang.
        what: its name, for people.
        starts_processes: its thread then lives as long as this process, because the kernel ends
            processes that asked for it (PR_SET_PDEATHSIG) with the thread that started them.

    Raises:
        SilentError: it did neither.

    >>> within(5.0, lambda: 2 + 2, "a sum")
    4
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # noqa: BLE001  # it is raised where the answer is awaited
            answer.set_exception(error)
        if starts_processes:
            threading.Event().wait()

    threading.Thread(target=run, name=what, daemon=True).start()
    try:
        return answer.result(length_s)
    except Late:
        if answer.done():
            raise  # an error of the call's own that has the same name
        raise SilentError(f"{what}: no answer within {length_s:.0f} s") from None
