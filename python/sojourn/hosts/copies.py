"""Copies of a machine that ran have its boot, and clocks of their own. Pure.

A virtual machine that was restored from a saved state has the boot of that state. So several of one
state look like one machine. Their clocks show that they are several, because each went on when its
own machine did.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.hosts.clock import DRIFT_MAX, Reading
from sojourn.hosts.engine import Facts


def apart(seen: Sequence[tuple[Facts, Reading]], own: Facts, at_ns: int) -> list[Facts]:
    """The same facts; a machine that is a copy of another has no boot that is known.

    Args:
        seen: facts of each agent, with the last reading of its clock.
        own: facts of the lab; its clock has no offset.
        at_ns: now, by the lab's clock; a clock drifts after its reading.

    >>> facts, off = {"boot": "b", "time": "t"}, Reading(at_ns=0, offset_ns=5e9, error_ns=1e5)
    >>> [apart([(facts, off)], {**facts, "boot": boot}, 0)[0]["boot"] for boot in "ab"]
    ['b', '']
    """
    first = {_clock(own): (0.0, 0.0)}
    result = []
    for facts, reading in seen:
        reach_ns = DRIFT_MAX * max(0, at_ns - reading.at_ns)
        low, high = reading.low_ns - reach_ns, reading.high_ns + reach_ns
        least, most = first.setdefault(_clock(facts), (low, high))
        result.append(facts if low <= most and least <= high else {**facts, "boot": ""})
    return result


def _clock(facts: Facts) -> tuple[str, str]:
    return str(facts["boot"]), str(facts["time"])
