"""What the service and the machine use while load runs, once a second, kept in `resources.json`.

    enter: find the service's processes and counters → a thread samples → leave: the file

The thread keeps to CPUs that are not the service's, takes its rates over the time that really
passed, and measures its own CPU time; where a sample is dear it samples less often, so that it
never uses more than a hundredth of a CPU for long.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.actors.actor import Actor, Role, Stage
from sojourn.actors.kind import ProbeKind
from sojourn.host import Facts, usage
from sojourn.host.tree import Tree
from sojourn.host.usage.limits import LOOPBACK
from sojourn.host.usage.resource import FORM, NAME
from sojourn.knobs import Knob, egress
from sojourn.knobs.limit import NONE
from sojourn.plan import Point
from sojourn.spec import ServiceSpec

PERIOD_S = 1.0
PERIOD_S_MIN, PER_POINT = 0.25, 5  # a short point is sampled more often: as many times at least
COST_MAX = 1 / 125  # of one CPU
LATE = 1.5  # periods after which a sample came late
END_S_MAX = 20.0  # for a last sample, on a machine that is busy
THREADS_KEPT = 16  # those that ran most
DIGITS = 6
LLC = (3, 2)  # levels of the last cache, the first that there is
TREE = Tree()


class Resources(Actor):
    """Samples one service while load runs."""

    role = Role.PROBE
    name = "resources"

    def __init__(self, tree: Tree = TREE) -> None:
        """`tree`: of the machine whose counters are read; tests hand in a fake."""
        self._tree = tree
        self._stage: Stage | None = None
        self._sampler: Sampler | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def enter(self, stage: Stage) -> None:
        """Begin to sample; not where nothing was started."""
        live = stage.services[stage.point.service]
        if live.process is None:
            return
        served = {cpu for other in stage.services.values() for cpu in other.placement.server}
        self._stage = stage
        self._sampler = Sampler(
            self._tree,
            live.process.pid,
            live.placement.server,
            apart=_apart(stage, served),
            period_s=period_s(stage.point),
            all_cpus=len(stage.facts.topology.cpus),
        )
        self._thread = threading.Thread(
            target=self._sampler.run, args=(self._stop,), name="resources", daemon=True
        )
        self._thread.start()

    def leave(self) -> None:
        """End it, and write what it saw beside the point's other files."""
        if self._thread is None or self._sampler is None or self._stage is None:
            return
        self._stop.set()
        self._thread.join(END_S_MAX)
        table = self._sampler.table(llc_bytes=_llc_bytes(self._stage.facts))
        live = self._stage.services[self._stage.point.service]
        table["capacity"] |= sent_most(live.knobs, table["interfaces"])
        folder = self._stage.folder
        table["measured_unix_ns"] = _measured(folder / "load.json")
        (folder / NAME).write_text(json.dumps(table), encoding="utf-8")


def period_s(point: Point) -> float:
    """How long between two samples of a point, s."""
    return max(PERIOD_S_MIN, min(PERIOD_S, point.measure_s / PER_POINT))


def _apart(stage: Stage, served: set[int]) -> tuple[int, ...]:
    """CPUs to sample on: those of probes, or any but the services'; () if there are no others."""
    usable = [cpu.id for cpu in stage.facts.topology.usable]
    wanted = [cpu for cpu in stage.cpus[Role.PROBE] if cpu not in served]
    return tuple(wanted or [cpu for cpu in usable if cpu not in served])


def _llc_bytes(facts: Facts) -> int | None:
    found = (facts.topology.shared_cache(level) for level in LLC)
    return next((cache.size_bytes for cache in found if cache), None)


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
        table = json.loads(load.read_text(encoding="utf-8"))
        began_ns = int(table["started_unix_ns"])
        return [began_ns, began_ns + round(float(table["measured_s"]) * 1e9)]
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Sampler:
    """Samples one service until it is told to stop; one thread's."""

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
        """Nothing is read yet.

        Args:
            tree: of the machine.
            leader: first process of the service.
            cpus: of the service.
            apart: where to sample; () where there is no CPU but the service's.
            period_s: between two samples.
            all_cpus: how many the machine has.
        """
        self._tree = tree
        self._cpus, self._apart, self._all_cpus = tuple(cpus), tuple(apart), all_cpus
        self.period_s = self._asked_s = period_s
        self._members = usage.Members(tree, leader)
        self._places = usage.places(tree, leader, cpus)
        self._last: usage.Moment | None = None
        self._rates: list[usage.Rates] = []
        self._ends_ns: list[int] = []
        self._late: list[bool] = []
        self._events: Counter[str] = Counter()
        self._cpu_s = self._wall_s = 0.0

    def run(self, stop: threading.Event) -> None:
        """Sample until `stop` is set; what fails in it must not end the measurement."""
        began_s = time.monotonic()
        if self._apart:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, self._apart)  # of this thread alone
        try:
            self._loop(stop)
        except Exception as error:  # noqa: BLE001
            self._events[f"it ended early: {error}"] += 1
        self._cpu_s = time.thread_time()
        self._wall_s = time.monotonic() - began_s

    def _loop(self, stop: threading.Event) -> None:
        self.sample()
        due_s = time.monotonic() + self.period_s
        while not stop.wait(max(0.0, due_s - time.monotonic())):
            began_s = time.thread_time()
            self.sample()
            self._afford(time.thread_time() - began_s)
            now_s = time.monotonic()
            due_s += self.period_s * max(1, -(-(now_s - due_s) // self.period_s))
        if self._last and time.monotonic() - self._last.at_s >= self.period_s / 2:
            self.sample()

    def _afford(self, cost_s: float) -> None:
        """Sample less often where that is dear."""
        if cost_s > COST_MAX * self.period_s:
            self.period_s = min(cost_s / COST_MAX, 10 * self._asked_s)
            self._events["sampled less often than asked: a sample is dear here"] += 1

    def sample(self) -> None:
        """Read all counters, and keep what was used since the sample before."""
        now = usage.moment(self._tree, self._members, self._places, self._last)
        if self._last is not None:
            self.add(usage.between(self._last, now, self._cpus, all_cpus=self._all_cpus))
        self._last = now

    def add(self, rates: usage.Rates) -> None:
        """Keep what was used up to now."""
        self._rates.append(rates)
        self._ends_ns.append(time.time_ns())
        self._late.append(rates.length_s > LATE * self.period_s)
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
            "period_s": self._asked_s,
            "server_cpus": list(self._cpus),
            "cpus": self._all_cpus,
            "interfaces": list(self._places.interfaces),
            "probe": {
                "cpu_s": round(self._cpu_s, 6),
                "wall_s": round(self._wall_s, 3),
                "cpus": list(self._apart),
                "is_apart": bool(self._apart),
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
        why = "no sample was taken" if not self._rates else "no sample could tell it"
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
        for key in sorted(ran, key=lambda key: -ran[key])[:THREADS_KEPT]
    ]


def _of(rates: usage.Rates, key: tuple[int, int], nth: int) -> float | None:
    found = rates.threads.get(key)
    return None if found is None else float(found[nth])


def build(spec: ServiceSpec, point: Point) -> Resources:
    """A sampler for every point: use is recorded whatever is asked."""
    del spec, point
    return Resources()


KIND = ProbeKind(
    name="resources",
    about="what the service uses while load runs, once a second: CPU, waiting, network, disk, "
    "memory",
    source="P7, P13",
    build=build,
)
