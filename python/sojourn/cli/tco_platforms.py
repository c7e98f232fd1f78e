"""`sojourn tco RECORD --server NAME=PRICE`: machines that served one study."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.cli import lowered
from sojourn.cli.draw import to_stdout
from sojourn.cli.models_show import print_table
from sojourn.cli.plain import put_json
from sojourn.errors import SpecFault, StoreFault

if TYPE_CHECKING:
    from sojourn.findings.findings import ServiceFinding
    from sojourn.models.tco import Costs
    from sojourn.stats.interval import Interval

FACTOR = "hosts.server"
NONE = "–"
PRICED = ("load_rps", "per_cpu_rps", "busy", "server_usd", "usd_per_krps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """How much load one server takes, where that is a number.

    Attributes:
        name: of the server.
        load_rps: requests/s; None: no load fits, or how much does is open.
        interval: of that, requests/s; None: not known.
        about: which load it is, or why there is none.
        cpus: that its server had.
        cpu_ns: CPU time of a request; None: not counted.
        price_usd: of the machine.
    """

    name: str
    load_rps: float | None
    interval: Interval | None
    about: str
    cpus: int
    cpu_ns: float | None
    price_usd: float

    def row(self, costs: Costs) -> dict[str, Any]:
        """Its load and what that costs, with the ends of both; None: no number."""
        ends: tuple[float | None, float | None] = (None, None)
        if self.interval is not None:
            ends = self.interval.lo, self.interval.hi
        low, row, high = (self._at(load, costs) for load in (ends[0], self.load_rps, ends[1]))
        return {
            **row,
            "about": self.about,
            "load_lo_rps": ends[0],
            "load_hi_rps": ends[1],
            "usd_per_krps_lo": high["usd_per_krps"],
            "usd_per_krps_hi": low["usd_per_krps"],
        }

    def _at(self, load_rps: float | None, costs: Costs) -> dict[str, Any]:
        from sojourn.models.platforms import Platform

        if not load_rps:
            machine = {"server": self.name, "cpus": self.cpus, "price_usd": self.price_usd}
            return {**machine, **dict.fromkeys(PRICED)}
        one = Platform(
            name=self.name,
            load_rps=load_rps,
            cpus=self.cpus,
            cpu_ns=self.cpu_ns,
            price_usd=self.price_usd,
        )
        return one.row(costs)


def show(name: str, results: Path, servers: Sequence[str], costs: Costs, *, as_json: bool) -> None:
    """Print what each machine serves, for each CPU, and at what cost."""
    from sojourn import store

    lowered.for_reading(path := store.resolve(results, name))
    rows = [one.row(costs) for one in platforms(path, prices(servers))]
    if as_json:
        put_json({"label": "computed", "record": path.name, "rows": rows})
        return
    console = to_stdout()
    head = ("server", "requests/s", "which", "CPUs", "for each CPU", "busy", "$ a server")
    shown = [
        (
            str(row["server"]),
            _cell(row["load_rps"], ",.0f"),
            str(row["about"]),
            str(row["cpus"]),
            _cell(row["per_cpu_rps"], ",.0f"),
            _cell(row["busy"], ".0%"),
            _cell(row["server_usd"], ",.2f"),
            _price(row),
        )
        for row in rows
    ]
    print_table(console, (*head, "$ per 1000/s"), shown)


def _price(row: dict[str, Any]) -> str:
    """What 1,000 requests/s cost, and what they do at the ends of the load's interval."""
    low, high = row["usd_per_krps_lo"], row["usd_per_krps_hi"]
    ends = "" if low is None or high is None else f" ({low:,.2f}–{high:,.2f})"
    return f"{_cell(row['usd_per_krps'], ',.2f')}{ends}"


def _cell(value: float | None, form: str) -> str:
    return NONE if value is None else format(value, form)


def prices(texts: Sequence[str]) -> dict[str, float]:
    """The price of each server, by its name; SpecFault where one is none."""
    result = {}
    for text in texts:
        name, mark, price = text.rpartition("=")
        try:
            usd = float(price)
        except ValueError:
            usd = math.nan
        if not mark or not name or not usd >= 0 or usd == math.inf:
            raise SpecFault(
                f"'{text[:80]}' is no NAME=PRICE", at="--server", fix="write node-a=2000"
            )
        result[name] = usd
    return result


def platforms(path: Path, priced: dict[str, float]) -> list[Served]:
    """The machines of a record, in its order.

    Raises:
        SpecFault: it has no such machine, or one without a price.
        StoreFault: one has no load yet.
    """
    from sojourn import pipeline

    every = {dict(one.levels)[FACTOR]: one for one in _served(pipeline.findings_of(path).services)}
    names = ", ".join(map(str, every)) or "none: hosts.server is no factor of the study"
    for name in (*priced, *every):
        if name not in every or name not in priced:
            what = "has no price" if name in every else "is no server of the record"
            fix = f"give --server NAME=PRICE for each of {names}"
            raise SpecFault(f"{name} {what}", at="--server", fix=fix)
    results = []
    for name, one in every.items():
        load_rps, interval, about = _load(one)
        served = Served(
            name=str(name),
            load_rps=load_rps,
            interval=interval,
            about=about,
            cpus=_cpus(path, str(name)),
            cpu_ns=_cpu_ns(one),
            price_usd=priced[str(name)],
        )
        results.append(served)
    return results


def _served(services: Sequence[ServiceFinding]) -> list[ServiceFinding]:
    own = [one for one in services if FACTOR in dict(one.levels)]
    if len({dict(one.levels)[FACTOR] for one in own}) < len(own):
        raise SpecFault(
            "the record has more than one answer for a server",
            at="--server",
            fix=f"measure one service, and vary {FACTOR} alone",
        )
    return own


def _load(one: ServiceFinding) -> tuple[float | None, Interval | None, str]:
    """The load within the QoS target; where none was looked for, what 100 % load is.

    Returns:
        Requests/s, their interval, and which load it is; without a number, why there is none.

    Raises:
        StoreFault: there is no load yet.
    """
    from sojourn.findings.highest_load import MaxLoad, is_closed
    from sojourn.plan.points import Verdict
    from sojourn.report import show as texts

    section = one.section(MaxLoad)
    if section is not None and section.border is not None:
        border, which = section.border, texts.border(section.border)
        if is_closed(border):
            doubt = ", undecided" if section.verdict is Verdict.UNKNOWN else ""
            about = f"within the target{doubt}: {texts.within(border)}"
            return border.estimate_rps, border.interval_rps, about
        return None, None, "no load fits" if border.interval_rps.hi <= 0 else f"open: {which}"
    if section is not None:
        return None, None, f"unknown: {'; '.join(section.reasons) or 'no run is valid'}"
    if one.max_rps is None:
        raise StoreFault(
            f"{one.service} has no load yet", at="--server", fix="run the study again: it resumes"
        )
    ends, rule = one.max_rps_interval, one.max_rps_rule.replace("_", " ")
    is_known = ends is not None and 0 < ends.lo <= ends.hi < math.inf
    about = f"100 % load ({rule}), no search for a target"
    return one.max_rps, ends if is_known else None, about


def _cpu_ns(one: ServiceFinding) -> float | None:
    """CPU time of a request at the highest load that has it, of runs that passed their checks."""
    for point in reversed(one.points):
        runs = (run for run in point.runs if run.is_believed)
        if known := [run.cpu_ns for run in runs if run.cpu_ns is not None]:
            return statistics.median(known)
    return None


def _cpus(path: Path, name: str) -> int:
    """CPUs that the server had there.

    Raises:
        StoreFault: none of its points is in the record, or one is damaged.
    """
    from sojourn import disk, store
    from sojourn.store import files

    record = store.read(path)
    for outcome in record.outcomes():
        if outcome.point.setting.get(FACTOR) != name:
            continue
        at = record.folder_of(outcome) / "service.json"
        if at.exists():
            with files.readable(at, "remove the folder of this point, then run the study again"):
                return max(1, len(disk.read_json(at)["placement"]["server"]))
    raise StoreFault(f"no point of {name} was measured", at=str(path), fix="run the study again")
