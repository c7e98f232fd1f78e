"""How answers are shown: a file a question, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn import kinds
from sojourn.report.sections import (
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
from sojourn.report.sections.section import Bar, Number, Shown

KINDS: Mapping[str, Shown] = kinds.table(
    max_load.KIND,
    colocation.KIND,
    sweep.KIND,
    breakdown.KIND,
    check.KIND,
    isolation_cost.KIND,
    attribution.KIND,
    beside.KIND,
    blame.KIND,
    null.KIND,
    together.KIND,
    qos_matrix.KIND,
    smt_pairs.KIND,
    scheduler_bakeoff.KIND,
)

__all__ = ["KINDS", "Bar", "Number", "Shown"]
