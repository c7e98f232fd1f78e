"""How answers are shown: a file a question, in the order in which they are shown."""

from __future__ import annotations

from sojourn.report.sections import breakdown, check, max_load, sweep
from sojourn.report.sections.section import Bar, Number, Shown

KINDS: tuple[Shown, ...] = (
    max_load.KIND,
    sweep.KIND,
    breakdown.KIND,
    check.KIND,
)

__all__ = ["KINDS", "Bar", "Number", "Shown"]
