"""How reports open: a file a picture, in order of priority; the first that applies opens.

Adding one is a file with a `KIND` and a line in `KINDS`, before `plain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from sojourn import kinds
from sojourn.findings.findings import Findings
from sojourn.report.openings import (
    classes,
    interference,
    plain,
    services,
    settings,
    trends,
    unbelieved,
)
from sojourn.report.openings.opening import Opening, Opens

KINDS: Mapping[str, Opens]


@cache
def _table() -> Mapping[str, Opens]:
    """In order of priority; the last one applies to every study."""
    from sojourn.questions.attribution import opening as attribution
    from sojourn.questions.beside import opening as beside
    from sojourn.questions.blame import opening as blame
    from sojourn.questions.breakdown import opening as breakdown
    from sojourn.questions.colocation import opening as colocation
    from sojourn.questions.isolation_cost import opening as isolation_cost
    from sojourn.questions.qos_matrix import opening as qos_matrix
    from sojourn.questions.scheduler_bakeoff import opening as scheduler_bakeoff

    return kinds.table(
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


def __getattr__(name: str) -> Mapping[str, Opens]:
    if name == "KINDS":
        return _table()
    raise AttributeError(name)


def of(findings: Findings, width: int = 80) -> Opening:
    """The first screen of a study.

    Args:
        findings: of any study.
        width: columns of the terminal, at least 60.
    """
    return next(kind for kind in _table().values() if kind.applies(findings)).opening(
        findings, width
    )


__all__ = ["KINDS", "Opening", "Opens", "of"]
