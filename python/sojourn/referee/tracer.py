"""A trace of all requests of a server, while somebody else's load runs.

Two hooks for each request give its times, which is all that a judgement needs. A whole trace
matches each segment and costs far more. It is for uploads, because their requests come in many
pieces.
"""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from pathlib import Path

from sojourn import programs
from sojourn.actors.probes.trace import await_begin, has_begun
from sojourn.disk import foreign
from sojourn.errors import RunFault
from sojourn.places import process
from sojourn.referee import requests
from sojourn.referee.judgement import Loss
from sojourn.referee.requests import Requests
from sojourn.referee.target import TRACER

RECORDS, RESULT, LOG = "records.parquet", "trace.json", "trace.log"
WHOLE = "--whole"  # of `sojourn judge`
LONGEST = "6h"  # it is ended by a signal long before
END_S_MAX = 120.0  # it writes all records at its end
AFTER_S = 0.2  # replies that are still on their way
UNMATCHED = "cannot be matched one by one"
OWN_NOTE = "every request pays for hooks"  # known, and stated by the referee itself
MARKS = 20  # texts of a trace that are shown
SILENT = ("it is in doubt, and does not say why",)


class NoLedger:
    """Nothing is noted: the warden ends the tracer with this program."""

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        """Note nothing, and give no number."""
        del what, pid, start_ticks
        return 0

    def undone(self, entry: int) -> None:
        """Note nothing: nothing was noted."""
        del entry


class Tracer:
    """`sojourn-trace` of all requests to one port of a server."""

    def __init__(
        self, pid: int, port: int, folder: Path, ring: str, *, is_whole: bool = False
    ) -> None:
        """Of a process and its port; `folder` takes the files, `ring` is a size as "64MiB"."""
        self._folder, self._is_whole = folder, is_whole
        records = ("--records", RECORDS, "--worst", "0") if is_whole else ("--times", RECORDS)
        self._argv = (
            str(programs.find(TRACER)),
            *("--pid", str(pid), "--port", str(port), "--duration", LONGEST),
            *records,
            *("--json", RESULT, "--buffer", ring),
        )
        self._process: process.Process | None = None

    def begin(self) -> None:
        """Attach.

        Raises:
            RunFault: the tracer refuses; its words say why.
        """
        self._process = process.start(
            TRACER,
            self._argv,
            cwd=self._folder,
            ledger=NoLedger(),
            log=self._folder / LOG,
            has_stderr_pipe=True,
        )
        assert self._process.stderr is not None  # noqa: S101  # it was asked for
        text = await_begin(self._process.stderr)
        if not has_begun(text):
            self._process.stop()
            raise RunFault(
                f"the tracer does not begin: {text.strip() or 'without a word'}",
                at=TRACER,
                fix="docs/howto/trace.md says what it needs"
                + ("" if self._is_whole else f"; on Linux before 6.3 add {WHOLE}"),
            )

    def end(self) -> tuple[Requests, Loss]:
        """Detach, and read what came.

        Raises:
            RunFault: it wrote nothing.
        """
        if self._process is None:
            raise RunFault("the trace did not begin", at=TRACER, fix="begin it first")
        time.sleep(AFTER_S)
        self._process.stop(term_s=END_S_MAX, first=signal.SIGINT)
        result = self._folder / RESULT
        try:
            loss = loss_of(foreign.read_json(result))
        except (OSError, ValueError) as error:
            raise RunFault(
                f"the tracer wrote no result: {error}",
                at=str(result),
                fix="is there room in the folder for temporary files?",
            ) from error
        if not self._is_whole and any(UNMATCHED in reason for reason in loss.unknown):
            doubt = f"for uploads in many segments, add {WHOLE}"
            loss = replace(loss, doubts=(doubt, *loss.doubts))
        return requests.read(self._folder / RECORDS), loss

    def kill(self) -> None:
        """End it without a result."""
        if self._process is not None:
            self._process.stop(term_s=1.0)


def loss_of(result: object) -> Loss:
    """What a trace says of itself; a result that says nothing is no trace.

    Raises:
        ValueError: it is no result of a trace.
    """
    verdict = result.get("verdict") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(verdict, dict):
        raise ValueError("it is no result of a trace")  # noqa: TRY004 - a damaged file
    reasons = () if verdict.get("verdict") == "holds" else _texts(verdict.get("reasons")) or SILENT
    dropped = result.get("dropped")
    doubts = tuple(one for one in _texts(result.get("warnings")) if OWN_NOTE not in one)
    if isinstance(dropped, int) and dropped > 0:
        doubts = (f"{dropped:,} records found no room: give a larger --ring.", *doubts)
    return Loss(unknown=tuple(f"trace: {one}" for one in reasons), doubts=doubts)


def _texts(value: object) -> tuple[str, ...]:
    some = value[:MARKS] if isinstance(value, list) else []
    return tuple(one for one in some if isinstance(one, str))
