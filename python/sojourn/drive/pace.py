"""How fast a piece of work is alone, then on and on, at its own pace or at the one asked for."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sojourn.drive.job import Job
from sojourn.drive.work import Children, work

SAY_S = 0.2  # of progress that a line tells, at least: pieces of work are shorter
STEPS_MIN = 3  # pieces of work that suffice to know the pace alone
ALONE_S = 1.0  # of the measurement, the default
ALONE_TIMES_MAX = 10  # as long may it take, on a busy machine
BEHIND_S_MAX = 0.25  # what is further behind is given up, as by `sojourn-noise`


@dataclass(slots=True, kw_only=True)
class Meter:
    """Units, wall time and CPU time since it was begun."""

    children: Children
    units: float = 0.0
    at_s: float = field(init=False)
    cpu_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.at_s = time.monotonic()
        self.cpu_s = self.children.cpu_s()

    def passed(self) -> tuple[float, float]:
        """(wall s, CPU s) since."""
        return time.monotonic() - self.at_s, self.children.cpu_s() - self.cpu_s


def alone(job: Job, pieces: Iterator[float], children: Children) -> tuple[float, float]:
    """(units/s, its standard error) while nothing else is to be done.

    What needs a CPU and nothing else is measured per second of CPU time, so that a busy machine is
    not taken for a slow program.
    """
    each: list[tuple[float, float]] = []
    begun = time.monotonic()
    while (spent := time.monotonic() - begun) < alone_s_max(job) or not each:
        if spent >= job.alone_s and len(each) >= STEPS_MIN:
            break
        meter = Meter(children=children)
        units = next(pieces)
        wall_s, cpu_s = meter.passed()
        each.append((units, cpu_s if job.is_cpu else wall_s))
    return rate(each)


def alone_s_max(job: Job) -> float:
    """How long that may take on a busy machine; a short time is no reason to know it badly."""
    return ALONE_TIMES_MAX * max(job.alone_s, ALONE_S)


def rate(each: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Units over seconds of pieces of work, and its standard error (that of a ratio).

    >>> rate([(1.0, 0.5), (1.0, 0.5), (2.0, 1.0)])
    (2.0, 0.0)
    """
    units, seconds = (math.fsum(column) for column in zip(*each, strict=True))
    if not units or not seconds:
        return 0.0, 0.0
    per_s, count = units / seconds, len(each)
    if count < 2:  # one says nothing of the spread
        return per_s, 0.0
    square = math.fsum((one - per_s * length) ** 2 for one, length in each) / (count - 1)
    return per_s, math.sqrt(square * count) / seconds


def say(**line: object) -> None:
    """A line for whoever reads the log."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def drive(job: Job) -> None:
    """Work and say so, without end."""
    children = Children()
    pieces = work(job, children)
    next(pieces)  # the first is slower: nothing is in memory yet
    per_s, error = alone(job, pieces, children)
    if not per_s:
        sys.exit(f"{job.argv[0]} did nothing in {alone_s_max(job):.0f} s")
    asked = job.per_s or per_s * job.share
    flat_out = not job.per_s and job.share >= 1
    say(
        unit=job.unit,
        alone_per_s=per_s,
        alone_error_per_s=error,
        asked_per_s=asked,
        per_wait_s=per_s if job.is_cpu else 0.0,
        is_flat_out=flat_out,
    )
    is_paced = not flat_out and job.how != "followed"
    _go_on(job, pieces, children, asked, pace_s=1 / asked if is_paced else 0.0)


def _go_on(
    job: Job, pieces: Iterator[float], children: Children, asked: float, *, pace_s: float
) -> None:
    """A line for each fifth of a second of work; a piece is due every `pace_s`, if not 0."""
    due_s, meter, waited_s = time.monotonic(), Meter(children=children), 0.0
    while True:
        if pace_s:
            due_s = max(due_s, time.monotonic() - BEHIND_S_MAX - pace_s)
            time.sleep(max(0.0, due_s - time.monotonic()))
            due_s += pace_s
        piece = Meter(children=children)
        meter.units += next(pieces)
        took_s, used_s = piece.passed()
        waited_s += max(0.0, took_s - used_s)
        length_s, cpu_s = meter.passed()
        if length_s < SAY_S:
            continue
        say(
            unit=job.unit,
            at_ns=time.monotonic_ns(),
            length_s=length_s,
            asked_per_s=asked,
            achieved_per_s=meter.units / length_s,
            cpu_s=cpu_s,
            runq_wait_s=min(waited_s, length_s) if job.is_cpu else None,
        )
        meter, waited_s = Meter(children=children), 0.0
