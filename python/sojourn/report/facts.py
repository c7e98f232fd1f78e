"""The few numbers that stand under a service's answer, in words."""

from __future__ import annotations

from sojourn.findings.findings import ServiceFinding
from sojourn.report import noise, parts, show
from sojourn.spec import MaxRps

#: Who was there while it was measured, and on what.
_FAR = ("clients", "client clocks", "way to the server")  # of clients on other hosts
COMPANY = ("emulated", "shield", *_FAR, "neighbour", "manager")


def of_service(service: ServiceFinding) -> list[tuple[str, str]]:
    """(name, value) of target, load axis, max load and crossing, as far as they are known."""
    facts = []
    if service.qos:
        bound = f"{show.quantile(service.qos.q)} ≤ {show.time(service.qos.bound_ns)}"
        facts.append(("QoS target", f"{bound}, {show.uncoded(service.qos.rule)}"))
    if service.max_rps_rule == MaxRps.ASKED and service.max_rps is not None:
        facts.append(("highest load asked", f"{show.count(service.max_rps)} requests/s"))
    elif service.max_rps is None:
        facts.append(("max RPS", "unknown"))
    else:
        interval = service.max_rps_interval
        rule = service.max_rps_rule.replace("_", " ")
        within = f" (runs: {show.rates(interval)})" if interval else ""
        within += "" if service.highest_rps else ", of no valid run"
        shown = f"{show.count(service.max_rps)} requests/s{within}, by {rule}"
        if service.served_rps is not None:
            shown += f"; at least {show.count(service.served_rps)}, which a run at a set load got"
        facts.append(("max RPS", shown))
    facts += [(what, how) for what, how in service.setup if what in COMPANY]
    if service.noise_floor:
        facts.append(("noise floor (A/A)", noise.floor(service.noise_floor)))
    if service.probes:
        facts.append(("probe client", noise.probes(service.probes)))
    return [*facts, *(fact for kind in parts.sections() for fact in kind.facts(service))]
