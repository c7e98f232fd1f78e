"""How far a study is answered, in one line, and what would settle the rest."""

from __future__ import annotations

from sojourn import units
from sojourn.analysis import is_answered
from sojourn.analysis.findings import Findings, Settle
from sojourn.report.sections import KINDS


def state_line(findings: Findings) -> str:
    """`Answered.`, or `Undecided: to …, 3 min 11 s.`; the command stands elsewhere.

    Commands within it are put between backticks.
    """
    if is_answered(findings):
        return "Answered."
    found = settle(findings)
    return (
        f"Undecided: `{found.command}` ({units.show_s(found.seconds)})" if found else "Undecided."
    )


def settle(findings: Findings) -> Settle | None:
    """What would settle the most of what is open: the one command that takes longest."""
    every = (kind.settle(service) for service in findings.services for kind in KINDS.values())
    return max((one for one in every if one), key=lambda one: one.seconds, default=None)
