"""`sojourn sql` over records of several versions at once."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sojourn import spec, store
from sojourn.plan import next_point
from sojourn.plan.rehearsal import imagine
from sojourn.spec import Study
from sojourn.store.columns import SCHEMA
from sojourn.testing_questions import PLANS

GOLDEN = Path(__file__).with_name("golden") / "record-1.tar.xz"
LATER = ("cpu_ns", "p999_ns", "refused", "refused_with", "used_cpus", "failed")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A record of the first version, one that lacks the later columns, and one of today."""
    with tarfile.open(GOLDEN) as packed:
        packed.extractall(tmp_path)  # noqa: S202 - our own; Python 3.11.2 knows no filters
    study = spec.load("max_load_memcached", profile="quick")
    measured(study, tmp_path, "today")
    between = measured(study, tmp_path, "between")
    for path in between.rglob("outcome.parquet"):
        table = pq.read_table(path)
        pq.write_table(table.select([n for n in table.schema.names if n not in LATER]), path)
    for path in between.glob("outcomes.parquet"):
        path.unlink()
    return tmp_path


def measured(study: Study, results: Path, machine: str) -> Path:
    with store.open(results, study, machine=machine) as record:
        for _ in range(2):
            point = next_point(study, record.outcomes(), PLANS)
            assert point is not None
            one = replace(imagine(point), folder=str(record.folder(point)), failed=3, refused=7)
            record.add(replace(one, refused_with=("HTTP 503",), used_cpus=0.5))
    return record.path


def rows(results: Path, query: str) -> Sequence[tuple[object, ...]]:
    return store.query(results, query)[1]


def test_every_version_is_in_the_tables_and_what_it_lacks_is_null(results: Path) -> None:
    known = rows(
        results,
        "select machine, count(*) > 0, count(failed), count(refused), count(used_cpus), "
        "any_value(refused_with), sum(failed) from outcomes group by 1 order by 1",
    )
    by_machine = {str(machine): rest for machine, *rest in known}
    assert by_machine.pop("today") == [True, 2, 2, 2, ["HTTP 503"], 6]
    assert by_machine.pop("between") == [True, 0, 0, 0, None, None]
    assert len(by_machine) == 1, "the first version's"
    assert by_machine.popitem()[1] == [True, 0, 0, 0, None, None]


@pytest.mark.parametrize(
    "query",
    [
        "select key, offered_rps, p99_ns / 1e6 as p99_ms, load from outcomes",
        "select load, verdict, max(p99_ns), sum(coalesce(failed, 0)) from outcomes group by 1, 2",
        "select key, failed / requests as share from outcomes where failed > 0.01 * requests",
        "select unnest(refused_with) as status, count(*) from outcomes group by 1",
        "select machine, median(used_cpus), max(cpu_ns), max(p999_ns) from outcomes group by 1",
        "select study, service, reason from left_out",
        "select key, phase, setting from points",
    ],
)
def test_queries_of_the_docs_work_over_all_versions(query: str, results: Path) -> None:
    names, found = store.query(results, query)
    assert names
    assert isinstance(found, list)


def test_every_column_that_came_later_is_there_for_all(results: Path) -> None:
    there = {str(name) for name, *_ in rows(results, "describe outcomes")}
    assert there.issuperset(SCHEMA.names)
