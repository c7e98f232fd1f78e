"""What can be asked of a service: a folder a question, in the order in which they are asked.

This is the only table of them. Pipeline and commands hand on what others need of it, and nothing
below knows which questions there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import kinds
from sojourn.plan.questions import Questions
from sojourn.questions import (
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
from sojourn.questions.kind import Kind, Reader

if TYPE_CHECKING:
    from sojourn.actors import Catalogue
    from sojourn.analysis.answer_kind import Answers
    from sojourn.findings.findings import Findings, ServiceFinding
    from sojourn.models.colocation import Table
    from sojourn.report import Parts

KINDS: Mapping[str, Kind] = kinds.table(
    sweep.KIND,
    max_load.KIND,
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
PLANS = Questions(*(kind.plan for kind in KINDS.values()))

__all__ = ["KINDS", "PLANS", "Kind", "Reader"]


@cache
def catalogue() -> Catalogue:
    """For whoever runs a study."""
    from sojourn.actors import Catalogue

    probes = (probe for kind in KINDS.values() if (probe := kind.probe()))
    return Catalogue(questions=PLANS, probes=tuple(probes))


@cache
def readers() -> Mapping[str, Reader]:
    """Of the files that questions keep beside the load's, by name."""
    found = ((kind.name, kind.reader()) for kind in KINDS.values())
    return {name: reader for name, reader in found if reader is not None}


@cache
def answers() -> Answers:
    """How each is answered, in the order in which they speak for a service."""
    every = sorted((kind.judge() for kind in KINDS.values()), key=lambda one: one.place)
    return kinds.table(*every)


@cache
def parts() -> Parts:
    """For whoever writes a report."""
    from sojourn.report import Parts

    sections = sorted((kind.section() for kind in KINDS.values()), key=lambda one: one.place)
    openings = (opening for kind in KINDS.values() if (opening := kind.opening()))
    return Parts(sections=tuple(sections), openings=tuple(openings), answers=answers())


def amended(findings: Findings, record: Path) -> Findings:
    """Findings of a record with what questions know of it beside its points."""
    for kind in KINDS.values():
        findings = kind.amended(findings, record)
    return findings


def tables(findings: Findings, source: str) -> tuple[Table, ...]:
    """What was measured as models of fleets and costs read it."""
    return tuple(table for kind in KINDS.values() for table in kind.tables(findings, source))


def flat(found: Findings) -> dict[str, object]:
    """Findings as their JSON has them: each question's part beside what is common."""
    table: dict[str, object] = {**_common(found), "services": [_flat(s) for s in found.services]}
    for kind in answers().values():
        table |= kind.study_json(found.sections.get(kind.name))
    return table


def _flat(found: ServiceFinding) -> dict[str, object]:
    table = _common(found)
    for kind in answers().values():
        table |= kind.service_json(found.sections.get(kind.name))
    return table


def _common(found: Findings | ServiceFinding) -> dict[str, object]:
    names = (field.name for field in fields(found))
    return {name: getattr(found, name) for name in names if name != "sections"}
