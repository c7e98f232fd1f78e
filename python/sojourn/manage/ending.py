"""Groups are put back, each of them, whatever is wrong with another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sojourn.errors import Fault
from sojourn.manage.groups import Managed


def restored(groups: Iterable[Managed]) -> list[str]:
    """Put them back; what could not be."""
    return [why for one in groups for why in _tried(one, one.restore)]


def abandoned(groups: Iterable[Managed]) -> list[str]:
    """Groups that are lost have no cap of the warden any more; what could not be taken off."""
    return [why for one in groups for why in _tried(one, one.abandon)]


def _tried(one: Managed, act: Callable[[], list[str] | None]) -> list[str]:
    try:
        return act() or []
    except Fault as fault:  # such as a journal on a full disk
        return [f"{one.name}: {fault.what}"]
