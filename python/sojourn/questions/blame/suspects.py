"""One suspect: its comparisons, what it used, what it cost the service, and so its resource.

A resource is named by what the experiment showed to change when the suspect was stopped (M17): time
that the service's threads waited for a CPU, soft-IRQ on its CPUs, CPU time for the same requests.
Where nothing of it changed, it may be the disk; then the tracer, which saw requests before anything
was stopped, says whether they waited for that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn.questions.blame import paired_costs
from sojourn.questions.blame.files import Blamed, Window
from sojourn.questions.blame.paired_costs import Change
from sojourn.questions.blame.plan import State
from sojourn.questions.blame.randomisation import Contrast, Floats
from sojourn.text.numbers import percent
from sojourn.text.some import some
from sojourn.visible import in_line

GUILTY, CLEARED, UNDECIDED = "guilty", "cleared", "undecided"
CPU, NETWORK, DISK, MEMORY = "the CPU", "the network (soft-IRQ)", "the disk", "memory or cache"
WAIT, SOFTIRQ, OWN, OTHERS = "run-queue delay", "soft-IRQ", "CPU time", "others on its CPUs"
BLOCK_IO = "block_io"  # what the tracer calls a wait for the disk; a fault waits for locks too
HALF = 0.5
ORDINARY = ("name:", "cgroup:", "pid:")  # suspects that the study did not start
LISTED = 3  # processes of a suspect that are listed
DISK_MIN = 0.1  # of the bytes of the service and all suspects: who moves less has not the disk
STILL_MAX, USES_MIN = 0.05, 0.01  # of its CPU time while it was stopped; of a CPU, to be judged


def named(name: str, processes: Sequence[str]) -> str:
    """A name with its processes.

    >>> named("xz", ["12"]), named("xz", ["1", "2", "3", "4", "5"]), named("xz", [])
    ('xz (pid 12)', 'xz (pid 1, 2, 3 and 2 more)', 'xz')
    """
    return f"{name} (pid {some(processes, LISTED)})" if processes else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One suspect.

    Attributes:
        name: as the study has it.
        word: `GUILTY`, `CLEARED` or `UNDECIDED`.
        resource: through which it harms; "": nothing was shown, or it cannot be known.
        stop: all running against it stopped.
        alone: it alone running against no one; None where it is the only suspect.
        costs: of the service per request, ns, with it and without, of the telling comparison.
        cpu_share: of one CPU, that it used while it ran; still_share: the same while stopped.
        disk_bytes_per_s: to and from disks while it ran.
        traced_share: of the excess of the slowest requests, by the tracer; None: it did not look.
        matters: ratio from which on a difference is one.
        doubt: why it is undecided, beyond its intervals; "" if nothing.
        processes: number and script of each, in the first record that has them.
    """

    name: str
    word: str
    resource: str
    stop: Contrast
    alone: Contrast | None
    costs: tuple[Change, ...]
    cpu_share: float
    still_share: float
    disk_bytes_per_s: float
    traced_share: float | None
    matters: float
    doubt: str = ""
    processes: tuple[tuple[int, str], ...] = ()

    @property
    def who(self) -> str:
        """Its name, process and script, because names are shared: `python (pid 12: train.py)`."""
        each = [f"{pid}: {in_line(name)}" if name else f"{pid}" for pid, name in self.processes]
        if not each or not self.name.startswith(ORDINARY):  # a neighbour's numbers say nothing
            return self.name
        return named(self.name, each)

    @property
    def is_hidden(self) -> bool:
        """Whether it is guilty only where the others are stopped, whose harm hides its own."""
        return self.word == GUILTY and not self.stop.convicts(self.matters)

    @property
    def comparison(self) -> Contrast:
        """The comparison that says most of it."""
        return self.alone if self.is_hidden and self.alone else self.stop


Blocks = Mapping[tuple[int, int], Mapping[State, Window]]


def by_block(windows: Iterable[Window]) -> Blocks:
    """Windows by block and by who was stopped."""
    results: dict[tuple[int, int], dict[State, Window]] = defaultdict(dict)
    for window in windows:
        results[window.block][window.stopped] = window
    return results


def pairs_of(blocks: Blocks, with_: State, without: State) -> list[tuple[Window, Window]]:
    """Both windows of each block that has them."""
    every = (block for block in blocks.values() if with_ in block and without in block)
    return [(block[with_], block[without]) for block in every]


def times_of(blocks: Blocks, with_: State, without: State) -> list[tuple[Floats, Floats]]:
    """Sojourn times of both windows of each block, ns."""
    return [(a.sojourn_ns, b.sojourn_ns) for a, b in pairs_of(blocks, with_, without)]


def judged(name: str, stop: Contrast, alone: Contrast | None, matters: float) -> Row:
    """A suspect by its comparisons: both must clear it, either may convict it.

    One whose whole interval lies below what matters does not make the difference, sure as it may
    be that it makes one.
    """
    both = [stop, *([alone] if alone else [])]
    is_guilty = any(one.convicts(matters) for one in both)
    is_cleared = all(one.is_below(matters) for one in both)
    return Row(
        name=name,
        word=GUILTY if is_guilty else CLEARED if is_cleared else UNDECIDED,
        resource="",
        stop=stop,
        alone=alone,
        costs=(),
        cpu_share=0.0,
        still_share=0.0,
        disk_bytes_per_s=0.0,
        traced_share=None,
        matters=matters,
        doubt=next((one.refused for one in both if one.refused), ""),
    )


def suspect_row(
    row: Row,
    number: int,
    both: tuple[State, State],
    windows: Sequence[Window],
    *,
    rate_rps: float,
    traces: Sequence[Blamed],
) -> Row:
    """A suspect with what it used, what it cost the service, and so through which resource.

    Args:
        row: judged.
        number: of the suspect.
        both: the states of the comparison that tells most of it, with and without.
        windows: all of them before which it had not ended.
        rate_rps: offered load.
        traces: of the tracer.
    """
    ran = [w for w in windows if number not in w.stopped]
    still = [w for w in windows if number in w.stopped]
    costs = _costs(pairs_of(by_block(windows), *both), rate_rps)
    row = replace(
        row,
        costs=costs,
        cpu_share=_used(ran, number, "cpu_ns") / 1e9,
        still_share=_used(still, number, "cpu_ns") / 1e9,
        disk_bytes_per_s=_used(ran, number, "disk_bytes"),
        traced_share=_share_of(number, traces),
        processes=_processes(number, traces),
    )
    if row.cpu_share > USES_MIN and row.still_share > STILL_MAX * row.cpu_share:
        used = percent(row.still_share / row.cpu_share)
        why = f"it was not stopped: it used {used} of its CPU time all the same"
        word = row.word if row.word == GUILTY else UNDECIDED
        row = replace(row, doubt=why, word=word)
    if row.word == GUILTY:
        reads = sum(w.entry.service.disk_bytes > 0 for w in windows) >= HALF * len(windows)
        uses = _disk_share(ran, number) >= DISK_MIN
        named = resource(row, reads_disk=reads, uses_disk=uses, traces=traces)
        row = replace(row, resource=named)
    return row


def _disk_share(windows: Sequence[Window], number: int) -> float:
    """A suspect's share of the bytes that the service and all suspects moved from and to disks."""
    own = sum(w.entry.suspects[number].disk_bytes for w in windows)
    service = sum(w.entry.service.disk_bytes for w in windows)
    every = sum(one.disk_bytes for w in windows for one in w.entry.suspects)
    return own / max(1, service + every)


def _used(windows: Sequence[Window], number: int, what: str) -> float:
    """A counter of a suspect per second of these windows."""
    length_s = sum(w.length_s for w in windows)
    every = (w.entry.suspects[number] for w in windows)
    return sum(float(getattr(one, what)) for one in every) / max(length_s, 1e-9)


def _costs(pairs: Sequence[tuple[Window, Window]], rate_rps: float) -> tuple[Change, ...]:
    """Per request, ns: waiting for a CPU, soft-IRQ and others on its CPUs, and its own CPU time."""

    def per_request(window: Window, name: str) -> float:
        counted = window.entry.service
        whole = {
            WAIT: counted.wait_ns,
            SOFTIRQ: counted.softirq_ns,
            OWN: counted.run_ns,
            OTHERS: max(0, counted.busy_ns - counted.run_ns),
        }
        return whole[name] / (rate_rps * window.length_s)

    return tuple(
        paired_costs.change(name, [(per_request(a, name), per_request(b, name)) for a, b in pairs])
        for name in (WAIT, SOFTIRQ, OWN, OTHERS)
    )


def resource(row: Row, *, reads_disk: bool, uses_disk: bool, traces: Sequence[Blamed]) -> str:
    """Through which resource a guilty suspect harms: what the experiment showed to change.

    Run-queue delay is the CPU, unless at least half of what was taken from its CPUs is soft-IRQ;
    more CPU time for the same requests is memory or cache. If neither changed, it is the disk where
    the suspect does much of what is done there, and the service uses it in most windows or the
    tracer saw the slowest requests wait for it above all.

    Args:
        row: with costs.
        reads_disk: the service uses it in most windows.
        uses_disk: the suspect does much of what is done there.
        traces: of the tracer.
    """
    cost = {one.name: one for one in row.costs}
    wait, soft, own, others = (cost[name] for name in (WAIT, SOFTIRQ, OWN, OTHERS))
    sure = [one for one in (wait, own) if one.is_more]
    if soft.is_more and soft.more >= HALF * max(others.more, 0.0) and soft.more > own.more:
        return NETWORK
    if sure:
        return CPU if max(sure, key=lambda one: one.more) is wait else MEMORY
    waits = _kind_share(BLOCK_IO, traces) > HALF
    return DISK if uses_disk and (reads_disk or waits) else ""


def _processes(number: int, points: Sequence[Blamed]) -> tuple[tuple[int, str], ...]:
    """The processes of a suspect, at the first point that has any."""
    for one in points:
        if number < len(one.file.suspects) and (pids := one.file.suspects[number].pids):
            scripts = one.file.suspects[number].scripts or [""] * len(pids)
            return tuple(zip(pids, scripts, strict=False))
    return ()


def _share_of(number: int, traces: Sequence[Blamed]) -> float | None:
    """Share of the excess of the slowest that the tracer puts down to a suspect's tasks."""
    for one in traces:
        if one.trace and one.trace.blame and number < len(one.file.suspects):
            own = {*one.file.suspects[number].tids, *one.file.suspects[number].pids}
            others = (s for s in one.trace.blame.suspects if s.kind == "task")
            return sum(s.share for s in others if s.tids and s.tids[0] in own)
    return None


def _kind_share(kind: str, traces: Sequence[Blamed]) -> float:
    every = (s for t in traces if t.trace and t.trace.blame for s in t.trace.blame.suspects)
    return sum(s.share for s in every if s.kind == kind) / max(1, len(traces))
