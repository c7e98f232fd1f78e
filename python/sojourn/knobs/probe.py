"""A small program that feels a limit: started, put where the service is, let go, heard, ended.

    with Probe(BURN, 2, 0.5) as probe: put it into a group → probe.go() → probe.hear()

It waits until it is let go, so that nothing of it runs outside. It ends by itself: when the lab
dies, when its line to the lab breaks, and at the latest after `LIFE_S`; so it needs no entry in the
book. What it would say after it was killed is "": that a limit killed it is an answer as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Any, ClassVar, Self

from sojourn.knobs import attr
from sojourn.knobs.attr import Attr

LIFE_S = 10
PRELUDE = """
import ctypes, json, mmap, os, resource, signal, sys, time
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
signal.alarm(int(sys.argv.pop(1)))
def say(**words): print(json.dumps(words), flush=True)
say(ready=True)
told = sys.stdin.readline() or sys.exit()
"""

#: Burns CPU time in some processes for some seconds, from the instant that it is told or from now:
#: how much all of them got, s.
BURN = """
n, seconds = int(sys.argv[1]), float(sys.argv[2])
began = float(told.strip() or time.monotonic())
base_s = time.process_time()
children = []
for _ in range(n - 1):
    pid = os.fork()
    if not pid: break
    children.append(pid)
else:
    pid = 1
while time.monotonic() < began + seconds: pass
wall_s = time.monotonic() - began
if not pid: os._exit(0)
for child in children: os.waitpid(child, 0)
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
say(cpu_s=sum(one.ru_utime + one.ru_stime for one in used) - base_s, wall_s=wall_s)
"""

#: Touches memory MiB by MiB, as the first that is killed for it, and holds it until it is ended.
GROW = """
with open("/proc/self/oom_score_adj", "w") as file: file.write("1000")
held = mmap.mmap(-1, int(sys.argv[1]), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, len(held), mmap.PAGESIZE): held[at] = 1
say(held=len(held))
sys.stdin.readline()
"""

#: Reads or writes a file past the page cache for some seconds: bytes, and how long it took, s.
DISK = """
path, what, seconds, size = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
block = mmap.mmap(-1, 1 << 16)
if what == "write":
    file = os.open(path, os.O_RDWR | os.O_TMPFILE | os.O_DIRECT, 0o600)
else:
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
done, at, began = 0, 0, time.monotonic()
while time.monotonic() < began + seconds:
    if what == "write":
        done += os.pwrite(file, block, at)
    else:
        done += os.preadv(file, [block], at)
    at = (at + len(block)) % size
say(bytes=done, wall_s=time.monotonic() - began)
"""

#: Maps and touches memory: how much of it lies in huge pages, with and without asking for them, B.
PAGES = """
def huge(advice):
    size = 1 << 23
    held = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if advice: held.madvise(advice)
    for at in range(0, size, mmap.PAGESIZE): held[at] = 1
    with open("/proc/self/smaps_rollup") as file:
        return sum(int(l.split()[1]) * 1024 for l in file if l.startswith("AnonHugePages:"))
say(plain=huge(0), asked=huge(mmap.MADV_HUGEPAGE))
"""

#: Touches memory: pages of it by NUMA node.
NODES = """
held = mmap.mmap(-1, 1 << 23, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, len(held), mmap.PAGESIZE): held[at] = 1
found = {}
with open("/proc/self/numa_maps") as file:
    for line in file:
        if "anon=" in line and "file=" not in line and "stack" not in line and "heap" not in line:
            for word in line.split():
                name, _, count = word.partition("=")
                if name[0] == "N" and name[1:].isdigit() and int(count) > 1000:
                    found[name[1:]] = found.get(name[1:], 0) + int(count)
say(pages=found)
"""

#: Reads through a buffer again and again for some seconds: bytes, and how long it took, s.
STREAM = """
size, seconds = int(sys.argv[1]), float(sys.argv[2])
one, two = bytearray(size), bytearray(size)
done, began = 0, time.monotonic()
while time.monotonic() < began + seconds:
    two[:] = one
    done += 2 * size
say(bytes=done, wall_s=time.monotonic() - began)
"""


class Probe:
    """One such program, from start to end.

    Attributes:
        has_session: it opens a session of its own, so that a knob takes it for a service.
    """

    has_session: ClassVar[bool] = False

    def __init__(self, code: str, *words: object) -> None:
        """Nothing runs yet.

        Args:
            code: what it does, as above.
            words: its arguments.
        """
        python = (sys.executable, "-I", "-S", "-c", PRELUDE + code)
        self._argv = [*python, str(LIFE_S), *map(str, words)]

    def __enter__(self) -> Self:
        """Start it; from then on it waits.

        Raises:
            OSError: it did not start.
        """
        pipe = subprocess.PIPE
        quiet = subprocess.DEVNULL
        self._made = subprocess.Popen(
            self._argv,
            stdin=pipe,
            stdout=pipe,
            stderr=quiet,
            bufsize=0,
            start_new_session=self.has_session,
        )
        if not self.hear():
            self.__exit__(None, None, None)
            raise OSError(0, "the probe did not start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):  # a real-time one behind another could not even die
            attr.put(self._made.pid, Attr(attr.OTHER))
        self._made.kill()
        self._made.communicate()

    @property
    def pid(self) -> int:
        """Its number, as a process."""
        return self._made.pid

    def on(self, cpus: Iterable[int]) -> Self:
        """Let it run on these CPUs only."""
        os.sched_setaffinity(self.pid, set(cpus))
        return self

    def go(self, report: object = "") -> Self:
        """Let it go on, with a word that it may have a use for."""
        assert self._made.stdin is not None  # noqa: S101  # a pipe
        self._made.stdin.write(f"{report}\n".encode("ascii"))
        return self

    def hear(self, within_s: float | None = None) -> dict[str, Any]:
        """What it says next; {} if it was killed or says nothing in time."""
        assert self._made.stdout is not None  # noqa: S101  # a pipe
        patience_s = LIFE_S if within_s is None else within_s
        ready, _, _ = select.select([self._made.stdout], [], [], patience_s)
        line = self._made.stdout.readline() if ready else b""
        return dict(json.loads(line)) if line.endswith(b"\n") else {}

    @property
    def was_killed(self) -> bool:
        """Whether a signal has ended it, such as for want of memory; waits for its end."""
        return self._made.wait() < 0


class Apart(Probe):
    """One in a session of its own, like a service and its neighbours: a kernel may group by it."""

    has_session = True
