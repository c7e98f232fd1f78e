"""What the machine did while load ran: counters before and after, stored in `host.json`.

It is the last to enter and the first to leave, so that what others do to begin and to end is not
counted as what happened while load ran.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.actors.actor import Actor, Role, Running, Stage
from sojourn.actors.kind import ProbeKind
from sojourn.actors.neighbours import Neighbour
from sojourn.disk import tables
from sojourn.host import Placement, memory
from sojourn.host.activity import STEAL, cpu_ticks
from sojourn.host.tree import Tree
from sojourn.plan import Point
from sojourn.spec import ServiceSpec
from sojourn.text import schedstat

TREE = Tree()
IRQ, SOFTIRQ = 5, 6  # fields of /proc/stat after the name, proc(5)
USED = (0, 1, 2)  # user, nice, system
BUSY = (*USED, IRQ, SOFTIRQ)
SWITCHES = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")


class Host(Actor):
    """Counters of the machine and of the service under load."""

    role = Role.PROBE
    name = "host"

    def __init__(self) -> None:
        self._stage: Stage | None = None
        self._before: Moment | None = None
        self._saw: Mapping[str, Any] = {}

    def enter(self, stage: Stage) -> None:
        """Read them before the load."""
        self._stage = stage
        self._before = self._now(stage)

    def leave(self) -> None:
        """Read them once more; their difference is what it saw."""
        if self._stage is not None and self._before is not None:
            where = self._stage.services[self._stage.point.service].placement
            self._saw = between(self._before, self._now(self._stage), where)

    def saw(self) -> Mapping[str, Any]:
        """The keys of `host.json` that every point has."""
        return self._saw

    @staticmethod
    def _now(stage: Stage) -> Moment:
        live = stage.services[stage.point.service]
        cpus = live.placement.server
        beside = [actor for actor in stage.entered if isinstance(actor, Neighbour)]
        others_ns = sum(actor.cpu_ns(cpus) for actor in beside)
        others = [other for other in stage.services.values() if other is not live]
        others_ns += sum(o.cpu_ns() for o in others if not {*cpus}.isdisjoint(o.placement.server))
        return moment(live, others_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Counters of the machine and of the server at one moment.

    Those of a server are None where its processes cannot be seen.
    """

    at_s: float
    ticks: dict[int, tuple[int, ...]]
    totals: dict[str, int]
    load_1min: float | None
    free_bytes: int
    server_cpu_ns: int | None
    server_switches: tuple[int, int] | None
    server_wait_ns: int | None = 0
    neighbours_cpu_ns: int = 0
    workers_cpu_ns: Mapping[int, int] = field(default_factory=dict)


def moment(live: Running, neighbours_cpu_ns: int = 0) -> Moment:
    """Read the counters of the CPUs in use, of memory and of the server, now.

    Args:
        live: the server, and where everybody runs.
        neighbours_cpu_ns: what the scene's neighbours, and other services of it, have used on the
            server's CPUs so far, ns.
    """
    cpus = {*live.placement.server, *live.placement.client, *live.placement.housekeeping}
    load = (TREE.text("/proc/loadavg") or "").split()
    return Moment(
        at_s=time.monotonic(),
        ticks={cpu: cpu_ticks(TREE, cpu) for cpu in sorted(cpus)},
        totals=_totals(),
        load_1min=float(load[0]) if load else None,
        free_bytes=memory.available_bytes(TREE),
        server_cpu_ns=live.cpu_ns() if live.process else None,
        server_switches=_switches(live) if live.process else None,
        server_wait_ns=_wait_ns(live) if live.process else None,
        neighbours_cpu_ns=neighbours_cpu_ns,
        workers_cpu_ns=live.workers_cpu_ns(),
    )


def between(before: Moment, after: Moment, placement: Placement) -> dict[str, Any]:
    """What changed, as JSON. Shares are of the CPUs' time, 0 to 1; null: not told.

    `others_on_server_share` is time on the server's CPUs that processes used which are neither the
    server's nor the point's own neighbours. Interrupts are no one's; where the kernel books them to
    whom they interrupt, a little less is seen of the others.
    """
    length_s = after.at_s - before.at_s
    server_s = _seconds(before.server_cpu_ns, after.server_cpu_ns, 4)
    server = placement.server
    is_timed = length_s > 0 and bool(server)
    busy = _share(before, after, server, BUSY)
    used = _share(before, after, server, USED)
    own = server_s / (length_s * len(server)) if is_timed and server_s is not None else None
    others_s = (after.neighbours_cpu_ns - before.neighbours_cpu_ns) / 1e9
    others = others_s / (length_s * len(server)) if is_timed else None
    is_apart = set(server).isdisjoint(placement.client)
    return {
        "length_s": round(length_s, 3),
        "steal_share": {
            "server": _share(before, after, server, (STEAL,)),
            "client": _share(before, after, placement.client, (STEAL,)),
        },
        "busy_share": {
            "server": busy,
            "client": _share(before, after, placement.client, BUSY),
        },
        "server_cpu_s": server_s,
        "server_cpu_share": own,
        "worker_cpu_s": [
            round((used - before.workers_cpu_ns[tid]) / 1e9, 6)
            for tid, used in after.workers_cpu_ns.items()
            if tid in before.workers_cpu_ns
        ],
        "others_on_server_share": None
        if used is None or own is None or others is None or not is_apart
        else max(0.0, used - own - others),
        "neighbours_on_server_share": others,
        "server_switches": _switched(before.server_switches, after.server_switches),
        "server_wait_s": _seconds(before.server_wait_ns, after.server_wait_ns, 6),
        "machine": {name: after.totals[name] - before.totals[name] for name in before.totals},
        "load_1min": {"before": before.load_1min, "after": after.load_1min},
        "free_bytes": {"before": before.free_bytes, "after": after.free_bytes},
    }


def _seconds(before_ns: int | None, after_ns: int | None, digits: int) -> float | None:
    """Time between two counts, s; None: one of them is not known."""
    if before_ns is None or after_ns is None:
        return None
    return round((after_ns - before_ns) / 1e9, digits)


def _switched(
    before: tuple[int, int] | None, after: tuple[int, int] | None
) -> dict[str, int | None]:
    """Switches between two counts, by `SWITCHES`; null: not known."""
    if before is None or after is None:
        return {"voluntary": None, "involuntary": None}
    return {"voluntary": after[0] - before[0], "involuntary": after[1] - before[1]}


def _share(
    before: Moment, after: Moment, cpus: Sequence[int], fields: Collection[int]
) -> float | None:
    """Share of the time of some CPUs that went into some fields."""
    part = total = 0
    for cpu in cpus:
        delta = [b - a for a, b in zip(before.ticks[cpu], after.ticks[cpu], strict=True)]
        total += sum(delta)
        part += sum(delta[field] for field in fields)
    return part / total if total > 0 else None


def _totals() -> dict[str, int]:
    """Context switches and interrupts of the whole machine since boot."""
    names = {"ctxt": "context_switches", "intr": "interrupts", "processes": "forks"}
    numbers = dict.fromkeys(names.values(), 0)
    for line in tables.lines(TREE.text("/proc/stat") or ""):
        words = line.split(maxsplit=2)
        if words and words[0] in names:
            numbers[names[words[0]]] = int(words[1])
    return numbers


def _switches(live: Running) -> tuple[int, int]:
    """Switches of all the server's threads: those it chose and those it did not."""
    sums = [0, 0]
    for task in live.tasks():
        table = TREE.table(f"/proc/{task.pid}/task/{task.tid}/status")
        for nth, name in enumerate(SWITCHES):
            sums[nth] += int(table.get(name, "0"))
    return sums[0], sums[1]


def _wait_ns(live: Running) -> int:
    """Run-queue delay of the server's threads that live, ns: what a shield is measured by (M23)."""
    results = (schedstat.parse(TREE.text(schedstat.path(t.pid, t.tid))) for t in live.tasks())
    return sum(one.waited_ns for one in results if one)


def build(spec: ServiceSpec, point: Point) -> Host:
    """A probe for every point: all are watched."""
    del spec, point
    return Host()


KIND = ProbeKind(
    name="host",
    place=70,
    about="what the machine did while load ran: time stolen, time of others, switches, memory",
    source="M23, M25",
    build=build,
)
