"""How many requests a load that changes with time has over its whole length."""

from __future__ import annotations

import math

from sojourn.errors import SpecFault
from sojourn.units import NS_PER_S, parse_count, parse_ns, show_count

SCHEDULED_MAX = 10_000_000  # requests of a schedule, which is played to its end


def requests(rate: str, least: int) -> int:
    """Requests of one run: of a steady rate as many as asked for, of a schedule all it has.

    Args:
        rate: 2k, steps:2k@10s,9k@60s, ramp:1k..9k@60s or sine:2k,1k,60s.
        least: of a steady rate; a sine has whole periods, as many as reach it.

    Raises:
        SpecFault: a ramp has no length, or there are too many requests.

    >>> requests("2k", 20_000), requests("steps:2k@10s,9k@60s", 20_000)
    (20000, 560000)
    """
    name, _, rest = rate.partition(":")
    if name == "ramp" and "@" not in rest:
        raise SpecFault(f"'{rate}' has no length", at="--rate", fix="write ramp:10..200@60s")
    try:
        whole = _whole(name, rest)
    except ValueError:
        return least  # the simulator refuses it, and says why
    if whole <= 0:
        return least
    count = whole * max(1, math.ceil(least / whole)) if name == "sine" else whole
    if count > SCHEDULED_MAX:
        raise SpecFault(
            f"'{rate}' has {show_count(count)} requests",
            at="--rate",
            fix=f"shorten it to {show_count(SCHEDULED_MAX)} at most",
        )
    return max(1, round(count))


def _whole(name: str, rest: str) -> float:
    """Requests in the length of a schedule, in a period of a sine; 0: the rate is steady."""
    if name == "steps":
        steps = [part.partition("@") for part in rest.split(",")]
        return sum(parse_count(level) * _seconds(length) for level, _, length in steps)
    if name == "ramp":
        levels, _, length = rest.rpartition("@")
        first, _, last = levels.partition("..")
        return (parse_count(first) + parse_count(last)) / 2 * _seconds(length)
    if name == "sine":
        mean, _, period = rest.split(",")
        return parse_count(mean) * _seconds(period)
    return 0.0


def _seconds(text: str) -> float:
    return parse_ns(text) / NS_PER_S
