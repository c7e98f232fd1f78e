"""How wide a page for the terminal is made."""

from __future__ import annotations

import shutil

LEAST, USUAL, MOST = 40, 80, 100


def width() -> int:
    """Columns of the terminal, but no fewer than a plot needs; such a terminal breaks the lines."""
    return min(MOST, max(LEAST, shutil.get_terminal_size((USUAL, 24)).columns))
