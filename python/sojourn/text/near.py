"""Names that look like the one that was given."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: str, known: Iterable[str]) -> list[str]:
    """Names that look like `name`, nearest first, for "did you mean …?".

    >>> near("markdwon", ["html", "markdown"])
    ['markdown']
    """
    return difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
