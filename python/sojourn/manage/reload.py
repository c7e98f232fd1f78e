"""What may change while a manager runs, and when SIGHUP asks for it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator

from sojourn.errors import SpecFault
from sojourn.manage.config import Config

FIXED = ("audit", "cpus", "record")


class Asked:
    """Whether the configuration is to be read again; may be asked before there is a manager."""

    def __init__(self) -> None:
        """It was not asked for yet."""
        self._is_asked = False

    def ask(self) -> None:
        """Read it again before the next look; for a signal's handler."""
        self._is_asked = True

    def taken(self) -> bool:
        """Whether it is, and was not yet when this was called last."""
        was, self._is_asked = self._is_asked, False
        return was


def check(old: Config, new: Config) -> None:
    """SpecFault where groups, their places or files differ: these are taken once, at the start."""
    fix = "end the manager, and start it again"
    for name in sorted(old.groups.keys() | new.groups.keys()):
        before, after = old.groups.get(name), new.groups.get(name)
        is_same = before is not None and after is not None and _place(before) == _place(after)
        if not is_same:
            raise SpecFault(
                "a manager that runs takes no other groups", at=f"groups.{name}", fix=fix
            )
    for key in FIXED:
        if getattr(old, key) != getattr(new, key):
            raise SpecFault(f"{key} cannot change while a manager runs", at=key, fix=fix)


def _place(group: object) -> tuple[object, ...]:
    return tuple(getattr(group, key) for key in ("role", "cgroup", "pid", "disk", "link"))


@contextlib.contextmanager
def asked_by_hangup(ask: Callable[[], None]) -> Iterator[None]:
    """Within, SIGHUP asks to reload, if the program has no terminal.

    With one, a hangup means that the terminal was closed, and the manager ends in order.
    """
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN or _has_terminal():
        yield
        return
    signal.signal(signal.SIGHUP, lambda _number, _frame: ask())
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
