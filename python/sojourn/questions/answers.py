"""How what was asked is answered: `judge` of each question, by the names of `questions.plans`.

The order is that in which they speak for a service: the first that decides gives it its verdict and
headline, the others add what they have to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache

from sojourn import kinds
from sojourn.analysis.answer_kind import Answer
from sojourn.findings.findings import Findings, ServiceFinding

KINDS: Mapping[str, Answer]

__all__ = ["KINDS", "Answer", "flat"]


@cache
def _table() -> Mapping[str, Answer]:
    """By name; made when it is first asked for, because questions import what asks for it."""
    from sojourn.questions.attribution import judge as attribution
    from sojourn.questions.beside import judge as beside
    from sojourn.questions.blame import judge as blame
    from sojourn.questions.breakdown import judge as breakdown
    from sojourn.questions.check import judge as check
    from sojourn.questions.colocation import judge as colocation
    from sojourn.questions.isolation_cost import judge as isolation_cost
    from sojourn.questions.max_load import judge as max_load
    from sojourn.questions.null import judge as null
    from sojourn.questions.qos_matrix import judge as qos_matrix
    from sojourn.questions.scheduler_bakeoff import judge as scheduler_bakeoff
    from sojourn.questions.smt_pairs import judge as smt_pairs
    from sojourn.questions.sweep import judge as sweep
    from sojourn.questions.together import judge as together

    return kinds.table(
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


def __getattr__(name: str) -> Mapping[str, Answer]:
    if name == "KINDS":
        return _table()
    raise AttributeError(name)


def flat(found: Findings) -> dict[str, object]:
    """Findings as their JSON has them: each question's part beside what is common."""
    table: dict[str, object] = {**_common(found), "services": [_flat(s) for s in found.services]}
    for kind in _table().values():
        table |= kind.study_json(found.sections.get(kind.name))
    return table


def _flat(found: ServiceFinding) -> dict[str, object]:
    table = _common(found)
    for kind in _table().values():
        table |= kind.service_json(found.sections.get(kind.name))
    return table


def _common(found: Findings | ServiceFinding) -> dict[str, object]:
    names = (field.name for field in fields(found))
    return {name: getattr(found, name) for name in names if name != "sections"}
