"""Findings to a page, to files and to text; no statistics here."""

from sojourn.report.files import write
from sojourn.report.parts import Parts
from sojourn.report.terminal import text

__all__ = ["Parts", "text", "write"]
