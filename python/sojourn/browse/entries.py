"""One record in short: what a list of ten thousand shows of each.

Its words are cut and its curve has few points, because all entries are held in memory. A record may
have come from anywhere, so whatever in it has another form than the lab's counts as absent.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import disk
from sojourn.browse.curves import LOADS, OWN
from sojourn.errors import Fault
from sojourn.plan.points import Course, Verdict
from sojourn.store.files import DAMAGE
from sojourn.store.named import MANIFEST_BYTES, began
from sojourn.visible import in_line, own_command

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST, ANSWER, COMPLETE, POINTS = "manifest.json", "answer.json", "complete.json", "points"
COPY = "outcomes.parquet"
COMPLETED, RUNNING, UNFINISHED = "complete", "running", "unfinished"
UNREADABLE = "unreadable"  # how the state of one begins that cannot be read
TABLE_BYTES, ROWS = 64 * 1024**2, 100_000
ANSWER_MOST, WORD_MOST, FACTORS_MOST = 320, 80, 12
SPARKS, SCALE = 16, 100  # points of a curve in short, and the side of their square
_SPARKED = ("service", "phase", "setting", "point_rps", "p99_ns", "verdict", "course")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A record of a list.

    Attributes:
        name: study, machine and folder below the folder of results, with slashes.
        started: UTC, ISO 8601; "" if unknown.
        state: `COMPLETED`, `RUNNING`, `UNFINISHED`, or why it cannot be read.
        verdict, answer, answered: of its newest report; "" if there is none.
        points: that count: those with an outcome.
        factors: names of what it varies, the load left out.
        spark: p99 against load of its first service, each from 0 to `SCALE`, loads ascending.
        command: that made it; "" if it is not one of the lab's.
        is_read: False for one of which only the name is known so far.
    """

    name: str
    started: str = ""
    state: str = ""
    verdict: str = ""
    answer: str = ""
    answered: str = ""
    points: int = 0
    factors: tuple[str, ...] = ()
    spark: tuple[tuple[int, int], ...] = ()
    command: str = ""
    is_read: bool = True

    @property
    def study(self) -> str:
        """Name of its study, the first folder."""
        return self.name.split("/")[0]

    @property
    def machine(self) -> str:
        """Name of its machine, the second folder."""
        return self.name.split("/")[1]

    @property
    def folder(self) -> str:
        """The last part of its name, which begins with its time."""
        return self.name.split("/")[2]

    @property
    def day(self) -> str:
        """When it began, UTC, as `2026-11-26`; "" if neither folder nor manifest says it."""
        at = began(self.folder, self.started)
        return f"{at[:4]}-{at[4:6]}-{at[6:8]}" if at else ""

    @property
    def is_readable(self) -> bool:
        """Whether its manifest could be read; why not may pass, so it is looked at again."""
        return not self.state.startswith(UNREADABLE)

    @property
    def table(self) -> dict[str, Any]:
        """Its fields as JSON has them."""
        return asdict(self)

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Entry:
        """The entry of which `table` gave the fields."""
        own = dict(table)
        own["factors"] = tuple(own["factors"])
        own["spark"] = tuple((int(x), int(y)) for x, y in own["spark"])
        return cls(**own)


def read(path: Path, name: str, *, is_listed: bool = True) -> Entry:
    """A record's entry; what is damaged is absent, and `state` says so.

    Args:
        path: the record's folder.
        name: study, machine and folder.
        is_listed: read its outcomes, too: without them it has no points, no factors and no curve.
    """
    try:
        manifest = disk.read_json(path / MANIFEST, most=MANIFEST_BYTES)
        started = _word(manifest.get("started"))
        command = own_command(str(manifest.get("command", "")))
    except (OSError, ValueError, AttributeError, Fault) as error:
        why = error.what if isinstance(error, Fault) else str(error)
        return Entry(name=name, state=f"{UNREADABLE}: {_word(why)}")
    answer = _answer(path)
    factors, spark = _measured(path) if is_listed else ((), ())
    return Entry(
        name=name,
        started=started,
        state=COMPLETED if disk.is_plain(path / COMPLETE) else UNFINISHED,
        verdict=_word(answer.get("verdict")),
        answer=_cut(answer.get("answer"), ANSWER_MOST),
        answered=_word(answer.get("state")),
        points=_count(path) if is_listed else 0,
        factors=factors,
        spark=spark,
        command=_cut(command, ANSWER_MOST) if len(command) <= ANSWER_MOST else "",
    )


def _answer(path: Path) -> Mapping[str, Any]:
    try:
        table = disk.read_json(path / ANSWER, most=MANIFEST_BYTES)
    except (OSError, ValueError, Fault):
        return {}
    return table if isinstance(table, dict) else {}


def _word(value: object) -> str:
    return _cut(value, WORD_MOST)


def _cut(value: object, most: int) -> str:
    text = in_line(value) if isinstance(value, str) else ""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _count(path: Path) -> int:
    """How many points have an outcome: the copy of all outcomes may be older than the newest."""
    from sojourn.store.index import counted  # noqa: PLC0415 - it loads what reads columns

    try:
        return counted(path)
    except (OSError, Fault, *DAMAGE):
        return 0


def _measured(path: Path) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """Factors and the curve in short, from the copy of all outcomes."""
    import pyarrow as pa  # noqa: PLC0415 - commands that list nothing start without it

    damage = (OSError, ValueError, TypeError, LookupError, ArithmeticError, pa.ArrowException)
    try:
        table = disk.read_columns(
            path / COPY, rows=ROWS, values=10 * ROWS, columns=_SPARKED, most=TABLE_BYTES
        )
        return factors(table), spark(table)
    except (*damage, Fault):
        return (), ()


def factors(table: pa.Table) -> tuple[str, ...]:
    """Names of the factors that have several levels."""
    levels: dict[str, set[str]] = {}
    for setting in table["setting"].to_pylist():
        for name, level in setting or ():
            levels.setdefault(str(name), set()).add(str(level))
    names = sorted(n for n, seen in levels.items() if len(seen) > 1 and n not in LOADS)
    return tuple(_word(name) for name in names[:FACTORS_MOST])


def spark(table: pa.Table) -> tuple[tuple[int, int], ...]:
    """p99 (on a logarithmic axis) against load, of believed runs of the condition with most."""
    rows = zip(*(table[name].to_pylist() for name in _SPARKED), strict=True)
    conditions: dict[tuple[object, ...], list[tuple[float, float]]] = {}
    for service, phase, setting, rps, p99_ns, verdict, course in rows:
        is_believed = verdict != Verdict.UNKNOWN and (course or Course.STEADY) == Course.STEADY
        is_drawn = is_believed and phase not in OWN
        ns = math.inf if p99_ns is None else float(p99_ns)  # lost requests decide it
        if is_drawn and _is_positive(rps) and ns > 0:
            levels = tuple(pair for pair in setting or () if pair[0] not in LOADS)
            conditions.setdefault((service, *levels), []).append((float(rps), ns))
    by_load: dict[float, list[float]] = {}
    for rps, p99_ns in max(conditions.values(), key=len, default=[]):
        by_load.setdefault(rps, []).append(p99_ns)
    middles = {load: statistics.median(seen) for load, seen in by_load.items()}
    curve = [(load, math.log(ns)) for load, ns in sorted(middles.items()) if ns < math.inf]
    if len(curve) < 2:
        return ()
    if len(curve) > SPARKS:
        curve = [curve[round(at * (len(curve) - 1) / (SPARKS - 1))] for at in range(SPARKS)]
    top, low = curve[-1][0], min(y for _, y in curve)
    span = max(max(y for _, y in curve) - low, math.log(2.0))  # what is nearly level looks so
    return tuple((round(SCALE * x / top), round(SCALE * (y - low) / span)) for x, y in curve)


def _is_positive(value: float | None) -> bool:
    return value is not None and 0 < value < math.inf
