"""All outcomes of all records as tables for DuckDB: `points` (as planned) and `outcomes`.

Both have a point's setting as a map, and a column for every factor that any point has. `left_out`
has the combinations of levels without an answer, and why.

A query may come from anywhere (a page, a colleague), and the lab often runs as root. So it gets a
database in memory that holds the outcomes and nothing else: the files are read before it is run,
and from then on DuckDB opens no file, loads no extension and sees no variable of this program.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from sojourn.errors import SpecFault, StoreFault
from sojourn.host.usage.resource import BY_NAME
from sojourn.plan.setting import LOAD, RATE, Level, is_factor, level_of, level_text
from sojourn.samples import resources
from sojourn.store import index
from sojourn.store.columns import SCHEMA, as_kept, setting_of
from sojourn.store.find import read, records
from sojourn.store.record import left_out_of

EXAMPLE = 'try: sojourn sql "select key, offered_rps, p99_ns / 1e6 as p99_ms from outcomes"'
ONLY_READS = "`sojourn sql` only reads: write a SELECT; --json and --csv give what it finds"
ALONE = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # else a table's name may be a variable of the caller
}
NO_FILES, LOCKED = "enable_external_access = false", "lock_configuration = true"
READING = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
_MEASURED = SCHEMA.names[SCHEMA.names.index("verdict") : SCHEMA.names.index("setting")]
_FROM = ("study", "machine", "record")
_BESIDE = [index.AT, index.BYTES, index.CHANGED]
_LEFT = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in (*_FROM, "service", "state")),
        pa.field("levels", SCHEMA.field("setting").type),
        *(pa.field(name, pa.string()) for name in ("reason", "mend")),
    ]
)
_SAYS = ("_row", "key", "phase", "fraction", "point_rps")  # the setting, where none is kept
_OLDER = pa.schema([("_row", pa.int64()), ("older", SCHEMA.field("setting").type)])


USED = "resources"  # a table of its own, read from a file a point: only where it is asked for
_USED = pa.schema(
    [
        *((name, pa.string()) for name in _FROM),
        ("key", pa.string()),
        ("service", pa.string()),
        ("resource", pa.string()),
        ("unit", pa.string()),
        ("samples", pa.int64()),
        ("median", pa.float64()),
        ("max", pa.float64()),
        ("capacity", pa.float64()),
    ]
)


def connect(results: Path, *, has_resources: bool = False) -> duckdb.DuckDBPyConnection:
    """A closed database in memory with what the results folder holds now.

    `study`, `machine` and `record` say where a row comes from; times are in ns.

    Args:
        results: the folder.
        has_resources: with the table `resources`, for which a file of every point is read.
    """
    base = duckdb.connect(":memory:", config=ALONE)
    base.register("unanswered", _left_out(results))
    base.execute("CREATE TABLE left_out AS SELECT * FROM unanswered")
    base.unregister("unanswered")
    if has_resources:
        base.register("used", _used(results))
        base.execute("CREATE TABLE resources AS SELECT * FROM used")
        base.unregister("used")
    base.register("files", _files(results))
    _keep_with_settings(base)
    base.execute(f"SET {NO_FILES}")  # from here on texts of the records become part of statements
    columns = ", ".join(_columns(base, results))
    base.execute(f"CREATE TABLE outcomes AS SELECT {columns} FROM kept")  # noqa: S608
    base.execute("DROP TABLE kept")
    is_there = {name for name, *_ in base.execute("DESCRIBE outcomes").fetchall()}
    measured = ", ".join(name for name in _MEASURED if name in is_there)
    base.execute(f"CREATE VIEW points AS SELECT * EXCLUDE ({measured}) FROM outcomes")  # noqa: S608
    base.execute(f"SET {LOCKED}")
    return base


def _left_out(results: Path) -> pa.Table:
    """Combinations of levels without an answer, of all records: state, reason and mend."""
    rows = [
        {**dict(zip(_FROM, path.parts[-len(_FROM) :], strict=True)), **one.table,
         "levels": as_kept(one.levels)}
        for path in records(results)
        for one in left_out_of(path)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=_LEFT)


def _used(results: Path) -> pa.Table:
    """A row for each resource of each point: median and most of the samples of its measured part.

    Raises:
        StoreFault: a file is damaged, or of a newer version.
    """
    found = []
    for path in records(results):
        home = dict(zip(_FROM, path.parts[-len(_FROM) :], strict=True))
        for row in index.rows(path).select(["key", "service", index.AT]).to_pylist():
            own = resources.read(path / index.POINTS / row[index.AT])
            for name, values in zip(own.names, own.values, strict=True) if own else ():
                told = values[~np.isnan(values)]
                if own is not None and len(told):
                    found.append(
                        home
                        | {
                            "key": row["key"],
                            "service": row["service"],
                            "resource": name,
                            "unit": BY_NAME[name].unit,
                            "samples": len(told),
                            "median": float(f"{np.median(told):.6g}"),
                            "max": float(f"{told.max():.6g}"),
                            "capacity": own.capacity.get(name),
                        }
                    )
    return pa.Table.from_pylist(found, schema=_USED)


def _files(results: Path) -> pa.Table:
    """The rows of all records as their files have them, with what says where they come from."""
    form = pa.schema([*SCHEMA, *(pa.field(name, pa.string()) for name in _FROM)])
    parts = [form.empty_table()]
    for path in records(results):
        table = index.rows(path)
        for name, value in zip(_FROM, path.parts[-len(_FROM) :], strict=True):
            table = table.append_column(name, pa.repeat(pa.scalar(value), len(table)))
        parts.append(table.drop_columns(_BESIDE))
    return pa.concat_tables(parts, promote_options="default")


def _keep_with_settings(base: duckdb.DuckDBPyConnection) -> None:
    """A table of the files' rows, with settings also where a file is from before there were any."""
    base.execute("CREATE TEMP TABLE numbered AS SELECT row_number() OVER () AS _row, * FROM files")
    base.unregister("files")
    rows = base.execute(
        f"SELECT {', '.join(_SAYS)} FROM numbered WHERE setting IS NULL"  # noqa: S608
    ).fetchall()
    found = [dict(zip(_SAYS, row, strict=True)) for row in rows]
    older = [{"_row": row["_row"], "older": as_kept(setting_of(row))} for row in found]
    base.register("olders", pa.Table.from_pylist(older, schema=_OLDER))
    base.execute(
        f"CREATE TABLE kept AS SELECT {', '.join(_FROM)}, "  # noqa: S608
        f"* EXCLUDE ({', '.join((*_FROM, '_row', 'setting', 'older'))}), "
        "coalesce(setting, older) AS setting FROM numbered LEFT JOIN olders USING (_row)"
    )
    base.execute("DROP TABLE numbered")
    base.unregister("olders")


def _columns(base: duckdb.DuckDBPyConnection, results: Path) -> Iterator[str]:
    """What `outcomes` is made of: all that is kept, and each factor by its name."""
    levels: dict[str, list[Level]] = defaultdict(list, {LOAD: [], RATE: []})
    pairs = base.execute(
        "SELECT DISTINCT e.key, e.value FROM (SELECT unnest(map_entries(setting)) AS e FROM kept)"
    ).fetchall()
    for factor, text in sorted(pairs):
        levels[factor].append(_level(factor, text, results))
    yield "*"
    taken = {name.lower() for name, *_ in base.execute("DESCRIBE kept").fetchall()}
    for factor, seen in levels.items():
        name = factor
        while name.lower() in taken:  # names of columns know no case
            name = f"setting.{name}"
        taken.add(name.lower())
        yield f'{_column(factor, seen)} AS "{name}"'


def _level(factor: str, text: str, results: Path) -> Level:
    """A level as it is kept; its factor's name may be part of a statement after this.

    Raises:
        StoreFault: the lab has written neither.
    """
    try:
        if is_factor(factor):
            return level_of(text)
    except ValueError:
        pass
    raise StoreFault(
        f"the setting {factor!r} = {text!r} of a point cannot be read",
        at=str(results),
        fix="take the record that holds it out of the folder; it was damaged or not written here",
    )


def _column(factor: str, seen: list[Level]) -> str:
    """A factor's levels in the type that all of them have."""
    text = f"setting[{_quote(factor)}]"
    if all(isinstance(level, bool) for level in seen) and seen:
        return f"CAST({text} AS BOOLEAN)"
    if not any(isinstance(level, bool | str) for level in seen):
        return f"CAST({text} AS DOUBLE)"
    quoted = [level for level in seen if isinstance(level, str) and level_text(level) != level]
    cases = " ".join(f"WHEN {_quote(level_text(level))} THEN {_quote(level)}" for level in quoted)
    return f"CASE {text} {cases} ELSE {text} END" if cases else text


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def query(results: Path, statement: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """Column names and rows.

    Raises:
        SpecFault: the statement is wrong, changes something, or wants files.
        StoreFault: a record is damaged, or of a newer version.
    """
    if not statement.strip():
        raise SpecFault("the query is empty", at="sojourn sql", fix=EXAMPLE)
    for path in records(results):
        read(path)  # a newer version is refused, as everywhere
    base = connect(results, has_resources=USED in statement.lower())
    try:
        if any(part.type not in READING for part in base.extract_statements(statement)):
            raise SpecFault("the query changes something", at="sojourn sql", fix=ONLY_READS)
        cursor = base.execute(statement)
        names = [column[0] for column in cursor.description or ()]
        return names, cursor.fetchall()
    except duckdb.Error as error:
        raise SpecFault(
            _in_short(str(error)),
            at="sojourn sql",
            fix=_dotted(base, statement) or EXAMPLE,
        ) from None
    finally:
        base.close()


def _dotted(base: duckdb.DuckDBPyConnection, statement: str) -> str:
    """How to name a column with dots that the statement has without quotes; "" if it has none.

    DuckDB takes the parts before the last dot for names of a schema and a table.
    """
    columns = {name for name, *_ in base.execute("DESCRIBE outcomes").fetchall() if "." in name}
    outside = re.sub(r"\"[^\"]*\"|'[^']*'", "", statement)
    words = {word.lower() for word in re.findall(r"[\w.]+", outside)}
    name = next((column for column in columns if column.lower() in words), "")
    if not name:
        return ""
    return f"""a name with dots is quoted: "{name}", in a shell '… "{name}" …'"""


def _in_short(text: str) -> str:
    """What DuckDB says, without the query and without the traceback of a module it lacks."""
    if "pytz" in text:
        return "times with a zone cannot be shown; cast them: (…)::timestamp or (…)::varchar"
    return text.partition("\n\n")[0].strip()
