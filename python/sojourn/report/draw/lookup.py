"""Finding a number in the findings by its quantile; None asks for the mean."""

from __future__ import annotations

import math
import re

from sojourn.findings.findings import ServiceFinding
from sojourn.findings.load_point import Line, LoadPoint, Run
from sojourn.report import show
from sojourn.spec import MaxRps
from sojourn.stats.interval import Estimate

TAIL = 0.99


def tail_q(service: ServiceFinding) -> float:
    """The quantile that the service is judged on; p99 without a target."""
    return service.qos.q if service.qos else TAIL


def is_bound(service: ServiceFinding, q: float | None) -> bool:
    """Whether the QoS target is about this number."""
    return service.qos is not None and q is not None and math.isclose(service.qos.q, q)


def of_point(point: LoadPoint, q: float | None) -> Estimate | None:
    """The point's estimate of quantile `q` or of the mean."""
    if q is None:
        return point.mean
    return next((e for e in point.quantiles if e.q is not None and math.isclose(e.q, q)), None)


def of_run(run: Run, q: float | None) -> float | None:
    """The run's quantile `q` or mean, ns."""
    if q is None:
        return run.mean_ns
    return next((ns for other, ns in run.quantiles if math.isclose(other, q)), None)


def lines_of(service: ServiceFinding, q: float | None) -> list[Line]:
    """The lines about this number: those whose name ends with its label."""
    return [line for line in service.lines if line.name.split()[-1:] == [show.quantile(q)]]


def of_max(service: ServiceFinding) -> str:
    """What a share of load is a share of: `of max RPS`, or of what the study asked at most."""
    return "of the highest load" if service.max_rps_rule == MaxRps.ASKED else "of max RPS"


def load_title(service: ServiceFinding) -> list[str]:
    """The axis title, one line each: the load, and the definition of max RPS (M19)."""
    rule = service.max_rps_rule.replace("_", " ")
    known = "unknown" if service.max_rps is None else f"{show.count(service.max_rps)} requests/s"
    rule += "" if service.highest_rps or service.max_rps is None else ", of no valid run"
    if service.served_rps is not None:
        rule += f", too low: {show.count(service.served_rps)} was served"
    if service.max_rps_rule == MaxRps.ASKED:
        return [f"offered load, % {of_max(service)}", f"100 %: {known}"]
    return ["offered load, % of max RPS", f"max RPS: {known} ({rule})"]


def slug(text: str) -> str:
    """A text as part of a file name or anchor.

    >>> slug("memcached (UDP) p99.9")
    'memcached-udp-p99-9'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"
