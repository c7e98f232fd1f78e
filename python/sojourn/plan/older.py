"""Settings of points from records that were written before they said what they say today.

Until points had a setting (version 1) the factors of a traced point stood in its key alone, as in
`memcached/trace/b0/loaded-f0.90/with~1`; all else follows from a point's other fields. Then, for a
while, a setting named the condition as those keys did. Nothing but the readers of such records
looks here, and no other key is ever taken apart.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.plan.points import Phase
from sojourn.plan.setting import CONNECTIONS, LOAD, NEIGHBOUR, RATE, TRACER, Level, Setting

CONDITION = "condition"
_MEANT: Mapping[str, Mapping[str, Level]] = {
    "unloaded": {NEIGHBOUR: "none", CONNECTIONS: 1},
    "context_switch": {NEIGHBOUR: "spin", CONNECTIONS: 1},
    "loaded": {NEIGHBOUR: "none"},
    "interference": {NEIGHBOUR: "stream"},
}


def setting_of(
    key: str, phase: Phase, fraction: float | None, offered_rps: float | None
) -> Setting:
    """What a point of version 1 was measured under; ValueError if its key is of no such point."""
    if offered_rps is None:
        return Setting()  # a closed loop: as fast as it goes
    is_share = fraction is not None and phase in {Phase.SWEEP, Phase.CHECK, Phase.TRACE}
    is_base = phase is Phase.PEAK and fraction is not None and "/drop/" not in key
    if fraction is None or not (is_share or is_base):
        return Setting.of({RATE: offered_rps})
    levels: dict[str, Level] = {LOAD: fraction}
    if phase is Phase.TRACE:
        *_, condition, which = key.split("/")
        levels[CONDITION] = condition.partition("-f")[0]
        levels[TRACER] = which.partition("~")[0] == "with"
    return renamed(levels)


def renamed(levels: Mapping[str, Level]) -> Setting:
    """The setting of these levels in today's words.

    >>> renamed({"condition": "context_switch", "load": 0.01, "tracer": True}).text
    'connections=1,load=0.01,neighbour=spin,tracer=true'
    """
    left = dict(levels)
    condition = left.pop(CONDITION, None)
    return Setting.of({**left, **_MEANT.get(str(condition), {})})
