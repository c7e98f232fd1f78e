"""The tail against offered load, with the QoS bound."""

from __future__ import annotations

from sojourn.findings.findings import ServiceFinding
from sojourn.report.draw import curve
from sojourn.report.draw.figure import Figure, Kind

TAIL = 0.99


def draw(service: ServiceFinding) -> list[Figure]:
    """The quantile of the QoS target first; p99 always."""
    bound = [service.qos.q] if service.qos else []
    return [curve.draw(service, q) for q in dict.fromkeys([*bound, TAIL])]


KIND = Kind(
    name="tail_load",
    about="QoS quantile and p99 against load: runs, intervals, QoS bound, M/M/n (C7, L5)",
    of_service=draw,
)
