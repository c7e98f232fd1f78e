"""Settings of points from records that were written before points had one (version 1).

Until then the factors of a traced point stood in its key alone, as in
`memcached/trace/b0/loaded-f0.90/with~1`; all else follows from a point's other fields. Nothing but
the readers of such records looks here, and no other key is ever taken apart.
"""

from __future__ import annotations

from sojourn.plan.points import Phase
from sojourn.plan.setting import CONDITION, LOAD, RATE, TRACER, Level, Setting


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
    return Setting.of(levels)
