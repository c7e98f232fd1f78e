"""Machines that served one study: the load of each CPU and watt, and its cost."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sojourn import disk, units
from sojourn.errors import SpecFault, StoreFault
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.highest_load import MaxLoad, is_closed
from sojourn.findings.platform_load import PlatformLoad
from sojourn.models.platforms import Platform
from sojourn.models.tco import Costs
from sojourn.plan.points import Outcome, Verdict
from sojourn.report import machine_part
from sojourn.report import show as texts
from sojourn.spec import Study
from sojourn.spec.hosts import SERVER
from sojourn.stats.interval import Interval
from sojourn.store import files
from sojourn.store.record import SERVICE, Record

NONE = "–"
HEAD = (
    "server",
    "requests/s",
    "which",
    "CPUs",
    "each CPU",
    "busy",
    "each W",
    "$ a server",
    "$ per 1000/s",
)
LEAST_CPUS = 1e-3  # the least quota that a kernel takes, of a second
MEASURED = (
    "load_rps",
    "per_cpu_rps",
    "busy",
    "watts",
    "per_watt_rps",
    "server_usd",
    "usd_per_krps",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """How much load one server takes, where that is a number.

    Attributes:
        name: of the server.
        load_rps: requests/s; None: no load fits, or how much does is open.
        interval: of that, requests/s; None: not known.
        about: which load it is, or why there is none.
        cpus: that its server may use; None: not known.
        cpu_ns: CPU time of a request; None: not counted.
        price_usd: of the machine; None: not known.
        peak_watts: of the machine when busy; None: not known.
    """

    name: str
    load_rps: float | None
    interval: Interval | None
    about: str
    cpus: float | None
    cpu_ns: float | None
    price_usd: float | None
    peak_watts: float | None = None

    def row(self, costs: Costs) -> PlatformLoad:
        """Its load and what that costs, with the ends of both."""
        ends: tuple[float | None, float | None] = (None, None)
        if self.interval is not None:
            ends = self.interval.lo, self.interval.hi
        low, row, high = (self._at(load, costs) for load in (ends[0], self.load_rps, ends[1]))
        return PlatformLoad(
            **row,
            about=self.about,
            load_lo_rps=ends[0],
            load_hi_rps=ends[1],
            usd_per_krps_lo=high["usd_per_krps"],
            usd_per_krps_hi=low["usd_per_krps"],
        )

    def _at(self, load_rps: float | None, costs: Costs) -> dict[str, Any]:
        if not load_rps:
            machine = {"server": self.name, "cpus": self.cpus, "price_usd": self.price_usd}
            return {**machine, **dict.fromkeys(MEASURED)}
        one = Platform(
            name=self.name,
            load_rps=load_rps,
            cpus=self.cpus,
            cpu_ns=self.cpu_ns,
            price_usd=self.price_usd,
            peak_watts=self.peak_watts,
        )
        return one.row(costs)


def platforms(
    findings: Findings, record: Record, priced: Mapping[str, float | None]
) -> list[Served]:
    """The machines of a record, in its order.

    Args:
        findings: of the record.
        record: that is read; nothing is written.
        priced: price of each server by its name, $; None: not known.

    Raises:
        SpecFault: it has no such machine, or one without a price.
        StoreFault: one has no load yet.
    """
    every = {dict(one.levels)[SERVER]: one for one in _served(findings.services)}
    if not every:
        raise SpecFault(f"{SERVER} is not varied", at="--platforms", fix="name another record")
    outcomes = record.outcomes()
    for name in (*priced, *every):
        if name not in every or name not in priced:
            what = "has no price" if name in every else "is no server of the record"
            fix = f"give --server NAME=PRICE for each of {', '.join(map(str, every))}"
            raise SpecFault(f"{name} {what}", at="--server", fix=fix)
    results = []
    for name, one in every.items():
        load_rps, interval, about = _load(one)
        served = Served(
            name=str(name),
            load_rps=load_rps,
            interval=interval,
            about=about,
            cpus=_cpus(record, outcomes, str(name)),
            cpu_ns=_cpu_ns(one),
            price_usd=priced[str(name)],
            peak_watts=_peak_watts(record.study, str(name)),
        )
        results.append(machine_part.doubted(record, outcomes, served))
    return results


def prices_of(record: Record, findings: Findings) -> dict[str, float | None]:
    """The price of each server that the study gives, $; None: it gives none.

    Empty where it gives no price at all.
    """
    known = record.study.hosts.platforms if record.study.hosts else {}
    names = _names(findings)
    if not any(known[name].price_usd is not None for name in names if name in known):
        return {}
    return {name: known[name].price_usd if name in known else None for name in names}


def _names(findings: Findings) -> list[str]:
    """Servers of the findings, in their order."""
    every = (dict(one.levels) for one in findings.services)
    return [str(levels[SERVER]) for levels in every if SERVER in levels]


def with_platforms(findings: Findings, record: Record) -> Findings:
    """The findings with the load of each server for each CPU and watt, and its cost.

    As they are where servers are not varied, are equal machines, or have no load yet.
    """
    hosts = record.study.hosts
    if hosts is None or SERVER not in record.study.factors or hosts.alike:
        return findings
    priced = prices_of(record, findings) or dict.fromkeys(_names(findings))
    try:
        rows = tuple(one.row(Costs()) for one in platforms(findings, record, priced))
    except (SpecFault, StoreFault):  # another factor is varied as well, or nothing has a load yet
        return findings
    factors = tuple(
        replace(one, platforms=rows) if one.key == SERVER else one for one in findings.factors
    )
    return replace(findings, factors=factors, answer=f"{findings.answer} {sentence(rows)}".strip())


def sentence(rows: Sequence[PlatformLoad]) -> str:
    """The machines in words, as `Of each CPU: node-a 5.00k/s, node-b 4.10k/s`."""
    parts = []
    for name, key, form in (
        ("Of each CPU", "per_cpu_rps", "{}/s"),
        ("Of each watt", "per_watt_rps", "{}/s"),
        ("Cost of 1,000 requests/s", "usd_per_krps", "{} $"),
    ):
        known = [(one.server, getattr(one, key)) for one in rows]
        known = [(server, value) for server, value in known if value is not None]
        if known:
            each = (f"{server} {form.format(units.show_count(value))}" for server, value in known)
            parts.append(f"{name}: {', '.join(each)}.")
    return " ".join(parts)


def cells(one: PlatformLoad) -> tuple[str, ...]:
    """A machine as the cells of a row, in the order of `HEAD`."""
    return (
        one.server,
        _cell(one.load_rps, ",.0f"),
        one.about,
        _cell(one.cpus, ".3g"),
        _cell(one.per_cpu_rps, ",.0f"),
        _cell(one.busy, ".0%"),
        _cell(one.per_watt_rps, ",.3g"),
        _cell(one.server_usd, ",.2f"),
        cost(one),
    )


def cost(one: PlatformLoad) -> str:
    """What 1,000 requests/s cost, and what they do at the ends of the load's interval."""
    low, high = one.usd_per_krps_lo, one.usd_per_krps_hi
    ends = "" if low is None or high is None else f" ({low:,.2f}–{high:,.2f})"
    return f"{_cell(one.usd_per_krps, ',.2f')}{ends}"


def _cell(value: float | None, form: str) -> str:
    return NONE if value is None else format(value, form)


def _served(services: Sequence[ServiceFinding]) -> list[ServiceFinding]:
    own = [one for one in services if SERVER in dict(one.levels)]
    if len({dict(one.levels)[SERVER] for one in own}) < len(own):
        raise SpecFault(
            "the record has more than one answer for a server",
            at="--server",
            fix=f"measure one service, and vary {SERVER} alone",
        )
    return own


def _load(one: ServiceFinding) -> tuple[float | None, Interval | None, str]:
    """The load within the QoS target; where none was looked for, what 100 % load is.

    Returns:
        Requests/s, their interval, and which load it is; without a number, why there is none.

    Raises:
        StoreFault: there is no load yet.
    """
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
    if one.served_rps is not None:
        return one.served_rps, None, f"at least: a run at a set load got it, {about}"
    return one.max_rps, ends if is_known else None, about


def _cpu_ns(one: ServiceFinding) -> float | None:
    """CPU time of a request at the highest load that has it, of runs that passed their checks."""
    for point in reversed(one.points):
        runs = (run for run in point.runs if run.is_believed)
        if known := [run.cpu_ns for run in runs if run.cpu_ns is not None]:
            return statistics.median(known)
    return None


def _cpus(record: Record, outcomes: Sequence[Outcome], name: str) -> float | None:
    """CPUs that the server may use there: those of its placement, or fewer by a quota.

    Returns:
        Their number; None: it is not known where it runs.

    Raises:
        StoreFault: none of its points is in the record, or one is damaged.
    """
    for outcome in outcomes:
        if outcome.point.setting.get(SERVER) != name:
            continue
        at = record.folder_of(outcome) / SERVICE
        if at.exists():
            with files.readable(at, "remove the folder of this point, then run the study again"):
                table = disk.read_json(at)
                cpus, quota = len(table["placement"]["server"]), table.get("cpu_quota")
                return max(LEAST_CPUS, min(cpus, float(quota or math.inf))) if cpus else None
    raise StoreFault(
        f"no point of {name} was measured", at=str(record.path), fix="run the study again"
    )


def _peak_watts(study: Study, name: str) -> float | None:
    one = study.hosts.platforms.get(name) if study.hosts else None
    return one.peak_watts if one else None
