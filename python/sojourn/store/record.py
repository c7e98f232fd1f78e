"""One run of a study on disk, append-only.

    results/<study>/<machine>/<UTC start>-<id>/
        study.toml        resolved; reproduces the run
        manifest.json     version, machine, environment, command (M25)
        lock              who writes into it
        points/0007-memcached-sweep-b0-load-0.7/
            point.json  load.json  load.hlog  raw.parquet  …     written by the run
            outcome.parquet                                      written last: the point counts
        resumed-….json    what was known of the machine when the run went on, and by which version
        complete.json     written at the end
        outcomes.parquet  a copy of all outcomes, so that one file is read (`index`)
        left_out.json     combinations of levels without an answer, and why
        answer.json       verdict, state, headline of its newest report: lists need no analysis

A point without `outcome.parquet` was in flight when its run was killed; it is ignored and measured
again in a folder of its own. So is one that failed when its study is resumed: `failed.parquet`.

What reads and writes columns (pyarrow) is loaded where that is done: lists of records need none.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from sojourn import __version__, disk, spec
from sojourn.errors import StoreFault
from sojourn.plan import codec, left_out
from sojourn.plan.left_out import LeftOut
from sojourn.plan.points import Outcome, Point
from sojourn.samples.versioned import check_version, read_json
from sojourn.spec.text import STUDY_BYTES
from sojourn.store import files, resumption
from sojourn.store.named import MANIFEST, OUTCOME, POINTS, number

if TYPE_CHECKING:
    import pyarrow as pa

    from sojourn.spec.models import Study

FORM, MAJOR = "sojourn.record", 1
STUDY, COMPLETE = "study.toml", "complete.json"
ANSWER, LEFT_OUT = "answer.json", "left_out.json"
NAME_MAX = 120  # of a key in a folder's name; its number alone tells folders apart
SERVICE = "service.json"
ANEW = "remove this file: the next run writes it anew"
OF_RECORD = "the record is lost without this file: take it from a copy, or measure with --new"


class Record:
    """A record that is read. `study` and `outcomes()` say what was asked and what became of it."""

    def __init__(self, path: Path) -> None:
        """Open for reading; StoreFault if it is none, or of a newer version."""
        self.path = path
        self.manifest: Mapping[str, Any] = manifest_of(path)
        with files.readable(path / STUDY, OF_RECORD):
            self.study: Study = spec.load(path / STUDY, is_own=True)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to measure."""
        return (self.path / COMPLETE).is_file()

    @property
    def answer(self) -> Mapping[str, Any]:
        """`verdict`, `answer`, `state` of its newest report; empty if there was none."""
        return answer_of(self.path)

    @property
    def skipped(self) -> tuple[LeftOut, ...]:
        """Combinations that the machine could not host when the run last began."""
        left_outs = left_out_of(self.path)
        return tuple(one for one in left_outs if one.state == left_out.SKIPPED)

    def versions(self, points: int) -> Mapping[str, int]:
        """How many of its points, which are so many, each version of Sojourn has measured."""
        return resumption.versions(self.path, self.manifest, points)

    @property
    def study_here(self) -> Study:
        """The study without what was skipped: what is planned."""
        return left_out.without(self.study, self.skipped)

    @property
    def study_file(self) -> str:
        """Text of the resolved study, in TOML."""
        return disk.read_text(self.path / STUDY, most=STUDY_BYTES)

    @property
    def services(self) -> Mapping[str, Mapping[str, Any]]:
        """What served, by label: the first `service.json` of each."""
        results: dict[str, Mapping[str, Any]] = {}
        for outcome in self.outcomes():
            path = self.folder_of(outcome) / SERVICE
            if outcome.point.service not in results and path.is_file():
                results[outcome.point.service] = read_json(path)
        return results

    def outcomes(self) -> Sequence[Outcome]:
        """All points that were measured to the end, in order; StoreFault if one is damaged."""
        from sojourn.store import index  # noqa: PLC0415  # see above

        with files.readable(self.path, OF_RECORD):
            return outcomes_of(self.path, index.rows(self.path))

    def folder_of(self, outcome: Outcome) -> Path:
        """Where the files of a point lie; StoreFault if it names a folder elsewhere."""
        names = Path(outcome.folder).parts
        if len(names) != 2 or names[0] != POINTS or names[1] == "..":
            raise StoreFault(
                f"a point names the folder '{outcome.folder}', which is not in the record",
                at=str(self.path),
                fix="remove the record, or copy it again from where it was measured",
            )
        return self.path / POINTS / names[1]


class OpenRecord(Record):
    """A record that is being written; a context manager that holds its lock."""

    def __init__(self, path: Path, handle: IO[bytes]) -> None:
        from sojourn.store import index  # noqa: PLC0415  # see above

        super().__init__(path)
        self._lock = handle
        table = index.renewed(path)
        self._outcomes = outcomes_of(path, table)
        self._index = index.Writer(path, table)
        self._number = max(map(number, os.listdir(path / POINTS)), default=0)  # noqa: PTH208
        self.notes: tuple[str, ...] = ()  # what whoever measures should know of how it was opened

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._index.flush()
        finally:
            self._lock.close()

    def outcomes(self) -> Sequence[Outcome]:
        """All points so far, in order."""
        return tuple(self._outcomes)

    def folder(self, point: Point) -> Path:
        """A fresh folder for one point, with its `point.json`."""
        files.check_space(self.path)
        self._number += 1  # no one else makes folders here: the record is locked
        folder = self.path / POINTS / f"{self._number:04d}-{_plain(point.key)}"
        with files.disk_faults(folder):
            disk.make_folder(folder)
        files.write_text(folder / "point.json", codec.dumps(point))
        return folder

    def add(self, outcome: Outcome) -> Outcome:
        """Keep what became of a point; from now on it counts.

        `outcome.folder` is the point's folder; it is kept relative, so that records can be moved.
        """
        import pyarrow.parquet as pq  # noqa: PLC0415  # see above

        from sojourn.store import columns  # noqa: PLC0415

        folder = Path(outcome.folder)
        folder = self.path / POINTS / folder.name if not folder.is_absolute() else folder
        stored = replace(outcome, folder=str(Path(POINTS) / folder.name))
        table = columns.to_table(stored)
        files.write_whole(folder / OUTCOME, lambda file: pq.write_table(table, file))
        self._outcomes.append(stored)
        self._index.add(table, folder.name)
        return stored

    def set_aside(self, failed: Sequence[Outcome]) -> None:
        """No longer count points of which nothing was measured, so that they are measured again.

        Args:
            failed: some of its outcomes. Their files remain.
        """
        from sojourn.store import index  # noqa: PLC0415  # see above

        if not failed:
            return
        for outcome in failed:
            resumption.put_aside(self.folder_of(outcome))
        table = index.renewed(self.path)
        self._outcomes, self._index = outcomes_of(self.path, table), index.Writer(self.path, table)
        self.notes = (*self.notes, resumption.again_in_words(failed))

    def resumed(self, about: Mapping[str, Any]) -> None:
        """Note that the run goes on, and what is known of the machine now."""
        others = {v: n for v, n in self.versions(len(self._outcomes)).items() if v != __version__}
        resumption.note(self.path, about, len(self._outcomes))
        if others:
            text = f"{resumption.in_words(others)}; this is {__version__}"
            note = f"points of another version of Sojourn: {text}; --new measures all anew"
            self.notes = (*self.notes, note)

    def finish(self) -> None:
        """Say that nothing is left to measure."""
        self._index.flush()
        wall_s = sum(outcome.wall_s for outcome in self._outcomes)
        table = {"schema": "sojourn.complete/1", "points": len(self._outcomes), "wall_s": wall_s}
        files.write_text(self.path / COMPLETE, _text(table))


def manifest_of(path: Path) -> Mapping[str, Any]:
    """What a record says of itself; StoreFault if it is none, or cannot be read."""
    file = path / MANIFEST
    if not disk.is_plain(file):
        raise StoreFault(
            "this is not a record of a study", at=str(path), fix="see `sojourn ls` for records"
        )
    table = read_json(file, fix=OF_RECORD)
    check_version(table, FORM, MAJOR, at=file)
    if not isinstance(table.get("environment") or {}, dict):
        raise StoreFault("the file is damaged: no environment", at=str(file), fix=OF_RECORD)
    return table


def answer_of(path: Path) -> Mapping[str, Any]:
    """`verdict`, `answer`, `state` of a record's newest report; empty if there was none."""
    file = path / ANSWER
    return read_json(file, fix=ANEW) if file.is_file() else {}


def keep_left_out(path: Path, left: Iterable[LeftOut]) -> None:
    """Keep which combinations of levels have no answer, and why."""
    rows = [one.table for one in left]
    if rows or (path / LEFT_OUT).exists():
        files.write_text(path / LEFT_OUT, _text({"schema": "sojourn.left_out/1", "rows": rows}))


def left_out_of(path: Path) -> tuple[LeftOut, ...]:
    """What `keep_left_out` stored in a record; () where it kept nothing.

    Raises:
        StoreFault: it is damaged, or of a newer version.
    """
    file = path / LEFT_OUT
    if not file.is_file():
        return ()
    table = read_json(file, fix=ANEW)
    check_version(table, "sojourn.left_out", 1, at=file)
    try:
        return tuple(map(LeftOut.of, table["rows"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreFault(
            f"what was left out cannot be read: {error!r}",
            at=str(file),
            fix=ANEW,
        ) from None


def keep_answer(path: Path, verdict: str, answer: str, state: str = "") -> None:
    """Keep what a record's report says in short, and how far its question is answered."""
    table = {
        "schema": "sojourn.answer/1",
        "verdict": verdict,
        "answer": answer,
        "state": state,
    }
    files.write_text(path / ANSWER, _text(table))


def _text(table: Mapping[str, Any]) -> str:
    return json.dumps(table, indent=2) + "\n"


def outcomes_of(path: Path, table: pa.Table) -> list[Outcome]:
    """The outcomes of the rows of a record, as `index.rows` has them.

    Raises:
        StoreFault: a row is damaged.
    """
    from sojourn.store import columns, index  # noqa: PLC0415  # see above

    points = path / POINTS
    return [columns.outcome(row, points / row[index.AT] / OUTCOME) for row in table.to_pylist()]


def _plain(key: str) -> str:
    """A key as part of a folder's name, cut where a file system's names end.

    >>> _plain("memcached/sweep/b0/load=0.7~1")
    'memcached-sweep-b0-load-0.7~1'
    """
    return re.sub(r"[^A-Za-z0-9._~-]+", "-", key)[:NAME_MAX]
