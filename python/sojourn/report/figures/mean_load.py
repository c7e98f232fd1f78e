"""The mean against offered load."""

from __future__ import annotations

from sojourn.findings.findings import ServiceFinding
from sojourn.report.draw import curve
from sojourn.report.draw.figure import Figure, Kind


def draw(service: ServiceFinding) -> list[Figure]:
    """The mean sojourn time against load, as one figure."""
    return [curve.draw(service, None)]


KIND = Kind(
    name="mean_load",
    about="mean sojourn time against load: runs, intervals, M/M/n (C7, L5)",
    of_service=draw,
)
