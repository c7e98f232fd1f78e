"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from sojourn.findings.section import Section
from sojourn.questions.testing_state import HOLDS, UNKNOWN, Made, of_service


def found() -> Made:
    """An axis that was measured, and one that was not."""
    each = (Section(verdict=HOLDS), Section(verdict=UNKNOWN))
    return Made(of_service("null", *each), 1, 2, "services")
