"""Text of strangers in Markdown is shown as it is: no mark, link or end of a cell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sojourn.visible import visible

_MARKS = re.compile(r"([\\`*_\[\]<>|#&~])")  # what Markdown and the HTML in it take for its own


def plain(text: str) -> str:
    r"""A text in one line.

    >>> print(plain("a|b\n![x](http://y) <b>"))
    a\|b !\[x\](http://y) \<b\>
    """
    return _MARKS.sub(r"\\\1", visible(" ".join(text.split())))


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(plain, cells))} |"
