"""Text of strangers in Markdown is shown as it is: no mark, link or end of a cell.

A bare address, `@user` and `#12` become links on GitHub and others, and a user gets a message. An
empty comment within keeps them text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sojourn.visible import visible

_MARKS = re.compile(r"([\\`*_\[\]<>|#&~])")  # what Markdown and the HTML in it take for its own
#: What forges make a link of, or a message to a user, whether it is escaped or not.
_LINKS = re.compile(r"@|:(?=//)|www(?=\.)|\\#(?=\d)|\bgh(?=-\d)", re.IGNORECASE)
_BREAK = "<!-- -->"  # nothing is shown of it


def plain(text: str) -> str:
    r"""A text in one line.

    >>> print(plain("a|b\n![x](http://y) <b>"))
    a\|b !\[x\](http:<!-- -->//y) \<b\>
    """
    escaped = _MARKS.sub(r"\\\1", visible(" ".join(text.split())))
    return _LINKS.sub(rf"\g<0>{_BREAK}", escaped)


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(plain, cells))} |"
