"""Levels that a knob can have.

Whoever decides may be a foreign program, which can ask for any number.
"""

from __future__ import annotations

from pydantic import ValidationError

from sojourn.controllers.look import COUNT_MAX, Allocation, Knob, Level, mistake


def changed(before: Allocation, knob: Knob, level: Level, cpus: int) -> Allocation:
    """An allocation with another level of one knob.

    Args:
        before: what is in force; its other levels stay, and are not looked at.
        knob: which level changes.
        level: as somebody else wrote it.
        cpus: that all groups share: the most that `cores` can be.

    Raises:
        ValueError: the knob has no such level.

    >>> changed(Allocation(weight=50), "cores", 2, cpus=8).cores
    2
    """
    most = cpus if knob == "cores" else COUNT_MAX
    if isinstance(level, int | float) and not 0 <= level <= most:
        raise ValueError(f"{knob} is from 0 to {most}")
    try:
        checked = Allocation.model_validate({knob: level})
    except ValidationError as error:
        raise ValueError(mistake(error)) from None
    return before.model_copy(update={knob: getattr(checked, knob)})
