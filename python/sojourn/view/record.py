"""One record, its runs, and several records on one scale."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sojourn.browse import commands, entries, notes, records
from sojourn.browse.entries import Entry
from sojourn.errors import SpecFault, StoreFault
from sojourn.store import files, index
from sojourn.store.lock import is_live
from sojourn.store.record import OF_RECORD
from sojourn.view import links, pages, plot, reports
from sojourn.visible import in_line, visible

RECORDS_MOST = 8  # side by side
RUNS_MOST = 500  # of a table
QUERIES_MOST = 3  # one for each load
CURVES_MOST = 40  # of a page
COPIES_MOST = 20  # named; `sojourn ls` names all
LINES_MOST = 60  # loads of a table; the query has all
MARKS = ("\u061c", "\u200e", "\u200f")  # of direction, each of one place
_MARK = re.compile(f"([{''.join(MARKS)}])")


def path_of(request: Request) -> tuple[str, Path]:
    """Name and folder of the record that an address means.

    Raises:
        StoreFault: there is none.
    """
    parts = [str(request.path_params[key]) for key in ("study", "machine", "folder")]
    return records.named(request.app.state.results, "/".join(parts))


def page(request: Request) -> Response:
    """A record: its answer, its curves, what to type, its report."""
    name, path = path_of(request)
    note = notes.load(name)
    with files.readable(path, OF_RECORD):  # numbers of a record are what its maker wrote
        return pages.page(
            "record.html.j2",
            title=name,
            **parts(name, path, records.seen(path)),
            commands=commands.of_record(request.app.state.results, name),
            note=_editable(note),
            note_version=notes.version(note),
        )


def _editable(note: str) -> Markup:
    """A note as it may be saved again: single marks of direction stay, which some scripts need.

    What turns or hides other letters is spelled, because an assistant may have written it.
    """
    parts = (one if one in MARKS else escape(visible(one)) for one in _MARK.split(note))
    return Markup().join(parts)


def _entry(path: Path, name: str) -> Entry:
    """Without what only the list shows: a page that follows a study asks after each point."""
    return entries.read(path, name, is_listed=False)


def parts(name: str, path: Path, known: records.Seen) -> dict[str, Any]:
    """What the page says of a record: those parts that change while it is measured."""
    copied = [in_line(one) for one in index.copies(path, len(known.outcomes))]
    return {
        "entry": _entry(path, name),
        "copies": copied[:COPIES_MOST],
        "copies_more": max(0, len(copied) - COPIES_MOST),
        "study": known.record.study,
        "is_live": is_live(path),
        "is_followed": False,
        "now": "",
        "searches": (),
        "log": (),
        "plots": plots([(name, known)]),
        "loads": [(curve, curve.loads[:LINES_MOST]) for curve in known.curves[:CURVES_MOST]],
        "more": max(0, len(known.curves) - CURVES_MOST),
        "refused": records.refused(known.outcomes),
        "valid": sum(one.is_believed for one in known.outcomes),
        "count": len(known.outcomes),
    }


def plots(sides: Sequence[tuple[str, records.Seen]]) -> list[plot.Plot]:
    """A picture a service: its curves in all records, on one scale.

    A picture has few curves, so the records take turns: none is absent because of another one's.
    """
    lines: dict[str, dict[str, list[plot.Line]]] = {}
    for at, (name, known) in enumerate(sides):
        mark = f"{chr(ord('A') + at)} " if len(sides) > 1 else ""
        for curve in known.curves:
            called = f"{mark}{curve.condition or curve.service}"
            line = plot.Line(called, curve, links.runs(name, curve))
            lines.setdefault(curve.service, {}).setdefault(name, []).append(line)
    made = (plot.plot(service, _in_turn(one.values())) for service, one in lines.items())
    return [one for one in made if one]


def _in_turn(groups: Iterable[Sequence[plot.Line]]) -> list[plot.Line]:
    return [line for turn in itertools.zip_longest(*groups) for line in turn if line is not None]


def runs(request: Request) -> Response:
    """The runs behind a number, its query, and the command that makes it again."""
    name, path = path_of(request)
    known = records.seen(path)
    asked = request.query_params
    wanted = (asked.get("service", ""), asked.get("condition", ""))
    curve = next((c for c in known.curves if (c.service, c.condition) == wanted), None)
    loads = [
        load
        for load in (curve.loads if curve else ())
        if asked.get("rps") in {None, repr(load.rps)}
    ]
    if curve is None or not loads:
        raise StoreFault("there are no such runs", at=name, fix="open the record and choose a load")
    results = request.app.state.results
    rows = [run for load in loads for run in load.runs]
    queries = (commands.of_runs(results, name, curve, load) for load in loads[:QUERIES_MOST])
    with files.readable(path, OF_RECORD):
        return pages.page(
            "runs.html.j2",
            title=f"Runs of {curve.title}",
            name=name,
            curve=curve,
            loads=loads,
            runs=rows[:RUNS_MOST],
            count=len(rows),
            refusals=records.refusals,
            queries=[query for query in queries if query],
            command=_entry(path, name).command,
            results=path,
        )


def side_by_side(request: Request) -> Response:
    """Up to eight records on one scale."""
    names = list(dict.fromkeys(map(links.unquoted, request.query_params.getlist("r"))))
    if not names:
        raise SpecFault("no record is chosen", at="/sides", fix="tick records in the list")
    if len(names) > RECORDS_MOST:
        fix = "leave some out"
        raise SpecFault(f"more than {RECORDS_MOST} records are chosen", at="/sides", fix=fix)
    chosen = [records.named(request.app.state.results, name) for name in names]
    known = [(name, records.seen(path)) for name, path in chosen]
    sides = [
        (chr(ord("A") + at), _entry(path, name), one)
        for at, ((name, path), (_, one)) in enumerate(zip(chosen, known, strict=True))
    ]
    with files.readable(request.app.state.results, OF_RECORD):
        return pages.page(
            "sides.html.j2",
            title="Records on one scale",
            plots=plots(known),
            sides=sides,
            curves_most=CURVES_MOST,
            lines_most=LINES_MOST,
        )


def report(request: Request) -> Response:
    """The report of a record, with its own policy."""
    _, path = path_of(request)
    text, policy = reports.page(path)
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})
