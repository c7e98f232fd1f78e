"""What to type to see the runs behind a number, or to make it again.

Names in a record are a stranger's, so every word is quoted as a shell and SQL read it, and a name
that would look like another command is not put into one.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from sojourn.browse.curves import Curve, Load
from sojourn.visible import own_command

USUAL = "results"
COLUMNS = "key, verdict, offered_rps, p50_ns / 1e6 as p50_ms, p99_ns / 1e6 as p99_ms, folder"
KEYS_MOST = 12  # that a query names; more runs are asked for by their load


def of_runs(results: Path, name: str, curve: Curve, load: Load) -> str:
    """The query of the runs of a load; "" where a name cannot be typed."""
    record = name.rpartition("/")[2]
    where = f"record = {_text(record)} and service = {_text(curve.service)}"
    if len(load.runs) <= KEYS_MOST:
        keys = ", ".join(_text(one.point.key) for one in load.runs)
        where += f" and key in ({keys})"
    else:
        where += f" and point_rps = {load.rps!r}"
    return _typed("sql", *_in(results), _query(where))


def of_record(results: Path, name: str) -> Sequence[tuple[str, str]]:
    """(what it does, command) for one record."""
    record = name.rpartition("/")[2]
    query = _query(f"record = {_text(record)}")
    pairs = [
        ("the answer as text", _typed("show", *_in(results), record)),
        ("its report as a file", _typed("report", *_in(results), record)),
        ("all runs as a table", _typed("sql", *_in(results), query)),
    ]
    return [(what, command) for what, command in pairs if command]


def _query(where: str) -> str:
    """It is shown to be typed, and `sojourn sql` only reads."""
    return f"select {COLUMNS} from outcomes where {where}"  # noqa: S608 - see above


def _in(results: Path) -> list[str]:
    return [] if str(results) == USUAL else ["--results", str(results)]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _typed(*words: str) -> str:
    return own_command(shlex.join(["sojourn", *words]))
