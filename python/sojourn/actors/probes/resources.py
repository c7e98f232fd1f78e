"""What the service and the machine use while load runs, once a second, stored in `resources.json`.

    enter: find the service's counters → `sojourn-counters` copies them → leave: rates → the file

The lab itself sleeps meanwhile. The program keeps to CPUs that are not the service's. It reads for
0.05 ms at a time, so that a client which shares its CPU is not stopped for longer. Rates are taken
afterwards, over the time that really passed. Where a sample is dear the program takes fewer, so
that it never uses more than a part in 500 of a CPU for long.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

from sojourn import disk, programs
from sojourn.actors import measured
from sojourn.actors.actor import Actor, Role, Stage
from sojourn.actors.kind import ProbeKind
from sojourn.actors.probes.use import Use, period_s
from sojourn.host import Facts, usage
from sojourn.host.tree import Tree
from sojourn.host.usage.limits import LOOPBACK
from sojourn.host.usage.resource import NAME
from sojourn.knobs import Knob, egress
from sojourn.knobs.limit import NONE
from sojourn.places.process import Process
from sojourn.plan import Point
from sojourn.spec import ServiceSpec

PROGRAM, RECORD, LOG = "sojourn-counters", "counters.json", "counters.log"
END_S_MAX = 20.0  # for a last sample, on a machine that is busy
LLC = (3, 2)  # levels of the last cache, the first that there is
TREE = Tree()


class Resources(Actor):
    """Samples one service while load runs."""

    role = Role.PROBE
    name = "resources"

    def __init__(self, tree: Tree = TREE) -> None:
        """`tree`: of the machine whose counters are read."""
        self._tree = tree
        self._stage: Stage | None = None
        self._use: Use | None = None
        self._task: Process | None = None

    def enter(self, stage: Stage) -> None:
        """Begin to sample; not where nothing was started."""
        live = stage.services[stage.point.service]
        if live.process is None:
            return
        served = {cpu for other in stage.services.values() for cpu in other.placement.server}
        self._stage = stage
        links = live.guest_links
        self._use = Use(
            self._tree,
            live.process.pid,
            live.placement.server,
            apart=_apart(stage, served),
            period_s=period_s(stage.point),
            all_cpus=len(stage.facts.topology.cpus),
            outside=usage.Outside(tap=links.tap, storage=links.storage) if links else None,
        )
        words = [*self._use.words, "--json", str(stage.folder / RECORD)]
        self._task = stage.start(
            "counters",
            [programs.find(PROGRAM), *words],
            log=LOG,
            cpus=self._use.apart,
            is_first=bool(self._use.apart),
        )

    def leave(self) -> None:
        """End it, and write what it saw beside the point's other files."""
        if self._task is None or self._use is None or self._stage is None:
            return
        folder = self._stage.folder
        self._stage.end(self._task, within_s=END_S_MAX)
        self._use.read(folder / RECORD)
        table = self._use.table(llc_bytes=_llc_bytes(self._stage.facts))
        live = self._stage.services[self._stage.point.service]
        table["capacity"] |= sent_most(live.knobs, table["interfaces"])
        part = measured.part_ns(folder)
        table["measured_unix_ns"] = list(part) if part else None
        disk.keep_json(folder / NAME, table)
        (folder / RECORD).unlink(missing_ok=True)  # the rates are kept
        with contextlib.suppress(OSError):
            if not (folder / LOG).stat().st_size:
                (folder / LOG).unlink()


def _apart(stage: Stage, served: set[int]) -> tuple[int, ...]:
    """CPUs to sample on: those of probes, or any but the services'; () if there are no others."""
    usable = [cpu.id for cpu in stage.facts.topology.usable]
    wanted = [cpu for cpu in stage.cpus[Role.PROBE] if cpu not in served]
    return tuple(wanted or [cpu for cpu in usable if cpu not in served])


def _llc_bytes(facts: Facts) -> int | None:
    caches = (facts.topology.shared_cache(level) for level in LLC)
    return next((cache.size_bytes for cache in caches if cache), None)


def sent_most(on: Mapping[str, Knob], interfaces: Sequence[str]) -> dict[str, float]:
    """What a service may send, bytes/s, where that is limited and its links are its own.

    Loopback carries what clients send as well, so what was counted there is not what is limited.

    Args:
        on: its knobs, by name.
        interfaces: whose bytes are counted.
    """
    level = on[egress.NAME].read() if egress.NAME in on else NONE
    if level == NONE or LOOPBACK in interfaces:
        return {}
    return {"network_tx_bytes_per_s": float(egress.bps_of(level))}


def build(spec: ServiceSpec, point: Point) -> Resources:
    """A sampler for every point: use is recorded whatever is asked."""
    del spec, point
    return Resources()


KIND = ProbeKind(
    name="resources",
    place=60,
    about="what the service uses while load runs, once a second: CPU, waiting, network, disk, "
    "memory",
    source="P7, P13",
    build=build,
)
