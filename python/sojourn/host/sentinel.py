"""Watches one CPU from a task of its own and says how long it was prevented from running.

Run as a script, by its path, with the bare interpreter, so that it starts soon and shares nothing
with the lab: `python -I -S sentinel.py CPU LENGTH_S WAY`.

`busy`: an ordinary task that never sleeps, as a server near its highest load. A gap between two
readings of the clock is time that others had: the hypervisor, interrupts, other tasks.

`urgent`: a real-time task that sleeps for one tick at a time. Other tasks cannot hold it up, so
when it wakes late, hypervisor or interrupts did it. It does not spin, for it would keep all others
off the CPU. A stop begins anywhere between two ticks: half a tick is added to what was seen of it.

Prints `{"is_urgent": …, "watched_ns": …, "stops_ns": […]}`; stops below `STOP_NS_MIN` are left out.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time

STOP_NS_MIN = 100_000
TICK_NS = 500_000
STOPS_MAX = 200_000


def busy(length_ns: int) -> tuple[int, list[int]]:
    """Read the clock again and again; returns (time watched, gaps), ns."""
    stops: list[int] = []
    began = last = time.monotonic_ns()
    end = began + length_ns
    while last < end and len(stops) < STOPS_MAX:
        now = time.monotonic_ns()
        if now - last >= STOP_NS_MIN:
            stops.append(now - last)
        last = now
    return last - began, stops


def urgent(length_ns: int) -> tuple[int, list[int]]:
    """Sleep tick by tick; returns (time watched, stops), ns."""
    stops: list[int] = []
    began = now = time.monotonic_ns()
    while now - began < length_ns and len(stops) < STOPS_MAX:
        due = now + TICK_NS
        time.sleep((due - now) / 1e9)
        now = time.monotonic_ns()
        if now - due >= STOP_NS_MIN:
            stops.append(now - due + TICK_NS // 2)
    return now - began, stops


def is_first() -> bool:
    """Become a real-time task, for this process only; False where that is not allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return False
    return True


def main() -> None:
    """Watch a CPU for a time (`sys.argv`: CPU, seconds, way) and print what was seen as JSON."""
    cpu, length_ns, way = int(sys.argv[1]), round(float(sys.argv[2]) * 1e9), sys.argv[3]
    os.sched_setaffinity(0, {cpu})
    gc.disable()
    is_urgent = way == "urgent" and is_first()
    watched_ns = 0
    stops: list[int] = []  # an urgent task that may not be one would see something else
    if is_urgent:
        watched_ns, stops = urgent(length_ns)
    elif way == "busy":
        watched_ns, stops = busy(length_ns)
    json.dump({"is_urgent": is_urgent, "watched_ns": watched_ns, "stops_ns": stops}, sys.stdout)


if __name__ == "__main__":
    main()
