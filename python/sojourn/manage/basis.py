"""What a decision is based on, for the audit log."""

from __future__ import annotations

from typing import Any

from sojourn.controllers.look import Group, Look

DIGITS = 6  # significant ones: a log is read by people


def of(look: Look, group: str) -> dict[str, Any]:
    """The newest window of the first service, and signals of all services and of one group more.

    Args:
        look: that was decided on; it has a service.
        group: that gets another level.
    """
    service = next(iter(look.critical.values()))
    names = dict.fromkeys((*look.critical, group))
    return {
        "window": service.windows[0].model_dump() if service.windows else None,
        "signals": {name: _signals(look.groups[name]) for name in names},
    }


def _signals(group: Group) -> dict[str, dict[str, float]]:
    return {
        name: {"value": float(f"{one.value:.{DIGITS}g}"), "age_ms": one.age_ms}
        for name, one in group.signals.items()
    }
