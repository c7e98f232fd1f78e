"""Knobs of best-effort groups that are no files of their control groups.

Adding one is one file like `policy.py`, one line in `KINDS`, and a level in `Allocation`.
"""

from __future__ import annotations

from sojourn.controllers.look import BEST_EFFORT, Knob
from sojourn.manage.actuators.actuator import Actuator, Member
from sojourn.manage.actuators.cache import Bandwidth, Ways
from sojourn.manage.actuators.egress import Sending
from sojourn.manage.actuators.frequency import CpuFrequency
from sojourn.manage.actuators.policy import ThreadPolicy

#: Every actuator, in the order in which a group that was made anew has its levels again.
KINDS: tuple[type[Actuator], ...] = (ThreadPolicy, Sending, CpuFrequency, Ways, Bandwidth)

__all__ = ["KINDS", "Actuator", "Member", "of"]


def of(member: Member) -> dict[Knob, Actuator]:
    """Those of a group, by knob; none of a service."""
    if member.spec.role != BEST_EFFORT:
        return {}
    return {kind.knob: kind(member) for kind in KINDS}
