"""The shield of one life: put up when it begins, completed before each run, read back after it."""

from __future__ import annotations

from dataclasses import replace

from sojourn.run import moving, shield, signals
from sojourn.run.journal import Journal
from sojourn.run.live import RunningService


def begin(live: RunningService, journal: Journal) -> None:
    """Keep its CPUs for it (M32), before the warming finds the steady state that is measured."""
    assert live.process is not None  # noqa: S101  # it answered
    where = live.placement
    live.shield = shield.put_up(live.wish, live.process.pid, where.server)
    if live.wish.name == shield.MOVE:
        room = moving.CpuSets(server=where.server, client=where.client, usable=live.usable)
        with signals.deaf():
            live.moved = moving.begin(room, journal, shield.TREE)
        live.shield = replace(live.shield, moved=live.moved.facts)


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
