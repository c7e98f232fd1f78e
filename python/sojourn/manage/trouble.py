"""Why best-effort groups must have their safe caps now, asked at each look."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sojourn.controllers.look import BEST_EFFORT, CRITICAL, Look
from sojourn.errors import RunFault
from sojourn.manage.bites import Bites
from sojourn.manage.checks import RefusedFault
from sojourn.manage.config import Config
from sojourn.manage.groups import Managed
from sojourn.manage.guard import GONE
from sojourn.manage.pair import Pair
from sojourn.manage.parts import Parts
from sojourn.manage.silence import Silence

ASKED_S, BEATS = 0.5, 10  # between two heartbeats: at most, and at least so many in `paused_s`


@dataclass(slots=True)
class Trouble:
    """What may be wrong, and what was seen of it before.

    Attributes:
        groups: that are there, by name.
    """

    groups: Mapping[str, Managed]
    _ask_s: float = 0.0
    _bites: Bites = field(default_factory=Bites)
    _silence: Silence = field(default_factory=Silence)

    def of(self, look: Look, config: Config, parts: Parts, guard: Pair | None) -> str:
        """The reason; "": nothing is wrong.

        The warden and the knobs are asked a few times a second, because each costs a reading.

        Args:
            look: that was taken just now.
            config: that is in force.
            parts: rule and window source of it.
            guard: the wardens; None: nothing is changed (a dry run).

        Raises:
            RunFault: the manager cannot go on: the warden has ended, or somebody else sets a knob.
        """
        self._bites.only(look.groups)
        is_due = look.t_s >= self._ask_s
        if is_due:
            self._ask_s = look.t_s + min(ASKED_S, config.paused_s / BEATS)
        if is_due and (paused := _heard(guard, config)):
            return paused
        for role in (CRITICAL, BEST_EFFORT):
            if not look.of(role):
                return f"no {role} group is there"
        if parts.source is not None:
            now_s = time.monotonic()
            if silent := self._silence.of(look, now_s, parts.since_s, config.silent_s):
                return silent
        return self._not_in_force(look, config, guard) if guard is not None and is_due else ""

    def _not_in_force(self, look: Look, config: Config, guard: Pair) -> str:
        """RunFault where a knob is not in force; a group that has gone is left to the next look.

        Returns:
            Why the warden has set the caps; "": every knob is in force.
        """
        for name, one in self.groups.items():
            why = one.lies() or self._bites.exceeded(one, look)
            if not why or not one.is_there:
                continue
            if paused := _heard(guard, config):  # since it was asked, and the caps are the warden's
                return paused
            raise RunFault(
                f"a knob of {name} is not in force: {why}",
                at=f"groups.{name}",
                fix="see who else sets it; the manager does not go on beside another one",
            )
        return ""


def unless_paused(act: Callable[[], None], guard: Pair | None, config: Config) -> str:
    """Set levels; why the warden has set the caps meanwhile, which is no fault; "": it has not.

    The manager may be paused between two of its steps. It finds the caps then, not what it set.
    """
    try:
        act()
    except RefusedFault:
        if paused := _heard(guard, config):
            return paused
        raise
    return ""


def _heard(guard: Pair | None, config: Config) -> str:
    """Why the warden had to set the caps; "": it had not. RunFault if it has ended."""
    state = guard.beat() if guard is not None else ""
    if state == GONE:
        raise RunFault(
            "a warden of the manager has ended, or is stopped",
            at="manage",
            fix="start the manager again",
        )
    return f"the manager was paused for more than {config.paused_s:g} s" if state else ""
