"""The first of many names, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence


def some(names: Sequence[str], most: int) -> str:
    """Names for a sentence.

    >>> some(["a", "b"], 2), some(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
