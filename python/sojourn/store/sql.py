"""All outcomes of all records as tables for DuckDB: `points` (as planned) and `outcomes`.

A query may come from anywhere (a page, a colleague), and the lab often runs as root. So it gets a
database in memory that holds the outcomes and nothing else: the files are read before it is run,
and from then on DuckDB opens no file, loads no extension and sees no variable of this program.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from sojourn.errors import SpecFault
from sojourn.store.columns import SCHEMA
from sojourn.store.find import read, records
from sojourn.store.record import OUTCOME, POINTS

EXAMPLE = 'try: sojourn sql "select key, offered_rps, p99_ns / 1e6 as p99_ms from outcomes"'
ONLY_READS = "`sojourn sql` only reads: write a SELECT; --json and --csv give what it finds"
ALONE = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # else a table's name may be a variable of the caller
}
CLOSED = ("enable_external_access = false", "lock_configuration = true")
READING = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
_PLANNED = "key, service, phase, repeat, fraction, point_rps, measure_s, warmup_s, seed, overrides"


def connect(results: Path) -> duckdb.DuckDBPyConnection:
    """A closed database in memory with what the results folder holds now.

    `study`, `machine` and `record` say where a row comes from; times are in ns.
    """
    base = duckdb.connect(":memory:", config=ALONE)
    if any(results.glob(f"*/*/*/{POINTS}/*/{OUTCOME}")):
        pattern = results.absolute() / "*" / "*" / "*" / POINTS / "*" / OUTCOME
        files = base.read_parquet(str(pattern), union_by_name=True, filename=True)
        files.create_view("files")
    else:
        base.register("nothing", SCHEMA.empty_table())
        base.execute("CREATE VIEW files AS SELECT *, '' AS filename FROM nothing")
    base.execute(
        "CREATE TABLE outcomes AS SELECT parse_path(filename)[-6] AS study, "
        "parse_path(filename)[-5] AS machine, parse_path(filename)[-4] AS record, "
        "* EXCLUDE (filename) FROM files"
    )
    base.execute("DROP VIEW files")
    base.execute(f"CREATE VIEW points AS SELECT study, machine, record, {_PLANNED} FROM outcomes")  # noqa: S608
    for setting in CLOSED:
        base.execute(f"SET {setting}")
    return base


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
    base = connect(results)
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
            fix=EXAMPLE,
        ) from None
    finally:
        base.close()


def _in_short(text: str) -> str:
    """What DuckDB says, without the query and without the traceback of a module it lacks."""
    if "pytz" in text:
        return "times with a zone cannot be shown; cast them: (…)::timestamp or (…)::varchar"
    return text.partition("\n\n")[0].strip()
