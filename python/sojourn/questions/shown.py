"""How answers are shown: `section` of each question, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from sojourn import kinds
from sojourn.report.section import Bar, Number, Shown

KINDS: Mapping[str, Shown]

__all__ = ["KINDS", "Bar", "Number", "Shown"]


@cache
def _table() -> Mapping[str, Shown]:
    """By name; made when it is first asked for, because questions import what asks for it."""
    from sojourn.questions.attribution import section as attribution
    from sojourn.questions.beside import section as beside
    from sojourn.questions.blame import section as blame
    from sojourn.questions.breakdown import section as breakdown
    from sojourn.questions.check import section as check
    from sojourn.questions.colocation import section as colocation
    from sojourn.questions.isolation_cost import section as isolation_cost
    from sojourn.questions.max_load import section as max_load
    from sojourn.questions.null import section as null
    from sojourn.questions.qos_matrix import section as qos_matrix
    from sojourn.questions.scheduler_bakeoff import section as scheduler_bakeoff
    from sojourn.questions.smt_pairs import section as smt_pairs
    from sojourn.questions.sweep import section as sweep
    from sojourn.questions.together import section as together

    return kinds.table(
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


def __getattr__(name: str) -> Mapping[str, Shown]:
    if name == "KINDS":
        return _table()
    raise AttributeError(name)
