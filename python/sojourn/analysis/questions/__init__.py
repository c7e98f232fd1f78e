"""How what was asked is answered: a file a question, by the names of `plan.questions`.

The order is that in which they speak for a service: the first that decides gives it its verdict and
headline, the others add what they have to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from sojourn import kinds
from sojourn.analysis.findings import Findings, ServiceFinding
from sojourn.analysis.questions import (
    attribution,
    beside,
    blame,
    breakdown,
    check,
    colocation,
    isolation_cost,
    max_load,
    null,
    qos_matrix,
    scheduler_bakeoff,
    smt_pairs,
    sweep,
    together,
)
from sojourn.analysis.questions.question import Answer

KINDS: Mapping[str, Answer] = kinds.table(
    max_load.KIND,
    sweep.KIND,
    breakdown.KIND,
    check.KIND,
    isolation_cost.KIND,
    attribution.KIND,
    colocation.KIND,
    beside.KIND,
    blame.KIND,
    null.KIND,
    together.KIND,
    qos_matrix.KIND,
    smt_pairs.KIND,
    scheduler_bakeoff.KIND,
)

__all__ = ["KINDS", "Answer", "flat"]


def flat(found: Findings) -> dict[str, object]:
    """Findings as their JSON has them: each question's part beside what is common."""
    table: dict[str, object] = {**_common(found), "services": [_flat(s) for s in found.services]}
    for kind in KINDS.values():
        table |= kind.study_json(found.sections.get(kind.name))
    return table


def _flat(found: ServiceFinding) -> dict[str, object]:
    table = _common(found)
    for kind in KINDS.values():
        table |= kind.service_json(found.sections.get(kind.name))
    return table


def _common(found: Findings | ServiceFinding) -> dict[str, object]:
    names = (field.name for field in fields(found))
    return {name: getattr(found, name) for name in names if name != "sections"}
