"""Programs of the papers' co-location tables as batch jobs that come and go.

L33 has memcached's tail beside six programs that run on the other half of the cores, so they act
by memory alone. How much longer the tail is at half load is taken as how much longer service takes
while a program uses half of the cores; beside one on all cores it is twice as much. That is a
stand-in, because a tail is no service time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from sojourn.models.colocation import ALONE, L28, L33

LOAD, HALF = 0.5, 0.5
CORES = 24
THREADS = (4, 8, 12)
SLOTS, SEED = 3, 28
RUN_S, PAUSE_S, LEAST_S = 3 * 3600.0, 3600.0, 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A program with so many threads, from when to when."""

    program: str
    threads: int
    begin_s: float
    end_s: float


@cache
def memory() -> dict[str, float]:
    """How much longer service takes beside each program on all cores: 0.5 is half as long again.

    >>> {name: round(more, 2) for name, more in memory().items()}  # doctest: +ELLIPSIS
    {'perlbench': 0.0, 'bzip2': 0.0, 'gcc': 0.08, 'mcf': 0.38, 'GemsFDTD': 0.58, 'lbm': 0.67}
    """
    alone = L33.at(ALONE, LOAD)
    assert alone is not None and alone.tail_ns is not None  # noqa: PT018, S101  # a printed table
    rows = ((name, L33.at(name, LOAD)) for name in L33.neighbours if name in L28.neighbours)
    return {
        name: (row.tail_ns / alone.tail_ns - 1) / HALF for name, row in rows if row and row.tail_ns
    }


def jobs(length_s: float, seed: int = SEED) -> tuple[Job, ...]:
    """What runs when: each slot has one program after another, with pauses between."""
    draw, names, results = np.random.default_rng(seed), list(memory()), []
    for _ in range(SLOTS):
        now_s = float(draw.exponential(PAUSE_S))
        while now_s < length_s:
            name = names[int(draw.integers(len(names)))]
            threads = THREADS[int(draw.integers(len(THREADS)))]
            end_s = now_s + LEAST_S + float(draw.exponential(RUN_S - LEAST_S))
            results.append(Job(program=name, threads=threads, begin_s=now_s, end_s=end_s))
            now_s = end_s + float(draw.exponential(PAUSE_S))
    return tuple(results)


class Mix:
    """What all jobs want together, and how much they slow the service."""

    def __init__(self, all_jobs: Sequence[Job], cores: int = CORES) -> None:
        edges = sorted({0.0, *(t for job in all_jobs for t in (job.begin_s, job.end_s))})
        self._edges, self._mixes = edges, []
        for edge in edges:
            here = [job for job in all_jobs if job.begin_s <= edge < job.end_s]
            threads = sum(job.threads for job in here)
            slows = sum(job.threads * memory()[job.program] for job in here)
            self._mixes.append((min(1.0, threads / cores), slows / max(1, threads)))

    def wants(self, t_s: float) -> float:
        """Share of the machine that they would use."""
        return self._mixes[bisect_right(self._edges, t_s) - 1][0]

    def memory(self, t_s: float) -> float:
        """See `Moment.memory`; programs that run together count by their threads."""
        return self._mixes[bisect_right(self._edges, t_s) - 1][1]
