"""How reports open: a file a picture, in order of priority; the first that applies opens.

Adding one is a file with a `KIND` and a line in `KINDS`, before `plain`.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn import kinds
from sojourn.analysis.findings import Findings
from sojourn.report.openings import (
    attribution,
    beside,
    blame,
    breakdown,
    classes,
    colocation,
    interference,
    isolation_cost,
    plain,
    qos_matrix,
    scheduler_bakeoff,
    services,
    settings,
    trends,
    unbelieved,
)
from sojourn.report.openings.opening import Opening, Opens

#: In order of priority; the last one applies to every study.
KINDS: Mapping[str, Opens] = kinds.table(
    scheduler_bakeoff.KIND,
    qos_matrix.KIND,
    beside.KIND,
    colocation.KIND,
    interference.KIND,
    unbelieved.KIND,
    isolation_cost.KIND,
    attribution.KIND,
    blame.KIND,
    breakdown.KIND,
    classes.KIND,
    services.KIND,
    trends.KIND,
    settings.KIND,
    plain.KIND,
)


def of(findings: Findings, width: int = 80) -> Opening:
    """The first screen of a study.

    Args:
        findings: of any study.
        width: columns of the terminal, at least 60.
    """
    return next(kind for kind in KINDS.values() if kind.applies(findings)).opening(findings, width)


__all__ = ["KINDS", "Opening", "Opens", "of"]
