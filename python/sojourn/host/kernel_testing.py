"""A made-up /proc and clock, whose counters a test moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from sojourn.host import usage
from sojourn.host.tree import Tree

LEADER, WORKER = 100, 101


@dataclass
class Clock:
    """A clock that stands still until it is told otherwise; each look takes `step_s`."""

    now_s: float = 1000.0
    step_s: float = 0.0

    def __call__(self) -> float:
        """The time now, s; later by `step_s` each time."""
        self.now_s += self.step_s
        return self.now_s


@dataclass
class Kernel:
    """A machine of two CPUs with one service, on CPU 1, as /proc reports it."""

    root: Path
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.put("/proc/meminfo", "MemTotal: 1000 kB\n")
        self.stat()
        self.process(LEADER)
        self.thread(LEADER, LEADER)
        self.network(rx=(0, 0), tx=(0, 0))

    def put(self, path: str, text: str) -> None:
        """Write a file of it."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def gone(self, pid: int) -> None:
        """A process has ended: nothing is left of its folder."""
        for file in sorted((self.root / f"proc/{pid}").rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        (self.root / f"proc/{pid}").rmdir()

    def stat(self, *, used: int = 0, idle: int = 0, steal: int = 0) -> None:
        """Ticks of CPU 1; CPU 0 idles as long as CPU 1 does anything."""
        own = f"{used} 0 0 {idle} 0 0 0 {steal} 0 0"
        whole = f"{used} 0 0 {idle + used + idle + steal} 0 0 0 {steal} 0 0"
        self.put(
            "/proc/stat",
            f"cpu  {whole}\ncpu0 0 0 0 {used + idle + steal} 0 0 0 0 0 0\n"
            f"cpu1 {own}\nintr 1\nctxt 5\n",
        )

    def process(  # fields of a file
        self,
        pid: int,
        *,
        parent: int = 1,
        user: int = 0,
        system: int = 0,
        reaped: tuple[int, int] = (0, 0),
        faults: int = 0,
        start: int = 5,
        pages: int = 10,
        io: tuple[int, int] = (0, 0),
    ) -> None:
        """One process, by its ticks, faults, pages and bytes."""
        fields = (
            f"S {parent} {LEADER} {LEADER} 0 -1 0 0 0 {faults} 0 {user} {system} {reaped[0]} "
            f"{reaped[1]} 20 0 1 0 {start} 4096 {pages} 0"
        )
        self.put(f"/proc/{pid}/stat", f"{pid} (a (b) c) {fields}\n")
        self.put(
            f"/proc/{pid}/io",
            f"rchar: 9\nread_bytes: {io[0]}\nwrite_bytes: {io[1]}\ncancelled_write_bytes: 0\n",
        )

    def thread(  # fields of a file
        self,
        pid: int,
        tid: int,
        *,
        run_s: float = 0.0,
        wait_s: float = 0.0,
        switches: tuple[int, int] = (0, 0),
        start: int = 5,
    ) -> None:
        """One thread: how long it ran and waited, s, and its switches."""
        base = f"/proc/{pid}/task/{tid}"
        self.put(f"{base}/schedstat", f"{round(run_s * 1e9)} {round(wait_s * 1e9)} 7\n")
        self.put(
            f"{base}/status",
            f"Name:\tworker\nvoluntary_ctxt_switches:\t{switches[0]}\n"
            f"nonvoluntary_ctxt_switches:\t{switches[1]}\n",
        )
        self.put(f"{base}/stat", f"{tid} (worker) " + "0 " * 19 + f"{start} 0 0\n")
        self.put(f"{base}/children", "")

    def network(self, *, rx: tuple[int, int], tx: tuple[int, int]) -> None:
        """Bytes and packets of the loopback; what else there is stands still."""
        line = f"    lo: {rx[0]} {rx[1]} 0 0 0 0 0 0 {tx[0]} {tx[1]} 0 0 0 0 0 0"
        head = "Inter-|   Receive |  Transmit\n face |bytes packets\n"
        self.put(
            f"/proc/{LEADER}/net/dev", f"{head}{line}\n  eth0: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0\n"
        )


@dataclass
class Watch:
    """Looks at a made-up machine from moment to moment."""

    kernel: Kernel
    outside: usage.Outside | None = None

    def __post_init__(self) -> None:
        self.tree = Tree(self.kernel.root)
        dear = count()  # /proc is looked through once: what is new is a child of somebody known
        self.members = usage.Members(self.tree, LEADER, clock=lambda: float(next(dear)))
        self.last: usage.Moment | None = None
        self.look()

    def look(self) -> usage.Moment:
        """Look at it once more."""
        clock = self.kernel.clock
        where = usage.places(self.tree, LEADER, (1,), self.outside)
        self.last = usage.moment(
            self.tree, self.members, where, self.last, clock=clock, boot=lambda: clock.now_s
        )
        return self.last

    def after(self, seconds: float) -> usage.Rates:
        """What was used in so many seconds, in which the kernel's files were changed."""
        before = self.last
        assert before is not None  # noqa: S101 - it looks as it begins
        self.kernel.clock.now_s += seconds
        return usage.between(before, self.look(), (1,), all_cpus=2)
