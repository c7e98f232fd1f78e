"""Findings to a page, to files and to text; no statistics here."""

from sojourn.report.files import write
from sojourn.report.parts import Parts
from sojourn.report.terminal import text
from sojourn.report.writers import Exports, asked, export

__all__ = ["Exports", "Parts", "asked", "export", "text", "write"]
