"""What the service and the machine use while load runs, once a second, stored in `resources.json`.

    enter: find the service's counters → `sojourn-counters` copies them → leave: rates → the file

The lab itself sleeps meanwhile. The program keeps to CPUs that are not the service's. It reads for
0.05 ms at a time, so that a client which shares its CPU is not stopped for longer. Rates are taken
afterwards, over the time that really passed. Where a sample is dear the program takes fewer, so
that it never uses more than a part in 500 of a CPU for long.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn import disk, programs
from sojourn.actors.actor import Actor, Role, Stage
from sojourn.actors.kind import ProbeKind
from sojourn.host import Facts, usage
from sojourn.host.tree import Tree
from sojourn.host.usage.limits import LOOPBACK
from sojourn.host.usage.resource import FORM, NAME
from sojourn.knobs import Knob, egress
from sojourn.knobs.limit import NONE
from sojourn.places.process import Process
from sojourn.plan import Point
from sojourn.spec import ServiceSpec

PROGRAM, RECORD, LOG = "sojourn-counters", "counters.json", "counters.log"
PERIOD_S = 1.0
PERIOD_S_MIN, PER_POINT = 0.25, 5  # a short point is sampled more often: as many times at least
LATE = 1.5  # periods after which a sample came late
END_S_MAX = 20.0  # for a last sample, on a machine that is busy
THREADS_MAX = 16  # those that ran most
DIGITS = 6
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
        self._use = Use(
            self._tree,
            live.process.pid,
            live.placement.server,
            apart=_apart(stage, served),
            period_s=period_s(stage.point),
            all_cpus=len(stage.facts.topology.cpus),
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
        table["measured_unix_ns"] = _measured(folder / "load.json")
        disk.keep_json(folder / NAME, table)
        (folder / RECORD).unlink(missing_ok=True)  # the rates are kept
        with contextlib.suppress(OSError):
            if not (folder / LOG).stat().st_size:
                (folder / LOG).unlink()


def period_s(point: Point) -> float:
    """How long between two samples of a point, s."""
    return max(PERIOD_S_MIN, min(PERIOD_S, point.measure_s / PER_POINT))


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


def _measured(load: Path) -> list[int] | None:
    """First and last moment of the measured part, ns since 1970; None without a result."""
    try:
        table = disk.read_json(load)
        began_ns = int(table["started_unix_ns"])
        return [began_ns, began_ns + round(float(table["measured_s"]) * 1e9)]
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Use:
    """What one service used, by the record that was made of its counters."""

    def __init__(
        self,
        tree: Tree,
        leader: int,
        cpus: Sequence[int],
        *,
        apart: Sequence[int],
        period_s: float,
        all_cpus: int,
    ) -> None:
        """No sample is read yet; it is found where they are.

        Args:
            tree: of the machine.
            leader: first process of the service.
            cpus: of the service.
            apart: where samples are taken; () where there is no CPU but the service's.
            period_s: between two samples.
            all_cpus: how many the machine has.
        """
        self._tree, self._leader = tree, leader
        self._cpus, self.apart, self._all_cpus = tuple(cpus), tuple(apart), all_cpus
        self._period_s = period_s
        self._places = usage.places(tree, leader, cpus)
        self._rates: list[usage.Rates] = []
        self._ends_ns: list[int] = []
        self._late: list[bool] = []
        self._events: Counter[str] = Counter()
        self._cpu_s = self._wall_s = 0.0

    @property
    def words(self) -> list[str]:
        """What the program is asked for."""
        also = usage.resctrl_files(self._tree, self._places)
        more = [word for path in also for word in ("--also", path)]
        return ["--pid", str(self._leader), "--every", f"{self._period_s:g}s", *more]

    def read(self, record: Path) -> None:
        """Read a whole record; one that cannot be read is an event, and ends no measurement."""
        try:
            self.add(usage.recorded(record))
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._events[f"it ended early: {error}"] += 1

    def add(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Take the lines of a record: rates from each sample to the next, and what they cost."""
        then = usage.Recorded()
        members = usage.Members(then, self._leader, clock=lambda: 0.0)  # each sample has them all
        last: usage.Moment | None = None
        for line in lines:
            if "cpu_ns" in line:
                self._cpu_s, self._wall_s = line["cpu_ns"] / 1e9, line["wall_ns"] / 1e9
                if line["stretched"]:
                    self._events["sampled less often than asked: a sample is dear here"] += 1
            if "files" not in line:
                continue
            then.show(line)
            now = usage.moment(then, members, self._places, last, clock=then.clock, boot=then.boot)
            if last is not None:
                rates = usage.between(last, now, self._cpus, all_cpus=self._all_cpus)
                self._keep(rates, line["unix_ns"], LATE * line["every_ns"] / 1e9)
            last = now

    def _keep(self, rates: usage.Rates, end_ns: int, late_s: float) -> None:
        self._rates.append(rates)
        self._ends_ns.append(end_ns)
        self._late.append(rates.length_s > late_s)
        self._events.update(rates.events)

    def table(self, *, llc_bytes: int | None) -> dict[str, Any]:
        """`resources.json`: a column for each resource, one value for each sample.

        Shares are from 0 to 1, of what `units` names; null: not told for this sample.
        """
        rates = self._rates
        every = {name: _column(rates, name) for name in usage.BY_NAME}
        columns = {
            name: column
            for name, column in every.items()
            if any(value is not None for value in column)
        }
        return {
            "schema": FORM,
            "period_s": self._period_s,
            "server_cpus": list(self._cpus),
            "cpus": self._all_cpus,
            "interfaces": list(self._places.interfaces),
            "probe": {
                "cpu_s": round(self._cpu_s, 6),
                "wall_s": round(self._wall_s, 3),
                "cpus": list(self.apart),
                "is_apart": bool(self.apart),
            },
            "end_unix_ns": self._ends_ns,
            "length_s": [round(one.length_s, 6) for one in rates],
            "is_late": self._late,
            "columns": columns,
            "units": {name: usage.BY_NAME[name].unit for name in columns},
            "capacity": usage.limits(self._tree, self._places, llc_bytes=llc_bytes),
            "not_counted": self._missing(columns),
            "threads": _threads(rates),
            "events": dict(self._events),
        }

    def _missing(self, columns: Mapping[str, object]) -> dict[str, str]:
        """Why a resource has no column."""
        why = "no sample was taken" if not self._rates else "no usable sample"
        return {
            name: self._places.missing.get(name, why)
            for name in usage.BY_NAME
            if name not in columns
        }


def _column(rates: Sequence[usage.Rates], name: str) -> list[float | None]:
    return [_short(one.values.get(name)) for one in rates]


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def _threads(rates: Sequence[usage.Rates]) -> list[dict[str, Any]]:
    """Each thread's own, those first that ran most; null where it was not there."""
    ran: dict[tuple[int, int], float] = defaultdict(float)
    names: dict[tuple[int, int], str] = {}
    for one in rates:
        for key, (name, share, _) in one.threads.items():
            ran[key] += share
            names[key] = name
    return [
        {
            "pid": key[0],
            "tid": key[1],
            "name": names[key],
            "cpu_share": [_short(_of(one, key, 1)) for one in rates],
            "runq_delay_share": [_short(_of(one, key, 2)) for one in rates],
        }
        for key in sorted(ran, key=lambda key: -ran[key])[:THREADS_MAX]
    ]


def _of(rates: usage.Rates, key: tuple[int, int], nth: int) -> float | None:
    result = rates.threads.get(key)
    return None if result is None else float(result[nth])


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
