"""Secrets of a service are left out of what the record stores of its output.

A program may print its environment, or a connection string with a password, as soon as it starts.
Only the value as it is can be recognised: not one that is encoded, and none of a few letters.
"""

from __future__ import annotations

from collections.abc import Iterable

SHOWN = b"***"  # of no letters, so that a part of it is text as well
LEAST_BYTES = 6  # a shorter one cannot be distinguished from other text


class Hidden:
    """Values that no one else may see.

    Attributes:
        spare: bytes at a place where a text is cut that may be a part of one of them.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        each = {one.encode("utf-8", "surrogateescape") for one in secrets}
        long = (one for one in each if len(one) >= LEAST_BYTES)
        self._each = sorted(long, key=len, reverse=True)  # one may be a part of another
        self.spare = len(self._each[0]) - 1 if self._each else 0

    def without(self, text: bytes) -> bytes:
        """The text with a mark in place of each.

        >>> Hidden(["hunter2", "hunter2-more", "a"]).without(b"a: hunter2-more").decode()
        'a: ***'
        """
        for one in self._each:
            text = text.replace(one, SHOWN)
        return text


NOTHING = Hidden()
