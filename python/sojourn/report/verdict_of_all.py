"""Loads at which the runs seem to say the opposite of the verdict."""

from __future__ import annotations

import math

from sojourn.findings.findings import ServiceFinding
from sojourn.findings.load_point import LoadPoint
from sojourn.plan.points import Verdict
from sojourn.report import show
from sojourn.report.draw.lookup import of_point


def text(service: ServiceFinding) -> str:
    """Which loads these are, and why the verdict differs; "" if there are none."""
    qos = service.qos
    if qos is None:
        return ""
    loads = [show.load(p.fraction) for p in service.points if _differs(p, qos.q, qos.bound_ns)]
    if not loads:
        return ""
    own = f"{show.listed(tuple(loads), len(loads))} load the {show.quantile(qos.q)} of its own runs"
    return (
        f"At {own} lies on the other side of the bound. "
        "The verdict is of the runs at all loads together, because a few runs say little."
    )


def _differs(point: LoadPoint, q: float, bound_ns: float) -> bool:
    estimate = of_point(point, q)
    if estimate is None or estimate.value is None or not math.isfinite(estimate.value):
        return False
    opposite = Verdict.VIOLATED if estimate.value <= bound_ns else Verdict.HOLDS
    return point.verdict is opposite
