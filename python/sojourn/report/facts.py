"""The few numbers that stand under a service's answer, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sojourn import units
from sojourn.analysis.findings import Border, MaxLoad, Scheduled, ServiceFinding
from sojourn.report import show

COMPANY = ("shield", "neighbour", "manager")  # who was there while it was measured


def of_service(service: ServiceFinding) -> list[tuple[str, str]]:
    """(name, value) of target, load axis, max load and crossing, as far as they are known."""
    facts = []
    if service.qos:
        bound = f"{show.quantile(service.qos.q)} ≤ {show.time(service.qos.bound_ns)}"
        facts.append(("QoS target", f"{bound}, {show.uncoded(service.qos.rule)}"))
    if service.max_rps is None:
        facts.append(("max RPS", "unknown"))
    else:
        interval = service.max_rps_interval
        rule = service.max_rps_rule.replace("_", " ")
        within = f" (runs: {show.rates(interval)})" if interval else ""
        facts.append(("max RPS", f"{show.count(service.max_rps)} requests/s{within}, by {rule}"))
    facts += [(what, how) for what, how in service.setup if what in COMPANY]
    if service.max_load:
        facts += _searched(service.max_load)
    if service.crossing:
        crossing = f"{show.shares(service.crossing)} of max RPS"
        facts.append(("smoothed curve crosses QoS at", crossing))
    return facts


def _searched(search: MaxLoad) -> Iterator[tuple[str, str]]:
    """What the search rests on, and what it says of the machine."""
    if search.border is None:
        why = show.sentences(search.reasons) or "no run can be believed"
        yield "max load within QoS", f"{search.verdict}: {why}"
        return
    found = search.border
    shares = f", {show.shares(found.fraction)} of max RPS" if _is_closed(found) else ""
    yield "max load within QoS", f"{_number(found)}{shares}"
    runs = f"{found.runs} runs on {found.starts} starts, {found.measured_s:.0f} s of load"
    yield "the search", f"{runs}, {units.show_s(search.wall_s)} in all"
    if search.undisturbed is not None:
        yield "undisturbed", _number(search.undisturbed)
    if search.scheduled is not None:
        yield "as this machine schedules it", _as_scheduled(search.scheduled)
    if search.shield:
        yield "shield of the server's CPUs", search.shield
    if search.stall_s is not None:
        yield "not excluded", f"stalls rarer than one in {units.show_s(search.stall_s)}"


def _is_closed(found: Border) -> bool:
    ends = found.fraction
    return ends is not None and ends.lo > 0 and math.isfinite(ends.hi)


def _number(found: Border) -> str:
    if found.interval_rps.hi <= 0:
        return show.within(found)
    return f"{show.border(found)} requests/s ({show.within(found)})"


def _as_scheduled(found: Scheduled) -> str:
    said = [_number(found.border)] if found.border else []
    if found.quantile_ns:
        quiet, noisy = (show.time(ns) for ns in found.quantile_ns)
        pairs = f"{found.pairs} pair{'' if found.pairs == 1 else 's'} of runs"
        said.append(
            f"{noisy} instead of {quiet} at {show.count(found.at_rps)} requests/s ({pairs})"
        )
    if found.culprits:
        said.append(f"ran there: {', '.join(found.culprits)}")
    return "; ".join(said) or "not known"
