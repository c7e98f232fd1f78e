"""Every measured point as a line, with a column for each factor."""

from __future__ import annotations

from sojourn.findings.findings import Findings
from sojourn.report import explore
from sojourn.report.writers.writer import Writer


def content(findings: Findings) -> bytes:
    """The table with its head."""
    return explore.table(findings).csv().encode(errors="backslashreplace")


WRITER = Writer(name="csv", about="every measured point, a line each", content=content)
