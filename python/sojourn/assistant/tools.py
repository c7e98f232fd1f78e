"""What an assistant may ask: each gives a table of bounded size."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.assistant import queried
from sojourn.assistant.plain import Table, bounded
from sojourn.browse import choose, commands, entries, notes, records
from sojourn.browse.choose import Wanted
from sojourn.browse.curves import TIMES, Load
from sojourn.browse.entries import Entry
from sojourn.browse.index import Index
from sojourn.browse.records import Seen
from sojourn.errors import SpecFault, StoreFault
from sojourn.findings.findings import Findings
from sojourn.store import files
from sojourn.store.bounds import Bounds
from sojourn.store.lock import is_live
from sojourn.store.named import shown
from sojourn.text.plain_values import plain

RECORDS_MOST = 100
LOADS_MOST = 200
ROWS_MOST, CELLS_MOST = 200, 20_000  # of a query; a table of many columns has fewer rows
QUERY_S_MOST, QUERY_MEMORY_MOST = 30.0, "1GB"
WIDTH = 100  # columns of an answer as text
NS_PER_MS = 1e6
NEWEST = "newest"
_KNOWN = 4  # records whose findings are held in memory


class Tools:
    """The records of one folder. Each method is a tool; its text is what an assistant reads."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._index = Index(results)

    def list_records(  # noqa: PLR0917 - each is a named argument of the protocol
        self,
        q: str = "",
        study: str = "",
        state: str = "",
        verdict: str = "",
        machine: str = "",
        factor: str = "",
        since: str = "",
        until: str = "",
        limit: int = 20,
    ) -> Table:
        """List records, newest first: name, state, verdict and answer of each.

        Args:
            q: words that all stand in its name, answer or state.
            study: name of the study.
            state: complete, running, unfinished or unreadable.
            verdict: holds, violated, unknown or none.
            machine: name of the machine.
            factor: name of a factor that the record varies.
            since: first day, as 2026-11-26, in UTC.
            until: last day.
            limit: how many to list, at most 100.
        """
        wanted = Wanted(
            q=q,
            study=study,
            state=state,
            verdict=verdict,
            machine=machine,
            factor=factor,
            since=choose.day(since, "since"),
            until=choose.day(until, "until"),
        )
        fitting = choose.chosen(self._index.whole(), wanted)
        rows = fitting[: max(0, min(limit, RECORDS_MOST))]
        return {"count": len(fitting), "records": [_listed(entry) for entry in rows]}

    def answer(self, record: str = NEWEST) -> Table:
        """The answer of a record as `sojourn show` prints it, with its verdict.

        Args:
            record: its name from list_records, a part of it, or `newest`.
        """
        from sojourn import pipeline  # noqa: PLC0415 - a list needs no statistics

        path, name = self._record_of(record)
        findings = _findings(path)
        return {
            "record": shown(name),
            "verdict": str(findings.verdict),
            "state": findings.state.text,
            "is_being_measured": is_live(path),
            "text": bounded(pipeline.text_of(path, findings, WIDTH)),
        }

    def curve(self, record: str = NEWEST, service: str = "", condition: str = "") -> Table:
        """Latency against load: medians over the runs that count, in ms, with the extremes.

        "inf": requests that never completed decide it. Quote no number of a quantile that
        `too_few_requests_for` names: its runs have too few requests. A median that `at_most` names
        is an upper bound, because the client was late.

        Args:
            record: its name from list_records, a part of it, or `newest`.
            service: only this one.
            condition: only this one, such as `threads = 2`.
        """
        path, name = self._record_of(record)
        curves = [
            curve
            for curve in records.seen(path).curves
            if service in {"", curve.service, bounded(curve.service)}
            and condition in {"", curve.condition, bounded(curve.condition)}
        ]
        if not curves and (service or condition):
            known = "; ".join(curve.title for curve in records.seen(path).curves)
            fix = f"give one of {known[:500]}"
            raise StoreFault("there is no such curve", at=shown(name), fix=fix)
        rows = [
            {"service": curve.service, "condition": curve.condition, **_load(load)}
            for curve in curves
            for load in curve.loads
        ]
        return {
            "record": shown(name),
            "loads": rows[:LOADS_MOST],
            "left_out": max(0, len(rows) - LOADS_MOST),
        }

    def doubts(self, record: str = NEWEST) -> Table:
        """What speaks against a record's numbers, and why some runs do not count.

        Args:
            record: its name from list_records, a part of it, or `newest`.
        """
        from sojourn.questions import parts  # noqa: PLC0415 - a list needs no statistics
        from sojourn.report import doubts  # noqa: PLC0415
        from sojourn.report.parts import using  # noqa: PLC0415

        path, name = self._record_of(record)
        findings, seen = _findings(path), records.seen(path)
        with files.readable(path, entries.COPY), using(parts()):
            reasons = [bounded(one) for one in doubts.reasons(findings)[:ROWS_MOST]]
            of_services = doubts.of_services(findings)
        return {
            "record": shown(name),
            "points": len(seen.outcomes),
            "points_that_count": sum(one.is_believed for one in seen.outcomes),
            "reasons": reasons,
            "of_services": [
                {"what": one.what, "how_often": one.times} for one in of_services[:ROWS_MOST]
            ],
            "refused_runs": [
                {"reason": words, "runs": times, "what_helps": help_}
                for words, times, help_ in records.refused(seen.outcomes)
            ],
        }

    def next_commands(self, record: str = NEWEST) -> Table:
        """Commands to type next: what settles an open question, what shows or repeats it.

        Nothing is run here. A person runs them.

        Args:
            record: its name from list_records, a part of it, or `newest`.
        """
        path, name = self._record_of(record)
        entry, seen = entries.read(path, name), records.seen(path)
        rows = list(_settling(path, seen))
        if entry.command:
            is_open = entry.state != entries.COMPLETED and not is_live(path)
            what = "goes on with the study" if is_open else "measures it again"
            rows.append({"what": what, "command": entry.command})
        named = commands.of_record(self._results, name)
        rows += [{"what": what, "command": command} for what, command in named]
        return {"record": shown(name), "commands": rows}

    def sql(self, query: str) -> Table:
        """Query all runs with DuckDB's SQL; it only reads, and sees only the results.

        Tables: outcomes, points, resources, left_out. Times are in ns; null is infinite or not
        measured, and averages leave it out. A run decides nothing if its verdict is unknown or its
        course is not steady. `describe outcomes` names the columns. A query may take 30 s, with
        the reading of all records. At most 200 rows are shown, fewer of more than 100 columns:
        aggregate, or use LIMIT.

        Args:
            query: one SELECT.
        """
        bounds = Bounds(rows=ROWS_MOST + 1, seconds=QUERY_S_MOST, memory=QUERY_MEMORY_MOST)
        names, rows = queried.query(self._results, query, bounds)
        most = max(1, min(ROWS_MOST, CELLS_MOST // max(1, len(names))))
        return {"columns": names, "rows": rows[:most], "has_more": len(rows) > most}

    def read_note(self, record: str = NEWEST) -> Table:
        """What the user wrote about a record.

        Args:
            record: its name from list_records, a part of it, or `newest`.
        """
        _, name = self._record_of(record)
        return {"record": shown(name), "note": bounded(notes.load(name))}

    def write_note(self, record: str, text: str, before: str = "") -> Table:
        """Replace the user's note on a record.

        Args:
            record: its whole name from list_records.
            text: the whole note.
            before: the note that is there now, as read_note gives it; "" if there is none.
        """
        every = self._index.whole()
        name = next((one.name for one in every if record in {one.name, shown(one.name)}), None)
        if name is None:
            what = f"a note needs the whole name of a record, which '{record[:200]}' is not"
            raise SpecFault(what, at=str(self._results), fix="take the name from list_records")
        present = notes.load(name)
        if bounded(present) != before:
            what, fix = "another note is there now", "read it with read_note, and pass it as before"
            raise StoreFault(what, at=shown(name), fix=fix)
        notes.keep(name, text, seen=notes.version(present))
        return {"record": shown(name), "written": len(text)}

    def _record_of(self, text: str) -> tuple[Path, str]:
        """Folder and name of the record that is meant, the newest of several."""
        every = self._index.whole()
        fits = [one for one in every if text in {NEWEST, one.name, shown(one.name)}]
        fits = fits or [one for one in every if text and text in shown(one.name)]
        if not fits:
            known = ", ".join(shown(one.name) for one in every[:3]) or "none yet"
            raise SpecFault(
                f"there is no record '{text[:200]}'", at=str(self._results), fix=f"known: {known}"
            )
        name, path = records.named(self._results, fits[0].name)
        return path, name


def _listed(entry: Entry) -> Table:
    keys = ("started", "state", "verdict", "answered", "answer", "points")
    rest = {key: entry.table[key] for key in keys} | {"factors": list(entry.factors)}
    return {"name": shown(entry.name), **rest}


def _findings(path: Path) -> Findings:
    return _computed(path, records.mark(path))


@functools.lru_cache(maxsize=_KNOWN)
def _computed(path: Path, _mark: object) -> Findings:
    from sojourn import pipeline  # noqa: PLC0415 - a list needs no statistics

    return pipeline.findings_of(path)


def _settling(path: Path, seen: Seen) -> Sequence[Mapping[str, str]]:
    """The command that settles what is open, with the time that it takes."""
    from sojourn import pipeline, units  # noqa: PLC0415 - as above
    from sojourn.questions import parts  # noqa: PLC0415
    from sojourn.report import state  # noqa: PLC0415
    from sojourn.report.parts import using  # noqa: PLC0415

    if not seen.outcomes:
        return []
    with files.readable(path, pipeline.STRANGE), using(parts()):
        settle = state.settle(_findings(path))
    if settle is None:
        return []
    what = f"settles what is open, in about {units.show_s(settle.seconds)}"
    return [{"what": what, "command": settle.command}]


def _load(load: Load) -> Table:
    row = load.counts
    row["too_few_requests_for"] = [one.removesuffix("_ns") for one in load.lacking]
    row["at_most"] = [one.removesuffix("_ns") for one in load.at_most]
    for name in TIMES:
        key = name.removesuffix("_ns")
        middle, ends = load.middle(name), load.ends(name)
        row[f"{key}_ms"] = None if middle is None else plain(middle / NS_PER_MS)
        row[f"{key}_ms_from_to"] = None if ends is None else [plain(e / NS_PER_MS) for e in ends]
    return row
