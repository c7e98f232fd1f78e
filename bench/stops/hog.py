"""A real-time task that takes a CPU for a while, again and again: planted stops.

Usage: python hog.py CPU SHARE SEED

Gaps and lengths are drawn: lengths of 0.2 to 30 ms with a mean of 1.5 ms, so that `SHARE` of the
time is taken. It runs at SCHED_FIFO above the lab's shield and sentinels, as a hypervisor would be.
It ends by itself after `SECONDS_MAX`, and with its parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator

PRIORITY = 80
SECONDS_MAX = 1800
LEAST_S, MEAN_S, MOST_S = 0.2e-3, 1.5e-3, 30e-3
PR_SET_PDEATHSIG = 1


@contextlib.contextmanager
def planted(cpus: Iterable[int], share: float, seed: int) -> Iterator[None]:
    """Each of these CPUs is taken for this share of the time, by draws of its own."""
    with contextlib.ExitStack() as stack:
        for cpu in cpus if share else ():
            line = [sys.executable, "-I", __file__, str(cpu), str(share), str(seed + cpu)]
            stack.callback(stack.enter_context(subprocess.Popen(line)).kill)
        yield


def main() -> int:
    cpu, share, seed = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    draw = random.Random(seed)  # noqa: S311 (no secret)
    gap_s = MEAN_S * (1 - share) / share
    end = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end:
        time.sleep(draw.expovariate(1 / gap_s))
        until = time.monotonic() + min(MOST_S, LEAST_S + draw.expovariate(1 / (MEAN_S - LEAST_S)))
        while time.monotonic() < until:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
