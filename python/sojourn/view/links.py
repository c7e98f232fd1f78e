"""Addresses of the view's own pages, in which names of records are quoted."""

from __future__ import annotations

from contextvars import ContextVar
from urllib.parse import quote, unquote, urlencode

from sojourn.browse.curves import Curve
from sojourn.visible import visible

#: What each path begins with, which is the key; the guard sets it for a request.
ROOT: ContextVar[str] = ContextVar("ROOT", default="")


def quoted(name: str) -> str:
    r"""A record's name in letters that a page, a form and an address leave as they are.

    >>> quoted("a/b/50% \udcff")
    'a/b/50%25%20%FF'
    """
    return quote(name, errors="surrogateescape")


def unquoted(text: str) -> str:
    """The name that was quoted; its bytes need not be UTF-8."""
    return unquote(text, errors="surrogateescape")


def record(name: str, part: str = "") -> str:
    """The page of a record, or a part of it: `report`, `runs`, `events`, `note`.

    >>> record('a/b/c"d', "report")
    '/r/a/b/c%22d/report'
    """
    path = f"{ROOT.get()}/r/{quoted(name)}"
    return f"{path}/{part}" if part else path


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
    return f"{ROOT.get()}/dump/{quoted(name)}"


def sides() -> str:
    """The page of several records on one scale; `?r=` and a quoted name for each."""
    return f"{ROOT.get()}/sides"


def listing(**query: object) -> str:
    """The list, filtered; a filter is spelled as the page shows it.

    >>> listing(q="a b", study="")
    '/?q=a+b'
    """
    stated = {name: visible(str(value)) for name, value in query.items() if value}
    return f"{ROOT.get()}/?{urlencode(stated)}" if stated else f"{ROOT.get()}/"
