"""Addresses of the view's own pages, in which names of records are quoted."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from sojourn.browse.curves import Curve


def record(name: str, part: str = "") -> str:
    """The page of a record, or a part of it: `report`, `live`, `events`, `note`.

    >>> record('a/b/c"d', "report")
    '/r/a/b/c%22d/report'
    """
    path = quote(name, errors="surrogateescape")
    return f"/r/{path}/{part}" if part else f"/r/{path}"


def runs(name: str, curve: Curve) -> str:
    """The runs of a curve; `&rps=` and a load select those of one."""
    query = urlencode({"service": curve.service, "condition": curve.condition})
    return f"{record(name, 'runs')}?{query}"


def runs_at(name: str, curve: Curve, rps: float) -> str:
    """The runs of one load."""
    return f"{runs(name, curve)}&rps={rps!r}"


def dump(name: str) -> str:
    """The page of a dump of the black box.

    >>> dump("ring-20261127T010838Z-001.json")
    '/dump/ring-20261127T010838Z-001.json'
    """
    return f"/dump/{quote(name, errors='surrogateescape')}"


def listing(**query: object) -> str:
    """The list, filtered.

    >>> listing(q="a b", study="")
    '/?q=a+b'
    """
    stated = {name: value for name, value in query.items() if value}
    return f"/?{urlencode(stated)}" if stated else "/"
