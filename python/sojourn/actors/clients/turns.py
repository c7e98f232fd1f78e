"""Clients that share a CPU take turns on it: one looks at its connections, then the next does.

Two that spin as the kernel lets them keep each other from the CPU for whole time slices. Where all
sleep, the CPU goes idle between requests, and each wake-up takes the tens of microseconds that a
virtual CPU needs to come back. Where one spins and the others sleep, 5 to 37 of 100 requests of
memcached beside NGINX were sent more than 50 us late. So all spin, and each gives the CPU to the
next after one look at its connections, by a word in a file that all have mapped (`turns` in the
generator): a turn changes hands in a few microseconds, and comes back after what the others had to
do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.actors.clients.client import Job
from sojourn.host.tree import cpu_list

SPINS = {"spin", "auto"}
CPU_MAX = 0.8  # of a CPU that several processes share, as a generator that sleeps may use alone


def taken(jobs: Sequence[Job], by: Path) -> list[Job]:
    """The same jobs, of which those that are to spin on a shared CPU do so in turn.

    In a closed loop nothing is due: there all sleep, and serve several replies at a wake-up.

    Args:
        jobs: of all clients that run at once.
        by: file by which they take turns, made when the first of them starts.

    >>> jobs = [{"cpus": "0", "wait": "spin"}, {"cpus": "0-1", "threads": 2}, {"cpus": "2"}]
    >>> [job.get("wait") for job in taken(jobs, Path("turns"))]
    ['yield', 'yield', None]
    """
    seats = Counter(cpu for job in jobs for cpu in _seats(job))
    results = []
    for job in jobs:
        is_shared = any(seats[cpu] > 1 for cpu in _seats(job))
        if not is_shared or str(job.get("wait", "auto")) not in SPINS:
            results.append(job)
        elif job.get("find_max"):
            results.append({**job, "wait": "sleep"})
        else:
            results.append({**job, "wait": "yield", "turns": str(by)})
    return results


def crowded(results: Sequence[Mapping[str, Any]], machines: Sequence[str]) -> str:
    """Whether processes that share a CPU kept each other from it; each alone cannot tell."""
    used: Counter[tuple[str, str]] = Counter()
    for result, machine in zip(results, machines, strict=True):
        if result["job"].get("wait", "").startswith("sleep"):
            own = machine, str(result["job"].get("cpus", ""))
            used[own] += sum(thread["cpu_share"] for thread in result["threads"])
    full = [
        (cpus, share) for (_, cpus), share in used.items() if cpus.isdigit() and share > CPU_MAX
    ]
    if not full:
        return ""
    cpus, share = full[0]
    return (
        f"client: together the clients on CPU {cpus} used {share:.0%} of it, {CPU_MAX:.0%} may be; "
        "use fewer clients, a lower load or more CPUs"
    )


def _seats(job: Job) -> list[int]:
    """The CPU of each of its threads, as the generator pins them; none: it may run anywhere."""
    cpus = sorted(cpu_list(str(job.get("cpus", ""))))
    return [cpus[nth % len(cpus)] for nth in range(int(job.get("threads", 1)))] if cpus else []
