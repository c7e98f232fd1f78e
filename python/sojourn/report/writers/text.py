"""The report as text in 80 columns, without colour."""

from __future__ import annotations

from sojourn.findings.findings import Findings
from sojourn.report import terminal
from sojourn.report.writers.writer import Writer


def content(findings: Findings) -> bytes:
    """The whole text, 80 columns wide."""
    return f"{terminal.whole(findings)}\n".encode()


WRITER = Writer(name="text", about="the report as text", content=content)
