"""What a service and the machine used between two samples, as a table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.host import usage
from sojourn.host.tree import Tree
from sojourn.host.usage.resource import FORM
from sojourn.plan import Point

PERIOD_S = 1.0
PERIOD_S_MIN, PER_POINT = 0.25, 5  # a short point is sampled more often: as many times at least
LATE = 1.5  # periods after which a sample came late
THREADS_MAX = 16  # those that ran most
DIGITS = 6


def period_s(point: Point) -> float:
    """How long between two samples of a point, s."""
    return max(PERIOD_S_MIN, min(PERIOD_S, point.measure_s / PER_POINT))


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
        outside: usage.Outside | None = None,
    ) -> None:
        """No sample is read yet; it is found where they are.

        Args:
            tree: of the machine.
            leader: first process of the service.
            cpus: of the service.
            apart: where samples are taken; () where there is no CPU but the service's.
            period_s: between two samples.
            all_cpus: how many the machine has.
            outside: links of the guest that the service is in; None: it is in none.
        """
        self._tree, self._leader = tree, leader
        self._cpus, self.apart, self._all_cpus = tuple(cpus), tuple(apart), all_cpus
        self._period_s = period_s
        self._places = usage.places(tree, leader, cpus, outside)
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
            "storage_link": outside.storage if (outside := self._places.outside) else "",
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
