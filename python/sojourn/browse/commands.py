"""What to type to see the runs behind a number, or to make it again.

Names in a record are a stranger's, so every word is quoted as a shell and SQL read it, and a name
that would look like another command is not put into one.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from sojourn.browse.curves import Curve, Load
from sojourn.plan.points import Course, Outcome, Verdict
from sojourn.plan.setting import level_text
from sojourn.store.named import FROM, shown
from sojourn.visible import own_command

USUAL = "results"
#: The verdict is the page's: a run that was not steady decides nothing.
_VERDICT = f"case when course <> '{Course.STEADY}' then '{Verdict.UNKNOWN}' else verdict end"
COLUMNS = (
    f"key, {_VERDICT} as verdict, "
    "offered_rps, p50_ns / 1e6 as p50_ms, p99_ns / 1e6 as p99_ms, folder"
)
KEYS_MOST = 12  # that a query names; more runs are asked for by what they were measured under


def of_runs(results: Path, name: str, curve: Curve, load: Load) -> str:
    """The query of the runs of a load, and of no others; "" where a name cannot be typed."""
    where = f"{_of(name)} and service = {_text(curve.service)}"
    if len(load.runs) <= KEYS_MOST:
        keys = ", ".join(_text(one.point.key) for one in load.runs)
        where += f" and key in ({keys})"
    else:
        alike = " or ".join(dict.fromkeys(map(_measured, load.runs)))
        where += f" and point_rps = {_double(load.rps)} and ({alike})"
    return _typed("sql", *_in(results), _query(where))


def of_record(results: Path, name: str) -> Sequence[tuple[str, str]]:
    """(what it does, command) for one record."""
    record = shown(name)
    words = ["--", record] if record.startswith("-") else [record]  # else it would be an option
    pairs = [
        ("the answer as text", _typed("show", *_in(results), *words)),
        ("its report as a file", _typed("report", *_in(results), *words)),
        ("all runs as a table", _typed("sql", *_in(results), _query(_of(name)))),
    ]
    return [(what, command) for what, command in pairs if command]


def _of(name: str) -> str:
    """Rows of a record and of no copy of it, which has the same folder in another one."""
    parts = zip(FROM, shown(name).split("/"), strict=True)
    return " and ".join(f"{column} = {_text(text)}" for column, text in parts)


def _measured(run: Outcome) -> str:
    """Rows of the same phase and setting: those have the same condition."""
    setting = run.point.setting
    levels = [f"setting[{_text(name)}] = {_text(level_text(setting[name]))}" for name in setting]
    phase, size = _text(str(run.point.phase)), len(levels)
    each = [f"phase = {phase}", f"len(map_entries(setting)) = {size}", *levels]
    return f"({' and '.join(each)})"


def _double(value: float) -> str:
    """A number that SQL reads to its last bit: one without an exponent would be a decimal."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _query(where: str) -> str:
    """It is shown to be typed, and `sojourn sql` only reads."""
    return f"select {COLUMNS} from outcomes where {where}"  # noqa: S608 - see above


def _in(results: Path) -> list[str]:
    return [] if str(results) == USUAL else ["--results", str(results)]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _typed(*words: str) -> str:
    return own_command(shlex.join(["sojourn", *words]))
