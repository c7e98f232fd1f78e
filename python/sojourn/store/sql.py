"""All outcomes of all records as tables for DuckDB: `points` (as planned) and `outcomes`."""

from __future__ import annotations

from pathlib import Path

import duckdb

from sojourn.errors import SpecFault
from sojourn.store.columns import SCHEMA
from sojourn.store.find import read, records
from sojourn.store.record import OUTCOME, POINTS

EXAMPLE = 'try: sojourn sql "select key, offered_rps, p99_ns / 1e6 as p99_ms from outcomes"'
_PLANNED = "key, service, phase, repeat, fraction, point_rps, measure_s, warmup_s, seed, overrides"


def connect(results: Path) -> duckdb.DuckDBPyConnection:
    """An in-memory database whose views read the results folder.

    `study`, `machine` and `record` say where a row comes from; times are in ns.
    """
    base = duckdb.connect(":memory:")
    if any(results.glob(f"*/*/*/{POINTS}/*/{OUTCOME}")):
        pattern = results.absolute() / "*" / "*" / "*" / POINTS / "*" / OUTCOME
        files = base.read_parquet(str(pattern), union_by_name=True, filename=True)
        files.create_view("files")
    else:
        base.register("nothing", SCHEMA.empty_table())
        base.execute("CREATE VIEW files AS SELECT *, '' AS filename FROM nothing")
    base.execute(
        "CREATE VIEW outcomes AS SELECT parse_path(filename)[-6] AS study, "
        "parse_path(filename)[-5] AS machine, parse_path(filename)[-4] AS record, "
        "* EXCLUDE (filename) FROM files"
    )
    base.execute(f"CREATE VIEW points AS SELECT study, machine, record, {_PLANNED} FROM outcomes")  # noqa: S608
    return base


def query(results: Path, statement: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """Column names and rows.

    Raises:
        SpecFault: the statement is wrong.
        StoreFault: a record is damaged, or of a newer version.
    """
    if not statement.strip():
        raise SpecFault("the query is empty", at="sojourn sql", fix=EXAMPLE)
    for path in records(results):
        read(path)  # a newer version is refused, as everywhere
    base = connect(results)
    try:
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
