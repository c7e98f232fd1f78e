"""Which address of the view shows what."""

from __future__ import annotations

import json
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sojourn.browse import notes
from sojourn.browse.index import Index
from sojourn.errors import Fault, StoreFault
from sojourn.view import dumps, listing, live, pages, record
from sojourn.view.following import Following, KeepOff
from sojourn.view.guard import Guard
from sojourn.visible import visible

RECORD = "/r/{study}/{machine}/{folder}"
NOTE_BYTES = 4 * notes.TEXT_BYTES  # of a request
NO_NOTE = notes.version("")  # what a save replaces that names no version


def app(results: Path, key: str, keep_off: KeepOff = lambda _cpus: None) -> Starlette:
    """The view of a folder of results.

    Args:
        results: folder of the records.
        key: without which nothing is answered.
        keep_off: keeps this process off the CPUs of a measurement that a page follows.
    """
    routes = [
        Route("/", listing.page),
        Route("/rows", listing.rows),
        Route("/records.json", listing.as_json),
        Route("/sides", record.side_by_side),
        Route("/dump/{name}", dumps.page),
        Route(RECORD, record.page),
        Route(f"{RECORD}/report", record.report),
        Route(f"{RECORD}/runs", record.runs),
        Route(f"{RECORD}/events", live.events),
        Route(f"{RECORD}/note", note, methods=["POST"]),
    ]
    made = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, key=key)],
        exception_handlers={Fault: _fault, 404: _absent},
    )
    made.router.redirect_slashes = False  # a redirect would lead to an address without the key
    made.state.results, made.state.index = results, Index(results)
    made.state.following = Following(keep_off)
    return made


async def note(request: Request) -> Response:
    """Keep what a person wrote about a record: the one thing that is written.

    A save names the version that its page showed, and replaces no other one.
    """
    name, _ = await run_in_threadpool(record.path_of, request)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > NOTE_BYTES:
            raise StoreFault("the note is too long", at=name, fix="shorten it")
    try:
        table = json.loads(body)
        text, version = table["text"], table.get("version", NO_NOTE)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        text = version = None
    if not isinstance(text, str) or not isinstance(version, str):
        raise StoreFault("this is no note", at=name, fix='send {"text": "…", "version": "…"}')
    await run_in_threadpool(notes.keep, name, text, version)
    return JSONResponse({"stored": len(text), "version": notes.version(text)})


def _fault(request: Request, fault: Exception) -> Response:
    """What, where, and how to fix it."""
    status = 404 if isinstance(fault, StoreFault) else 400
    if request.method == "POST" and isinstance(fault, Fault):
        words = {"what": fault.what, "at": fault.at, "fix": fault.fix}
        return JSONResponse({key: visible(text) for key, text in words.items()}, status)
    return pages.page("fault.html.j2", status=status, title="Error", fault=fault)


def _absent(request: Request, error: Exception) -> Response:
    del error
    fault = StoreFault("there is no such page", at=request.url.path, fix="begin at the list")
    return _fault(request, fault)
