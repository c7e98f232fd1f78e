"""The list of records: search, filters, a page of rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sojourn.browse import choose, notes
from sojourn.browse.choose import Wanted
from sojourn.browse.index import Index
from sojourn.view import dumps, links, pages
from sojourn.visible import visible

ROWS = 50
WORD_MOST = 200
_NAMES = [one.name for one in fields(Wanted)]


def page(request: Request) -> Response:
    """The page with search, filters and rows."""
    lying = dumps.listed(request.app.state.results)
    return pages.page("list.html.j2", **_values(request), dumps=lying, title="Records")


def rows(request: Request) -> Response:
    """The rows alone, for a search that is typed."""
    return HTMLResponse(pages.fragment("rows.html.j2", **_values(request)))


def as_json(request: Request) -> Response:
    """The rows as JSON, for scripts."""
    values = _values(request)
    rows = [entry.table for entry in values["entries"]]
    text = json.dumps({"count": values["count"], "records": rows})  # any name, in plain letters
    return Response(text, media_type="application/json")


def _values(request: Request) -> dict[str, Any]:
    index: Index = request.app.state.index
    look = index.look()
    facets = choose.facets(look.entries)
    wanted = _wanted(request, facets)
    fitting = choose.chosen(look.entries, wanted)
    at = max(0, min(_number(request.query_params.get("page", "")), (len(fitting) - 1) // ROWS))
    shown = fitting[at * ROWS : (at + 1) * ROWS]
    query = asdict(wanted)
    return {
        "results": str(request.app.state.results),
        "entries": shown,
        "noted": {entry.name for entry in shown if notes.load(entry.name)},
        "count": len(fitting),
        "total": len(look.entries),
        "pending": look.pending,
        "wanted": wanted,
        "facets": facets,
        "first": at * ROWS,
        "before": links.listing(**query, page=at - 1) if at > 1 else links.listing(**query),
        "after": links.listing(**query, page=at + 1),
        "has_before": at > 0,
        "has_after": (at + 1) * ROWS < len(fitting),
    }


def _wanted(request: Request, facets: Mapping[str, Sequence[tuple[str, int]]]) -> Wanted:
    """What the address asks for; a page spells letters that would turn or hide others."""
    words = {name: request.query_params.get(name, "")[:WORD_MOST] for name in _NAMES}
    for name, values in facets.items():
        spelled = {visible(text)[:WORD_MOST]: text for text, _ in values}
        words[name] = spelled.get(words[name], words[name])
    for name in ("since", "until"):
        words[name] = choose.day(words[name], name)
    if words["order"] not in choose.ORDERS:
        words["order"] = choose.ORDERS[0]
    return Wanted(**words)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0
