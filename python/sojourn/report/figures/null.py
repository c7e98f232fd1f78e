"""A kind that draws no figure, for tests of the table."""

from __future__ import annotations

from sojourn.findings.findings import ServiceFinding
from sojourn.report.draw.figure import Figure, Kind


def draw(service: ServiceFinding) -> list[Figure]:
    """No figure for any service, whatever was found."""
    del service
    return []


KIND = Kind(name="null", about="draws nothing", of_service=draw)
