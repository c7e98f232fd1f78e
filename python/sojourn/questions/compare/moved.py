"""Which stage moved between services in turn, where they were traced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sojourn import store
from sojourn.analysis import moved_stages
from sojourn.findings.findings import Findings
from sojourn.questions.compare.block_runs import TRACED
from sojourn.questions.compare.compared import Compared
from sojourn.questions.compare.plan import NAME


def with_moved(findings: Findings, folder: Path) -> Findings:
    """The findings with the stages that moved.

    Args:
        findings: of a record.
        folder: of the record.
    """
    section = findings.section(Compared)
    if section is None or not section.is_traced:
        return findings
    moved = moved_stages.in_turn(store.read(folder), TRACED, section.first)
    return findings.having(NAME, replace(section, moved=moved)) if moved else findings
