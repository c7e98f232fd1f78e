"""The few numbers that stand under a service's answer, in words."""

from __future__ import annotations

from sojourn import units
from sojourn.analysis.findings import ServiceFinding
from sojourn.plan.points import Verdict
from sojourn.report import show


def of_service(service: ServiceFinding) -> list[tuple[str, str]]:
    """(name, value) of target, load axis, max load and crossing, as far as they are known."""
    facts = []
    if service.qos:
        bound = f"{show.quantile(service.qos.q)} ≤ {show.time(service.qos.bound_ns)}"
        facts.append(("QoS target", f"{bound}, {service.qos.rule}"))
    if service.max_rps is None:
        facts.append(("max RPS", "unknown"))
    else:
        interval = service.max_rps_interval
        rule = service.max_rps_rule.replace("_", " ")
        within = f" (runs: {show.rates(interval)})" if interval else ""
        facts.append(("max RPS", f"{show.count(service.max_rps)} requests/s{within}, by {rule}"))
    facts += [(what, how) for what, how in service.setup if what == "shield"]
    search = service.max_load
    if search:
        facts.append(("max load within QoS", _max_load(service)))
    if service.crossing:
        crossing = f"{show.shares(service.crossing)} of max RPS"
        facts.append(("smoothed curve crosses QoS at", crossing))
    return facts


def _max_load(service: ServiceFinding) -> str:
    search = service.max_load
    if search is None:
        return "not asked"
    if search.verdict is Verdict.UNKNOWN or search.interval_rps is None:
        found = search.interval_rps
        hint = f"; the search ended at {show.rates(found)} requests/s" if found else ""
        return f"{search.verdict}: {show.sentences(search.reasons) or 'undecided'}{hint}"
    shares = f", {show.shares(search.fraction)} of max RPS" if search.fraction else ""
    state = "confirmed" if search.confirmed else "not confirmed"
    spent = f"{len(search.probes)} probes, {units.show_s(search.wall_s)}"
    return f"{show.rates(search.interval_rps)} requests/s{shares} ({state}; {spent})"
