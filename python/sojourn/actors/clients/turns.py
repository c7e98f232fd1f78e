"""Clients that share a CPU: one spins on it, the others sleep until something is due or has come.

Two that spin keep each other from the CPU for whole time slices, and a scheduler that is fair by
time gives them as much of it each, whatever they have to do. Where all sleep, the CPU goes idle
between requests, and each wake-up takes the tens of microseconds that a virtual CPU needs to come
back. So the one that is asked most spins, and gives way after each look at its connections
(`yield`); the CPU stays awake, and the others have it within microseconds when they wake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sojourn import units
from sojourn.actors.clients.client import Job
from sojourn.host.tree import cpu_list

SPINS = {"spin", "auto"}


def taken(jobs: Sequence[Job]) -> list[Job]:
    """The same jobs, of which no two that are to spin do so on one CPU.

    >>> jobs = [{"cpus": "0", "wait": "spin", "rate": rate} for rate in ("300", "60k", "1")]
    >>> [job["wait"] for job in taken(jobs)]
    ['sleep', 'yield', 'sleep']
    """
    by_rate = sorted(range(len(jobs)), key=lambda nth: -_rate(jobs[nth]))
    wanted = Counter(cpu for job in jobs for cpu in _cpus(job))
    busy: set[int] = set()
    found = list(jobs)
    for nth in by_rate:
        job, cpus = jobs[nth], _cpus(jobs[nth])
        if str(job.get("wait", "auto")) not in SPINS:
            continue
        is_crowded = bool(cpus) and int(job.get("threads", 1)) > len(cpus)
        is_shared = any(wanted[cpu] > 1 for cpu in cpus)
        # In a closed loop nothing is due: all serve several replies at a wake-up.
        if is_crowded or cpus & busy or (is_shared and job.get("find_max")):
            found[nth] = {**job, "wait": "sleep"}
        elif is_shared:
            busy |= cpus
            found[nth] = {**job, "wait": "yield"}
    return found


def _cpus(job: Job) -> set[int]:
    return {*cpu_list(str(job.get("cpus", "")))}


def _rate(job: Job) -> float:
    """Requests/s; 0 where it is not one number."""
    try:
        return units.parse_count(str(job.get("rate", "0")))
    except ValueError:
        return 0.0
