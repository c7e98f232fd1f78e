"""A query of an assistant in a process of its own: the kernel bounds its memory.

    job on stdin ─► records, query ─► cells of bounded size on stdout

DuckDB's limit does not count what a single value takes (`store.within`). A process that gets no
more memory may also end without a word. Then the query took more than it may, and the server goes
on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sojourn import errors, store
from sojourn.assistant.plain import bounded, cell
from sojourn.errors import Fault, RunFault
from sojourn.store.bounds import Bounds, Time
from sojourn.store.sql import warm_up
from sojourn.store.within import within

START_S_MAX = 30.0  # on a machine that is very busy
TEXT_BYTES_MOST = 32 << 20  # of an answer
#: Runs the package that this process is of, with whatever it imports.
THIS = (
    "import json, sys; job = json.load(sys.stdin); sys.path[:] = job['path']; "
    "from sojourn.assistant.queried import answer; answer(job)"
)
AT = "sojourn sql"
MUCH = "the query takes more memory than it may have"
LESS = "select fewer rows and columns, or aggregate them"


def query(results: Path, statement: str, bounds: Bounds) -> tuple[list[str], list[list[object]]]:
    """Column names and rows, each value as `cell` has it.

    Args:
        results: folder of the records.
        statement: in SQL.
        bounds: what it may take.

    Raises:
        Fault: as `store.query` has it.
    """
    job = {
        "path": sys.path,
        "results": os.fsdecode(results.absolute()),
        "statement": statement,
        "bounds": asdict(bounds),
    }
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", THIS],
            input=json.dumps(job).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=bounds.seconds + START_S_MAX,
            check=False,
        )
        result = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise Time(bounds.seconds).fault from None
    except ValueError:  # it ended without an answer
        raise RunFault(MUCH, at=AT, fix=LESS) from None
    if "fault" in result:
        raise getattr(errors, result["fault"])(result["what"], at=result["at"], fix=result["fix"])
    return result["columns"], result["rows"]


def answer(job: Mapping[str, Any]) -> None:
    """Write the answer of a query, or why there is none; in the process of its own."""
    try:
        text = json.dumps(_answer(job))
    except Fault as fault:
        kind = next(one for one in type(fault).__mro__ if hasattr(errors, one.__name__))
        words = {"what": fault.what, "at": fault.at, "fix": fault.fix}
        text = json.dumps({"fault": kind.__name__, **words})
    sys.stdout.write(text)


def _answer(job: Mapping[str, Any]) -> dict[str, object]:
    bounds = Bounds(**job["bounds"])
    warm_up(bounds)
    try:
        with within(bounds.bytes):
            names, rows = store.query(
                Path(job["results"]),
                job["statement"],
                on_fault=lambda _path, _fault: None,
                bounds=bounds,
            )
            cells = [[cell(one) for one in row] for row in rows]
            columns = [bounded(name) for name in names]
    except (MemoryError, RuntimeError):  # RuntimeError: no thread can be started
        raise RunFault(MUCH, at=AT, fix=LESS) from None
    every = [*columns, *(one for row in cells for one in row)]
    if sum(len(str(one)) for one in every) > TEXT_BYTES_MOST:
        raise RunFault("the answer is too long", at=AT, fix=LESS)
    return {"columns": columns, "rows": cells}
