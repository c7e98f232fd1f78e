"""What can be asked of a service: a folder a question, in the order in which they are asked.

This is the only table of them. Pipeline and commands hand on what others need of it, and nothing
below knows which questions there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import handed, kinds
from sojourn.plan.questions import Questions
from sojourn.questions import (
    attribution,
    beside,
    blame,
    breakdown,
    check,
    colocation,
    compare,
    isolation_cost,
    manager_league,
    max_load,
    null,
    qos_matrix,
    scheduler_bakeoff,
    smt_pairs,
    sweep,
    together,
)
from sojourn.questions.kind import Kind, Reader
from sojourn.spec import form as study_form

if TYPE_CHECKING:
    from sojourn.actors import Catalogue
    from sojourn.analysis.answer_kind import Answers
    from sojourn.findings.findings import Findings
    from sojourn.models.colocation import Table
    from sojourn.report import Parts
    from sojourn.spec.form import Form

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
    compare.KIND,
    manager_league.KIND,
)
PLANS = Questions(*(kind.plan for kind in KINDS.values()))

__all__ = ["KINDS", "PLANS", "Kind", "Reader"]


@cache
def form() -> Form:
    """How a study file is read: the core's keys, and those that each question adds."""
    return study_form.made({kind.name: kind.asks for kind in KINDS.values()})


handed.hand_in(handed.STUDY_FORM, form)  # who knows the questions reads their keys


@cache
def catalogue() -> Catalogue:
    """For whoever runs a study."""
    from sojourn.actors import Catalogue

    probes = (probe for kind in KINDS.values() if (probe := kind.probe()))
    return Catalogue(questions=PLANS, probes=tuple(probes))


@cache
def readers() -> Mapping[str, Reader]:
    """Of the files that questions keep beside the load's, by name."""
    results = ((kind.name, kind.reader()) for kind in KINDS.values())
    return {name: reader for name, reader in results if reader is not None}


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


def forms(findings: Findings) -> Mapping[str, str]:
    """The answer for other programs, of the question that has such forms; {} if none has."""
    return next(filter(None, (kind.forms(findings) for kind in KINDS.values())), {})


def scatter(findings: Findings) -> Mapping[str, float]:
    """What pairs of runs in turn differ by, of the question that knows it; {} if none does."""
    return next(filter(None, (kind.scatter(findings) for kind in KINDS.values())), {})


def tables(findings: Findings, source: str) -> tuple[Table, ...]:
    """What was measured as models of fleets and costs read it."""
    return tuple(table for kind in KINDS.values() for table in kind.tables(findings, source))


def flat(findings: Findings) -> dict[str, object]:
    """Findings as their JSON has them: each question's part beside what is common."""
    from sojourn.report.writers import json

    return json.table(findings, answers())
