"""A record while it is measured: what its files say, each time when they change."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sojourn import disk
from sojourn.browse import curves, narrowing, records
from sojourn.browse.words import load_words
from sojourn.errors import Fault
from sojourn.plan import Outcome
from sojourn.store import files
from sojourn.store.record import OF_RECORD
from sojourn.view import changes, pages, plot, record
from sojourn.view.following import Following, Wanted, changed

LAST = 12  # points of the log
STREAMS_MOST = 4  # pages that wait at once: of one server a browser opens six connections
FULL = f"This page is not up to date: {STREAMS_MOST} other pages follow a study. Hide or close one."
POINT_BYTES = 1024**2


async def events(request: Request) -> Response:
    """Server-sent events: what changed of the page after each change of the record's files.

    `view` has changes of the lines of the page's parts, the first one all lines, and `end` comes
    after the last one. `full` comes instead of them, with a sentence, where too many pages wait: a
    browser shows no page of an error here.
    """
    name, path = await run_in_threadpool(record.path_of, request)
    all_pages: Following = request.app.state.following
    is_full = all_pages.pages >= STREAMS_MOST
    parts = _full() if is_full else _stream(all_pages, name, path)
    head = {"Content-Security-Policy": pages.policy()}
    return StreamingResponse(parts, media_type="text/event-stream", headers=head)


async def _full() -> AsyncIterator[str]:
    yield _event("full", FULL)


async def _stream(all_pages: Following, name: str, path: Path) -> AsyncIterator[str]:
    steps: narrowing.Steps = {}
    with all_pages.joined(name, path, functools.partial(view, steps=steps)) as follower:
        await follower.renew(is_asked=True)
        seen: Sequence[str] = ()
        while True:
            turn, lines = follower.turn, follower.lines
            if lines is seen:
                yield ": nothing new\n\n"  # a page that was closed is noticed
            else:
                yield _event("view", changed(seen, lines))
                seen = lines
            if follower.has_ended:
                yield _event("end", "")
                return
            await follower.next(turn)


def _event(kind: str, content: object) -> str:
    return f"event: {kind}\ndata: {json.dumps(content)}\n\n"


def view(name: str, path: Path, is_wanted: Wanted, *, steps: narrowing.Steps) -> str | None:
    """The parts of the page that change, as HTML; None once it is wanted no longer."""
    try:
        with files.readable(path, OF_RECORD):  # numbers of a record are what its maker wrote
            return _view(name, path, is_wanted, steps)
    except Fault as fault:
        return pages.fragment("fault_part.html.j2", fault=fault)


def _view(name: str, path: Path, is_wanted: Wanted, steps: narrowing.Steps) -> str | None:
    known = records.seen(path)
    if not is_wanted():
        return None
    searches = narrowing.of(known.record.study_here, known.outcomes, steps)
    if not is_wanted():
        return None
    more = {
        "is_followed": True,
        "now": _now(path),
        "searches": [plot.narrowing(called, several) for called, several in searches.items()],
        "log": [_row(outcome) for outcome in reversed(known.outcomes[-LAST:])],
    }
    return pages.fragment("parts.html.j2", **{**record.parts(name, path, known), **more})


def _row(outcome: Outcome) -> tuple[str, str, str, str]:
    """What was measured, its p99, the verdict, and why it does not count."""
    point = outcome.point
    what = f"{point.service} {point.phase} {load_words(point).strip()}"
    p99 = curves.cell(outcome, "p99_ns")
    verdict = str(outcome.verdict) if outcome.is_believed else "unknown"
    return what, p99, verdict, "; ".join(records.refusals(outcome))


def _now(path: Path) -> str:
    """The point that is being measured; "" if none is."""
    last = changes.newest(path)
    if last is None or disk.is_plain(last / "outcome.parquet"):
        return ""
    try:
        table = disk.read_json(last / "point.json", most=POINT_BYTES)
        return str(table["key"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
