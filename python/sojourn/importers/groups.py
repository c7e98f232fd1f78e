"""Requests of one file by its parts: scenarios of k6, attacks of vegeta."""

from __future__ import annotations

from sojourn.importers import requests
from sojourn.importers.requests import Requests

PARTS_MOST = 8  # parts of a file that are shown apart
OTHERS, ALL = "all others", "all together"


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
        name = name[:80]
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
