"""How much a study found, and what of that a page can hold at once."""

from __future__ import annotations

from sojourn.findings.findings import Findings, ServiceFinding

POINTS_FILTERED = 300  # from which the page has a table of all points with filters
RUNS_MANY = 1_000  # beyond which parts of the page are unpacked only when they are opened
COMBINATIONS_MANY = 12  # beyond which one picture cannot tell them apart


def runs(service: ServiceFinding) -> int:
    """Runs that are drawn of one service or combination."""
    return sum(len(point.runs) for point in service.points)


def is_filtered(findings: Findings) -> bool:
    """Whether there are so many points that people want to choose."""
    return len(findings.points) >= POINTS_FILTERED


def is_crowded(findings: Findings) -> bool:
    """Whether there are more combinations than colours or tiles can show."""
    return len(findings.services) > COMBINATIONS_MANY


def is_large(findings: Findings) -> bool:
    """Whether services are folded away, packed, until somebody looks at them."""
    return is_crowded(findings) or sum(map(runs, findings.services)) > RUNS_MANY
