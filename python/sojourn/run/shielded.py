"""The shield of one life: put up when it begins, completed before each run, read back after it."""

from __future__ import annotations

import time
from dataclasses import replace

from sojourn.places import proc
from sojourn.run import moving, shield, signals
from sojourn.run.journal import Journal
from sojourn.run.live import RunningService
from sojourn.services.capabilities import SaysWhyNotReady

IDLE_S = (0.1, 0.4)  # it is looked at again if it was busy: what follows a start may end
BUSY = 0.8  # share of the time
AWAKE = 0.2  # the same of a thread that never slept: a hypervisor may have taken the rest
POLLS = (
    "it keeps a CPU busy while nothing is asked, and the kernel stops a real-time thread that does"
)


def begin(live: RunningService, journal: Journal) -> None:
    """Keep its CPUs for it (M32), before the warming finds the steady state that is measured."""
    assert live.process is not None  # noqa: S101  # it answered
    where = live.placement
    if live.wish.name != shield.NONE and not live.wish.refused and _polls(live):
        live.wish = replace(live.wish, refused=POLLS)
    live.shield = shield.put_up(live.wish, live.process.pid, where.server)
    if live.wish.name == shield.MOVE:
        room = moving.CpuSets(server=where.server, client=where.client, usable=live.usable)
        with signals.deaf():
            live.moved = moving.begin(room, journal, shield.TREE)
        live.shield = replace(live.shield, moved=live.moved.facts)


def _polls(live: RunningService) -> bool:
    """Whether a thread is always busy while nothing is asked; of an own service, others wait."""
    if not isinstance(live.service, SaysWhyNotReady):
        return False
    for length_s in IDLE_S:
        before, began_ns = _seen(live), time.monotonic_ns()
        time.sleep(length_s)
        length_ns = time.monotonic_ns() - began_ns
        if not any(
            _is_busy(before.get(tid, now), now, length_ns) for tid, now in _seen(live).items()
        ):
            return False
    return True


def _is_busy(before: tuple[int, int], now: tuple[int, int], length_ns: int) -> bool:
    """Whether a thread was, between two looks of `_seen`."""
    has_slept = now[1] > before[1]
    return now[0] - before[0] >= (BUSY if has_slept else AWAKE) * length_ns


def _seen(live: RunningService) -> dict[int, tuple[int, int]]:
    """How long each thread has run, or waited for a CPU, ns; and how often it went to sleep."""
    return {
        one.tid: (proc.wanted_ns(one.pid, one.tid), proc.sleeps(one.pid, one.tid))
        for one in live.tasks()
    }


def renew(live: RunningService) -> None:
    """Before a run: cover threads that came since the last one."""
    if live.process is not None:
        cpus = live.placement.server
        live.shield = shield.renew(live.shield, live.wish, live.process.pid, cpus)


def look(live: RunningService, busy_s: float, length_s: float) -> None:
    """After a run: keep what was in force at its end.

    Args:
        live: what was measured.
        busy_s: CPU time that the server used in it, s.
        length_s: how long it was loaded, s.
    """
    if live.process is None or not live.placement.server:
        return
    share = busy_s / (length_s * len(live.placement.server)) if length_s > 0 else None
    busy = None if share is None else round(min(1.0, share), 3)
    live.shield = shield.look(live.shield, live.process.pid, busy)
