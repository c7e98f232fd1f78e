"""What Leverich and Kozyrakis say of each kind of scheduler (L24 to L26; figure 9), where they do.

Only what PAPERS.md states of their text is here; None: it does not. `matrix` is as L25 has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RESERVES, CONSERVES, PREEMPTS = "reservations", "work conserving", "preemption configurable"
YES, NO = "yes", "no"
DEFAULT, SHARES, REALTIME, QUOTA, BVT = "default", "shares", "real-time", "quota", "bvt"


@dataclass(frozen=True, slots=True)
class SchedulerStatement:
    """One kind of scheduler: its properties by name, and what its matrix came to."""

    name: str
    properties: Mapping[str, str | None]
    matrix: str


PAPER: Mapping[str, SchedulerStatement] = {
    DEFAULT: SchedulerStatement(
        "CFS",
        {RESERVES: None, CONSERVES: None, PREEMPTS: NO},
        "fits only while memcached's load is below the other's (L19)",
    ),
    SHARES: SchedulerStatement(
        "CFS with huge shares",
        {RESERVES: None, CONSERVES: None, PREEMPTS: NO},
        "couples who waits and who gets the CPU; may starve the other (L24)",
    ),
    REALTIME: SchedulerStatement(
        "FIFO or RR, rate-monotonic",
        {RESERVES: None, CONSERVES: None, PREEMPTS: YES},
        "safe up to about 70 % of both together (L24)",
    ),
    QUOTA: SchedulerStatement(
        "real-time with a quota",
        {RESERVES: YES, CONSERVES: NO, PREEMPTS: YES},
        "degrades above 70 % of both together (L25)",
    ),
    BVT: SchedulerStatement(
        "BVT",
        {RESERVES: YES, CONSERVES: None, PREEMPTS: YES},
        "good up to 80 to 90 % of both together (L25)",
    ),
}


def kind_of(levels: Mapping[str, Mapping[str, str]]) -> str:
    """The paper's kind of scheduler that levels of services' knobs come to; "" for none of them.

    Args:
        levels: by service, of its knobs by name.

    >>> kind_of({"a": {"policy": "fifo:rate", "rt_quota": "load/24ms"}, "b": {"policy": "other"}})
    'quota'
    """
    policies = {of.get("policy", "other").partition(":")[0] for of in levels.values()}
    budgets = {of.get("rt_quota", "none") for of in levels.values()}
    if policies & {"fifo", "rr"}:
        return QUOTA if budgets != {"none"} else REALTIME
    if "bvt" in policies:
        return BVT
    if "nice" in policies:
        return SHARES
    return DEFAULT if policies == {"other"} else ""
