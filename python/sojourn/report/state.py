"""How far a study is answered, in one line, and what would settle the rest (M37)."""

from __future__ import annotations

from sojourn import units
from sojourn.analysis import state
from sojourn.findings.findings import Findings
from sojourn.findings.state import Settle
from sojourn.report import parts


def state_line(findings: Findings) -> str:
    """`Answered.`, or `Answered in part (47 of 49 cells): …`, with the one command and its time.

    Commands within it are put between backticks.
    """
    result = state.of(findings, parts.answers())
    words = result.text[:1].upper() + result.text[1:]
    if result.settle is None:
        return f"{words}."
    return f"{words}: `{result.settle.command}` ({units.show_s(result.settle.seconds)})"


def settle(findings: Findings) -> Settle | None:
    """What would settle what is open: the question's own command, else the longest of a service."""
    if (own := state.of(findings, parts.answers()).settle) is not None:
        return own
    every = (kind.settle(service) for service in findings.services for kind in parts.sections())
    return max((one for one in every if one), key=lambda one: one.seconds, default=None)
