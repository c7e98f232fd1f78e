"""All outcomes of all records as tables for DuckDB: `points` (as planned) and `outcomes`.

Both have a point's setting as a map, and a column for every factor that any point has. `left_out`
has the combinations of levels without an answer, and why.

A query may come from anywhere (a page, a colleague), and the lab often runs as root. So it gets a
database in memory that holds the outcomes and nothing else: the files are read before it is run,
and from then on DuckDB opens no file, loads no extension and sees no variable of this program.

A person may wait as long as they like and end a query by ^C. Others get `Bounds`.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import pyarrow as pa

from sojourn import extras
from sojourn.errors import RunFault, SpecFault
from sojourn.plan.setting import LOAD, RATE, Level, level_of, level_text
from sojourn.store import gather
from sojourn.store.bounds import Bounds, Time
from sojourn.store.columns import SCHEMA, as_map_rows, setting_of
from sojourn.store.named import FROM

if TYPE_CHECKING:
    import duckdb

EXAMPLE = 'try: sojourn sql "select key, offered_rps, p99_ns / 1e6 as p99_ms from outcomes"'
ONLY_READS = "`sojourn sql` only reads: write a SELECT; --json and --csv give what it finds"
ALONE = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # else a table's name may be a variable of the caller
}
NO_FILES, LOCKED = "enable_external_access = false", "lock_configuration = true"
READING = {"SELECT", "EXPLAIN"}  # names of DuckDB's kinds of statements
_MEASURED = SCHEMA.names[SCHEMA.names.index("verdict") : SCHEMA.names.index("setting")]
_SAYS = ("_row", "key", "phase", "fraction", "point_rps")  # the setting, where none is kept
_OLDER = pa.schema([("_row", pa.int64()), ("older", SCHEMA.field("setting").type)])

USED = "resources"  # a table of its own, read from a file a point: only where it is asked for
_NO_DISK = "Out-of-memory"  # how an error begins where there is no folder for what does not fit
BATCH = 10_000  # rows between two looks at whether the query is to end
INTERRUPT_EVERY_S = 0.1

Table: TypeAlias = tuple[list[str], list[tuple[object, ...]]]
Result = TypeVar("Result")


def _empty(bounds: Bounds | None) -> duckdb.DuckDBPyConnection:
    """A database in memory, within bounds on memory and threads."""
    own = ALONE if bounds is None else {**ALONE, "threads": "1"}  # others would start first
    base: duckdb.DuckDBPyConnection = extras.need(extras.SQL).connect(":memory:", config=own)
    if bounds is not None:
        base.execute("SET temp_directory = ''")  # else it would fill the disk instead of memory
        base.execute(f"SET memory_limit = '{bounds.memory}'")
    return base


def _fill(
    base: duckdb.DuckDBPyConnection, parts: Sequence[gather.Part], *, has_resources: bool
) -> None:
    """Put in what the records hold now, and close it.

    `study`, `machine` and `record` say where a row comes from; times are in ns.

    Args:
        base: an empty database.
        parts: of the records.
        has_resources: with the table `resources`.
    """
    left = pa.concat_tables([gather.LEFT.empty_table(), *(part.left for part in parts)])
    base.register("unanswered", left)
    base.execute("CREATE TABLE left_out AS SELECT * FROM unanswered")
    base.unregister("unanswered")
    if has_resources:
        used = pa.concat_tables([gather.USED.empty_table(), *(part.used for part in parts)])
        base.register("used", used)
        base.execute("CREATE TABLE resources AS SELECT * FROM used")
        base.unregister("used")
    base.register("files", gather.files_of(parts))
    _keep_with_settings(base)
    base.execute(f"SET {NO_FILES}")  # from here on texts of the records become part of statements
    columns = ", ".join(_columns(base))
    base.execute(f"CREATE TABLE outcomes AS SELECT {columns} FROM kept")  # noqa: S608
    base.execute("DROP TABLE kept")
    is_there = {name for name, *_ in base.execute("DESCRIBE outcomes").fetchall()}
    measured = ", ".join(name for name in _MEASURED if name in is_there)
    base.execute(f"CREATE VIEW points AS SELECT * EXCLUDE ({measured}) FROM outcomes")  # noqa: S608
    base.execute(f"SET {LOCKED}")


def _keep_with_settings(base: duckdb.DuckDBPyConnection) -> None:
    """A table of the files' rows, with settings also where a file is from before there were any."""
    base.execute("CREATE TEMP TABLE numbered AS SELECT row_number() OVER () AS _row, * FROM files")
    base.unregister("files")
    rows = base.execute(
        f"SELECT {', '.join(_SAYS)} FROM numbered WHERE setting IS NULL"  # noqa: S608
    ).fetchall()
    results = [dict(zip(_SAYS, row, strict=True)) for row in rows]
    older = [{"_row": row["_row"], "older": as_map_rows(setting_of(row))} for row in results]
    base.register("olders", pa.Table.from_pylist(older, schema=_OLDER))
    base.execute(
        f"CREATE TABLE kept AS SELECT {', '.join(FROM)}, "  # noqa: S608
        f"* EXCLUDE ({', '.join((*FROM, '_row', 'setting', 'older'))}), "
        "coalesce(setting, older) AS setting FROM numbered LEFT JOIN olders USING (_row)"
    )
    base.execute("DROP TABLE numbered")
    base.unregister("olders")


def _columns(base: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """What `outcomes` is made of: all that is stored, and each factor by its name."""
    levels: dict[str, list[Level]] = defaultdict(list, {LOAD: [], RATE: []})
    pairs = base.execute(
        "SELECT DISTINCT e.key, e.value FROM (SELECT unnest(map_entries(setting)) AS e FROM kept)"
    ).fetchall()
    for factor, text in sorted(pairs):
        levels[factor].append(level_of(text))
    yield "*"
    taken = {name.lower() for name, *_ in base.execute("DESCRIBE kept").fetchall()}
    for factor, seen in levels.items():
        name = factor
        while name.lower() in taken:  # names of columns know no case
            name = f"setting.{name}"
        taken.add(name.lower())
        yield f'{_column(factor, seen)} AS "{name}"'


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


def query(
    results: Path,
    statement: str,
    *,
    on_fault: gather.OnFault | None = None,
    bounds: Bounds | None = None,
) -> Table:
    """Column names, each another one, and rows.

    Args:
        results: folder of the records.
        statement: in SQL.
        on_fault: is given each record that cannot be read, which is then left out; None: it is
            raised.
        bounds: what it may take; None: as long and as much as it needs.

    Raises:
        HostFault: DuckDB is not installed.
        KeyboardInterrupt: ^C; the query has ended.
        RunFault: it takes longer than its bounds allow, or more memory than there is.
        SpecFault: the statement is wrong, changes something, or wants files.
        StoreFault: a record is damaged, or of a newer version, and there is no `on_fault`.
    """
    if not statement.strip():
        raise SpecFault("the query is empty", at="sojourn sql", fix=EXAMPLE)
    library = extras.need(extras.SQL)
    has_resources = USED in statement.lower()
    time = Time(bounds.seconds) if bounds else None
    in_time = time.refuse_late if time else None
    parts = gather.parts(results, on_fault, has_resources=has_resources, before=in_time)
    try:
        outcome = list(parts)
        with contextlib.closing(_empty(bounds)) as base:
            # A record may have many factors, and each is a column: that takes time, too.
            _in_time(base, lambda _: _fill(base, outcome, has_resources=has_resources), time)
            return _answer(base, statement, bounds.rows if bounds else sys.maxsize, time)
    except (MemoryError, library.OutOfMemoryException):
        raise RunFault(
            "the query takes more memory than it may have",
            at="sojourn sql",
            fix="select fewer rows and columns, or aggregate them",
        ) from None


def warm_up(bounds: Bounds | None = None) -> None:
    """Query nothing once, because libraries reserve much address space that they do not use."""
    patient = replace(bounds, seconds=60.0) if bounds else None
    query(Path("/proc/none"), "select 1", bounds=patient)  # a folder that no system has


def _answer(base: duckdb.DuckDBPyConnection, statement: str, most: int, time: Time | None) -> Table:
    library = extras.need(extras.SQL)
    try:
        if any(part.type.name not in READING for part in base.extract_statements(statement)):
            raise SpecFault("the query changes something", at="sojourn sql", fix=ONLY_READS)
        return _in_time(base, lambda is_over: _rows(base, statement, most, is_over), time)
    except library.Error as error:
        if isinstance(error, library.OutOfMemoryException) or _NO_DISK in str(error):
            raise MemoryError from None
        raise SpecFault(
            _in_short(str(error)),
            at="sojourn sql",
            fix=_dotted(base, statement) or EXAMPLE,
        ) from None


def _in_time(
    base: duckdb.DuckDBPyConnection, work: Callable[[Event], Result], time: Time | None
) -> Result:
    """Work in a thread of its own, because while DuckDB works, ^C reaches no one here."""
    is_over = Event()
    with ThreadPoolExecutor(max_workers=1) as thread:
        future = thread.submit(work, is_over)
        try:
            return future.result(time.left_s if time else None)
        except TimeoutError:
            if time is None:
                raise
            raise time.fault from None
        finally:
            is_over.set()
            while not future.done():  # an interrupt before the query begins is forgotten
                base.interrupt()
                wait([future], INTERRUPT_EVERY_S)


def _rows(base: duckdb.DuckDBPyConnection, statement: str, most: int, is_over: Event) -> Table:
    """At most so many rows; those behind them are not computed, where DuckDB can do without."""
    cursor = base.execute(statement)
    names = _distinct([column[0] for column in cursor.description or ()])
    rows: list[tuple[object, ...]] = []
    while len(rows) < most and not is_over.is_set():
        batch = cursor.fetchmany(min(BATCH, most - len(rows)))
        if not batch:
            break
        rows += batch
    return names, rows


def _distinct(names: Sequence[str]) -> list[str]:
    """Names of columns, each another one, as DuckDB numbers them for tables of others.

    >>> _distinct(["p99_ns", "p99_ns", "p99_ns_1", "key", "p99_ns"])
    ['p99_ns', 'p99_ns_2', 'p99_ns_1', 'key', 'p99_ns_3']
    """
    results: list[str] = []
    taken, seen = set(names), set[str]()
    for name in names:
        result, number = name, 0
        while result in seen or (number and result in taken):
            number += 1
            result = f"{name}_{number}"
        seen.add(result)
        results.append(result)
    return results


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
