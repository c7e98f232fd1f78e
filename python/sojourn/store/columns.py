"""`Outcome` ↔ one row of Parquet: a file per point, so that a point is kept whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from sojourn import disk, extras
from sojourn.errors import StoreFault
from sojourn.plan import codec, older
from sojourn.plan.points import Course, Misses, Outcome, Phase, Point, Verdict
from sojourn.plan.setting import Setting, level_of, level_text
from sojourn.samples.names import LOAD
from sojourn.store import arrow
from sojourn.store.files import DAMAGE

arrow.hide_pandas()

# Version 2: a point has a setting, and its key says no more than that.
FORM, MAJOR, OLDEST = "sojourn.outcome", 2, 1
VALUES = 10_000_000  # of a list in one row: sizes of clusters of misses
TABLE_BYTES = 256 * 1024**2

_MISSES = pa.struct(
    [("requests", pa.int64()), ("over", pa.int64()), ("clusters", pa.list_(pa.int64()))]
)
SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("service", pa.string()),
        ("phase", pa.string()),
        ("repeat", pa.int32()),
        ("fraction", pa.float64()),
        ("point_rps", pa.float64()),
        ("measure_s", pa.float64()),
        ("warmup_s", pa.float64()),
        ("seed", pa.int64()),
        ("overrides", pa.string()),
        ("verdict", pa.string()),
        ("reasons", pa.list_(pa.string())),
        ("offered_rps", pa.float64()),
        ("achieved_rps", pa.float64()),
        ("requests", pa.int64()),
        ("over_bound", pa.int64()),
        ("lost", pa.int64()),
        ("mean_ns", pa.float64()),
        ("p50_ns", pa.float64()),
        ("p95_ns", pa.float64()),
        ("p99_ns", pa.float64()),
        ("correlation", pa.float64()),
        ("wall_s", pa.float64()),
        ("folder", pa.string()),
        ("clusters", pa.list_(pa.int64())),
        ("undisturbed", _MISSES),
        ("over_surely", pa.int64()),
        ("shield", pa.string()),
        ("neighbour_per_s", pa.float64()),
        ("neighbour_of_alone", pa.float64()),
        ("course", pa.string()),
        ("setting", pa.map_(pa.string(), pa.string())),
        ("rules", pa.string()),
        ("cpu_ns", pa.float64()),
        ("p999_ns", pa.float64()),
        ("refused", pa.int64()),
        ("refused_with", pa.list_(pa.string())),
        ("used_cpus", pa.float64()),
        ("failed", pa.int64()),
    ],
    metadata={"schema": f"{FORM}/{MAJOR}"},
)

# fmt: off
_MEASURED = (
    "offered_rps", "achieved_rps", "requests", "over_bound", "lost", "mean_ns", "p50_ns",
    "p95_ns", "p99_ns", "correlation", "wall_s", "folder",
)
# fmt: on
_PLANNED = ("key", "service", "repeat", "fraction", "measure_s", "warmup_s", "seed")


def to_table(outcome: Outcome) -> pa.Table:
    """A table of one row, in the columns of `SCHEMA`."""
    point = outcome.point
    row: dict[str, Any] = {name: getattr(point, name) for name in _PLANNED}
    row |= {name: getattr(outcome, name) for name in _MEASURED}
    row |= {
        "phase": str(point.phase),
        "point_rps": point.offered_rps,
        "overrides": json.dumps(dict(point.overrides)),
        "verdict": str(outcome.verdict),
        "reasons": list(outcome.reasons),
        "clusters": list(outcome.clusters),
        "undisturbed": outcome.undisturbed and asdict(outcome.undisturbed),
        "over_surely": outcome.over_surely,
        "shield": outcome.shield,
        "neighbour_per_s": outcome.neighbour_per_s,
        "neighbour_of_alone": outcome.neighbour_of_alone,
        "course": str(outcome.course),
        "setting": as_map_rows(point.setting),
        "rules": json.dumps(codec.rules_json(point.rules)),
        "cpu_ns": outcome.cpu_ns,
        "p999_ns": outcome.p999_ns,
        "refused": outcome.refused,
        "refused_with": list(outcome.refused_with),
        "used_cpus": outcome.used_cpus,
        "failed": outcome.failed,
    }
    return pa.Table.from_pylist([row], schema=SCHEMA)


def read(path: Path) -> Outcome:
    """The outcome in one file.

    Raises:
        StoreFault: the file is damaged or of a newer version.
    """
    result = rows(path).to_pylist()
    return outcome(result[0] if result else {}, path)


def rows(path: Path) -> pa.Table:
    """One file as it is, its version checked: a table of one row.

    Raises:
        StoreFault: the file is damaged or of a newer version.
    """
    try:
        table = disk.read_columns(path, rows=1, values=VALUES, most=TABLE_BYTES)
    except (OSError, pa.ArrowException, ValueError) as error:
        raise StoreFault(f"cannot read: {error}", at=str(path), fix=_FIX) from None
    _check_version(table.schema.metadata or {}, path)
    return table


def outcome(row: dict[str, Any], path: Path) -> Outcome:
    """The outcome of a row that stands, or stood, in the file `path`.

    Raises:
        StoreFault: the row is damaged.
    """
    try:
        return _outcome(row, path.parent)
    except DAMAGE as error:
        raise StoreFault(f"the outcome is damaged: {error}", at=str(path), fix=_FIX) from None


_FIX = "remove this point's folder and run the study again: it resumes there"


def _check_version(metadata: Mapping[bytes, bytes], path: Path) -> None:
    name, _, version = metadata.get(b"schema", b"").decode(errors="replace").partition("/")
    if name != FORM or version.partition(".")[0] not in map(str, range(OLDEST, MAJOR + 1)):
        raise StoreFault(
            f"the outcome has form '{name}/{version}', this program reads {FORM}/{MAJOR}",
            at=str(path),
            fix=extras.UPDATE,
        )


def _outcome(row: dict[str, Any], folder: Path) -> Outcome:
    point = Point(
        **{name: row[name] for name in _PLANNED},
        phase=Phase(row["phase"]),
        setting=setting_of(row),
        offered_rps=row["point_rps"],
        overrides=tuple(json.loads(row["overrides"]).items()),
        rules=codec.rules_of(json.loads(row.get("rules") or "{}")),
    )
    return Outcome(
        point=point,
        verdict=Verdict(row["verdict"]),
        reasons=tuple(row["reasons"]),
        **{name: row[name] for name in _MEASURED},
        clusters=_clusters(row, folder),
        undisturbed=_misses(row.get("undisturbed")),
        over_surely=row.get("over_surely"),
        shield=row.get("shield") or "none",
        neighbour_per_s=row.get("neighbour_per_s"),
        neighbour_of_alone=row.get("neighbour_of_alone"),
        course=Course(row.get("course") or Course.STEADY),
        cpu_ns=row.get("cpu_ns"),
        p999_ns=row.get("p999_ns"),
        refused=row.get("refused") or 0,
        refused_with=tuple(row.get("refused_with") or ()),
        used_cpus=row.get("used_cpus"),
        failed=row.get("failed") or 0,
    )


def as_map_rows(setting: Setting) -> list[tuple[str, str]]:
    """A setting as the rows of a column of maps."""
    return [(factor, level_text(level)) for factor, level in setting.items()]


def setting_of(row: Mapping[str, Any]) -> Setting:
    """As kept; that of a record from before there was any follows from the other columns."""
    stored = row.get("setting")
    if stored is not None:
        return Setting(tuple((factor, level_of(text)) for factor, text in stored))
    return older.setting_of(row["key"], Phase(row["phase"]), row["fraction"], row["point_rps"])


def _clusters(row: Mapping[str, Any], folder: Path) -> tuple[int, ...]:
    """As kept; those of a record from before there were any come from its other files."""
    over = row["over_bound"]
    if row.get("clusters") is not None or not over:
        return tuple(row.get("clusters") or ())
    # Few rows are so old: all the others are read without what reads results.
    from sojourn.samples.clusters import alike  # noqa: PLC0415
    from sojourn.samples.contract import load_result  # noqa: PLC0415
    from sojourn.samples.reading import older_clusters  # noqa: PLC0415

    if not (folder / LOAD).exists():
        return alike(over, row["correlation"])
    return older_clusters(folder, load_result(folder / LOAD), over, row["correlation"])


def _misses(row: Mapping[str, Any] | None) -> Misses | None:
    return Misses(**{**row, "clusters": tuple(row["clusters"])}) if row else None
