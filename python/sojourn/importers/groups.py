"""Requests of one file by its parts: scenarios of k6, attacks of vegeta."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b

from sojourn.importers import requests
from sojourn.importers.requests import Requests

PARTS_MOST = 8  # parts of a file that are shown apart
NAME_MOST = 80  # letters
OTHERS, ALL = "all others", "all together"


def short(name: str) -> str:
    """A name of bounded length; two long ones that begin alike stay two."""
    if len(name) <= NAME_MOST:
        return name
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{name[: NAME_MOST - len(digest) - 1]}…{digest}"


def by_reason(failed: Iterable[tuple[str, int]]) -> dict[str, int]:
    """How many failed by reason, each in short; reasons that are one in short count together."""
    counts: Counter[str] = Counter()
    for why, n in failed:
        counts[short(why)] += n
    return {why: n for why, n in counts.items() if n}


class Groups:
    """Requests by the part of the run that they belong to."""

    def __init__(self) -> None:
        self._by_name: dict[str, Requests] = {}
        self._rows = 0

    def of(self, name: str, at: str) -> Requests:
        """Those of a part, to which a row is added; parts beyond a number are one.

        Raises:
            SpecFault: all parts together have too many.
        """
        if self._rows >= requests.MOST:
            raise requests.too_many(at)
        self._rows += 1
        name = short(name)
        known = self._by_name.get(name)
        if known is not None:
            return known
        shown = name if len(self._by_name) < PARTS_MOST else OTHERS
        return self._by_name.setdefault(shown, Requests())

    def parts(self) -> list[tuple[str, Requests]]:
        """Each part with its name, and last all together where there are several."""
        each = list(self._by_name.items()) or [("", Requests())]
        if len(each) < 2:
            return [("", one) for _, one in each]
        return [*each, (ALL, Requests.joined(self._by_name.values()))]
