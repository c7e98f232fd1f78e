"""Findings to a page, to files and to text; no statistics here.

What draws is loaded when it is asked for, because that takes a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import late

if TYPE_CHECKING:
    from sojourn.report.files import write
    from sojourn.report.parts import Parts
    from sojourn.report.terminal import answer, text
    from sojourn.report.writers import Exports, asked, export, form_of

__all__ = ["Exports", "Parts", "answer", "asked", "export", "form_of", "text", "write"]

__getattr__ = late.names(
    __name__,
    {
        "files": ["write"],
        "parts": ["Parts"],
        "terminal": ["answer", "text"],
        "writers": ["Exports", "asked", "export", "form_of"],
    },
)
