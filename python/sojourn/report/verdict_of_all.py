"""Loads at which the runs seem to say the opposite of the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    tail = show.quantile(qos.q)
    beyond = [p for p in service.points if _differs(p, qos.q, qos.bound_ns)]
    unseen = [p for p in service.points if _is_unseen(p, qos.q)]
    parts = [
        f"At {_listed(loads)} load the {tail} of its own runs {what}."
        for loads, what in (
            (beyond, "lies on the other side of the bound"),
            (unseen, "is not known, and they do not show a miss"),
        )
        if loads
    ]
    if not parts:
        return ""
    why = "The verdict is of the runs at all loads together, because a few runs say little."
    return " ".join([*parts, why])


def _listed(points: Sequence[LoadPoint]) -> str:
    return show.listed(tuple(show.load(p.fraction) for p in points), len(points))


def _is_unseen(point: LoadPoint, q: float) -> bool:
    """Whether it is violated, and its own requests are too few to show that."""
    estimate = of_point(point, q)
    is_known = estimate is not None and estimate.value is not None
    is_violated = point.is_believed and point.verdict is Verdict.VIOLATED
    return is_violated and not is_known and point.missed is None


def _differs(point: LoadPoint, q: float, bound_ns: float) -> bool:
    estimate = of_point(point, q)
    if estimate is None or estimate.value is None or not math.isfinite(estimate.value):
        return False
    opposite = Verdict.VIOLATED if estimate.value <= bound_ns else Verdict.HOLDS
    return point.verdict is opposite
