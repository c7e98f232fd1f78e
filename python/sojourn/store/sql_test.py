"""`sojourn sql`: every record, every factor, and nothing else of the machine."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn import spec, store
from sojourn.errors import RunFault, SpecFault, StoreFault
from sojourn.plan import Planner, next_point
from sojourn.plan.rehearsal import imagine
from sojourn.plan.setting import Setting
from sojourn.spec import Study
from sojourn.store import gather, sql
from sojourn.store.bounds import Bounds
from sojourn.store.named import shown
from sojourn.store.record import OpenRecord
from sojourn.testing_questions import PLANS

FORGED = (
    "x'] AS VARCHAR) AS y, (SELECT content FROM read_text('/etc/hostname')) AS z, CAST(setting['x"
)


@pytest.fixture
def study() -> Study:
    return spec.load("max_load_memcached", profile="quick")


def measure(record: OpenRecord, study: Study, points: int) -> None:
    planner = Planner(study, PLANS)
    for _ in range(points):
        point = planner.next(record.outcomes())
        assert point is not None
        record.add(replace(imagine(point), folder=str(record.folder(point))))


def test_sql_sees_every_record_and_an_empty_folder(study: Study, tmp_path: Path) -> None:
    names, rows = store.query(tmp_path / "none", "select count(*) as n from points")
    assert (names, rows) == (["n"], [(0,)])
    for machine in ("a", "b"):
        with store.open(tmp_path, study, machine=machine) as record:
            measure(record, study, 3)
    statement = "select machine, count(*), max(study) from outcomes group by machine order by 1"
    _, rows = store.query(tmp_path, statement)
    assert rows == [("a", 3, study.name), ("b", 3, study.name)]
    with pytest.raises(SpecFault) as caught:
        store.query(tmp_path, "select nix from outcomes")
    assert "nix" in caught.value.what


def test_a_folder_of_any_bytes_keeps_no_one_from_the_records(study: Study, tmp_path: Path) -> None:
    with store.open(tmp_path, study, machine="m") as record:
        measure(record, study, 1)
    strange = record.path.with_name(os.fsdecode(b"a\xff"))
    record.path.rename(strange)
    with store.open(tmp_path, study, machine="n") as record:
        measure(record, study, 1)
    _, rows = store.query(tmp_path, "select record from outcomes order by machine")
    assert rows == [(shown(strange.name),), (record.path.name,)]


def test_sql_has_a_column_per_factor_of_the_type_of_its_levels(
    study: Study, tmp_path: Path
) -> None:
    settings = (
        Setting.of(load=0.125, threads=2, policy="cfs", tracer=True, shield="own"),
        Setting.of(load=1, threads=4, policy="a 'b'", tracer=False, size=1),
        Setting.of(load=0.5, size="few", policy="true"),
    )
    with store.open(tmp_path, study) as record:
        for setting in settings:
            point = next_point(study, record.outcomes(), PLANS)
            assert point is not None
            under = replace(point, setting=setting, key=setting.text)
            record.add(replace(imagine(under), folder=str(record.folder(under))))
    names = ("load", "threads", "policy", "tracer", "size", '"setting.shield"', "rate")
    for table in ("points", "outcomes"):
        _, rows = store.query(tmp_path, f"select {', '.join(names)} from {table} order by load")  # noqa: S608
        assert rows == [
            (0.125, 2, "cfs", True, None, "own", None),
            (0.5, None, "true", None, "few", None, None),
            (1, 4, "a 'b'", False, "1", None, None),
        ]
    _, rows = store.query(tmp_path, "select max(setting['threads']) from points")
    assert rows == [("4",)]


def test_factors_that_differ_by_case_have_a_column_each(study: Study, tmp_path: Path) -> None:
    settings = (Setting.of({"Load": 1, "load": 2, "setting.key": "a", "key": "b"}), Setting())
    with store.open(tmp_path, study) as record:
        for setting in settings:
            point = next_point(study, record.outcomes(), PLANS)
            assert point is not None
            under = replace(point, setting=setting, key=setting.text or "none")
            record.add(replace(imagine(under), folder=str(record.folder(under))))
    names, rows = store.query(tmp_path, "select * from points where load is not null")
    assert len({name.lower() for name in names}) == len(names)
    row = dict(zip(names, rows[0], strict=True))
    assert (row["load"], row["setting.Load"], row["key"]) == (2, 1, settings[0].text)
    assert {row["setting.key"], row["setting.setting.key"]} == {"a", "b"}


@pytest.mark.parametrize(
    ("factor", "level"),
    [(FORGED, "1"), ("load", "zz zz"), ('a"b', "1")],
)
def test_a_setting_that_no_one_wrote_is_refused(
    study: Study, tmp_path: Path, factor: str, level: str
) -> None:
    with store.open(tmp_path, study) as record:
        measure(record, study, 1)
    path = next(tmp_path.rglob("outcome.parquet"))
    table = pq.read_table(path)
    at = table.schema.get_field_index("setting")
    forged = pa.array([[(factor, level)]], type=table.schema.field("setting").type)
    pq.write_table(table.set_column(at, table.schema.field(at), forged), path)
    with pytest.raises(StoreFault, match="cannot be read"):
        store.query(tmp_path, "select * from points")


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("copy outcomes to '{}/stolen'", "changes something"),
        ("explain analyze copy outcomes to '{}/stolen'", "Cannot access"),
        ("select content from read_text('{}/secret')", "Cannot access"),
        ("select content from read_text('/etc/passwd')", "Cannot access"),
        ("from '{}/secret.csv'", "Cannot access"),
        ("select * from glob('{}/*')", "Cannot access"),
        ("attach '{}/stolen' as other", "changes something"),
        ("set enable_external_access = true", "changes something"),
        ("select 1; set threads = 1", "changes something"),
        ("delete from outcomes", "changes something"),
        ("install httpfs", "changes something"),
        ("select * from SCHEMA", "does not exist"),  # a variable of the program
    ],
)
def test_sql_reads_the_results_and_nothing_else(
    study: Study, tmp_path: Path, statement: str, what: str
) -> None:
    (tmp_path / "secret").write_text("precious", encoding="utf-8")
    (tmp_path / "secret.csv").write_text("precious", encoding="utf-8")
    results = tmp_path / "results"
    with store.open(results, study) as record:
        measure(record, study, 1)
    with pytest.raises(SpecFault, match=what):
        store.query(results, statement.format(tmp_path))
    assert not (tmp_path / "stolen").exists()


@pytest.mark.parametrize("of", ["outcomes", "points"])
def test_a_column_with_dots_needs_quotes_and_the_error_says_so(
    study: Study, tmp_path: Path, of: str
) -> None:
    factor = "services.memcached.params.threads"
    with store.open(tmp_path, study) as record:
        point = next_point(study, record.outcomes(), PLANS)
        assert point is not None
        under = replace(point, setting=Setting.of({factor: 2}), key="twice")
        record.add(replace(imagine(under), folder=str(record.folder(under))))
    with pytest.raises(SpecFault) as caught:
        store.query(tmp_path, f"select avg({factor}) from {of}")  # noqa: S608
    assert f'"{factor}"' in caught.value.fix
    assert store.query(tmp_path, f'select "{factor}" from {of}')[1] == [(2,)]  # noqa: S608
    with pytest.raises(SpecFault) as caught:
        store.query(tmp_path, f'select "{factor}", other from {of}')  # noqa: S608
    assert "try: sojourn sql" in caught.value.fix, "it is quoted already: something else is wrong"


@pytest.mark.parametrize("statement", ["describe outcomes", "show tables", "explain select 1"])
def test_sql_answers_what_the_tables_are(tmp_path: Path, statement: str) -> None:
    _, rows = store.query(tmp_path / "none", statement)
    assert rows


USED = {
    "schema": "sojourn.resources/1",
    "period_s": 1.0,
    "cpus": 2,
    "probe": {"cpu_s": 0.01, "wall_s": 5.0, "is_apart": True},
    "end_unix_ns": [10**9 * s for s in (2, 3, 4, 9)],
    "length_s": [1.0] * 4,
    "is_late": [False] * 4,
    "columns": {"service_cpu_share": [0.25, 0.5, None, 0.9], "disk_read_bytes_per_s": [None] * 4},
    "capacity": {"service_cpu_share": 0.5},
    "measured_unix_ns": [10**9, 4 * 10**9],
}


def test_sql_has_median_and_most_of_each_resource_of_each_point(
    study: Study, tmp_path: Path
) -> None:
    with store.open(tmp_path, study, machine="a") as record:
        measure(record, study, 2)
        folder = record.folder_of(record.outcomes()[0])
    statement = "select * exclude (study, record) from resources"
    assert store.query(tmp_path, statement)[1] == []  # of points from before it was kept
    (folder / "resources.json").write_text(json.dumps(USED))
    names, rows = store.query(tmp_path, statement)
    assert [dict(zip(names, row, strict=True)) for row in rows] == [
        {
            "machine": "a",
            "key": record.outcomes()[0].point.key,
            "service": "memcached",
            "resource": "service_cpu_share",
            "unit": "share",
            "samples": 2,
            "median": 0.375,
            "max": 0.5,
            "capacity": 0.5,
        }
    ]
    joined = "select count(*) from outcomes join resources using (study, machine, record, key)"
    assert store.query(tmp_path, joined)[1] == [(1,)]
    (folder / "resources.json").write_text("{")
    with pytest.raises(StoreFault):
        store.query(tmp_path, statement)
    assert store.query(tmp_path, "select count(*) from outcomes")[1] == [(2,)]  # not read for it


#: A million million products: minutes on any machine, and next to no memory.
LONG = "select sum(a.range * b.range) from range(1000000) a, range(1000000) b"
BOUNDS = Bounds(rows=5, seconds=300.0, memory="200MB")


def test_sql_reads_no_more_rows_than_it_may(tmp_path: Path) -> None:
    statement = "select range from range(1000000)"
    names, rows = store.query(tmp_path / "none", statement, bounds=BOUNDS)
    assert (names, len(rows)) == (["range"], 5)
    assert store.query(tmp_path / "none", "select 7 as n", bounds=BOUNDS) == (["n"], [(7,)])


def test_sql_without_bounds_has_every_row(tmp_path: Path) -> None:
    _, rows = store.query(tmp_path / "none", "select range from range(25001)")
    assert [number for (number,) in rows] == [*range(25_001)]


def test_columns_of_one_name_get_different_names(tmp_path: Path) -> None:
    statement = "select a.n, b.n from (select 1 as n) a, (select 2 as n) b"
    assert store.query(tmp_path / "none", statement) == (["n", "n_1"], [(1, 2)])


def test_the_tables_of_a_record_with_many_factors_are_made_in_time(
    study: Study, tmp_path: Path
) -> None:
    with store.open(tmp_path, study) as record:
        measure(record, study, 1)
    path = next(tmp_path.rglob("outcome.parquet"))
    table = pq.read_table(path)
    at = table.schema.get_field_index("setting")
    many = [(f"f{number}", "1") for number in range(3000)]
    forged = pa.array([many], type=table.schema.field("setting").type)
    pq.write_table(table.set_column(at, table.schema.field(at), forged), path)
    began = time.monotonic()
    with pytest.raises(RunFault, match="longer than"):
        store.query(tmp_path, "select 1", bounds=replace(BOUNDS, seconds=0.3, memory="1GB"))
    assert time.monotonic() - began < 2.0


def test_sql_ends_when_its_time_is_over(tmp_path: Path) -> None:
    with pytest.raises(RunFault, match=r"longer than 0\.2 s"):
        store.query(tmp_path / "none", LONG, bounds=replace(BOUNDS, seconds=0.2))


def test_the_reading_of_the_records_is_part_of_the_time(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.open(tmp_path, study) as record:
        measure(record, study, 1)
    read: list[Path] = []
    monkeypatch.setattr(gather, "_part", lambda path, *_, **__: read.append(path))
    with pytest.raises(RunFault, match="longer than 0 s"):
        store.query(tmp_path, "select 1", bounds=replace(BOUNDS, seconds=0.0))
    assert read == []


def test_sql_takes_no_more_memory_than_it_may_and_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    statement = "select count(*) from (select distinct range from range(100000000))"
    with pytest.raises(RunFault, match="more memory"):
        store.query(tmp_path / "none", statement, bounds=replace(BOUNDS, memory="50MB"))
    assert list(tmp_path.iterdir()) == []


def test_sql_with_bounds_runs_on_one_thread(tmp_path: Path) -> None:
    statement = "select current_setting('threads')"
    assert store.query(tmp_path / "none", statement, bounds=BOUNDS)[1] == [(1,)]


def test_sql_ends_by_an_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As ^C: Python raises it in the main thread, which must not be inside of DuckDB."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGUSR1))
    rows = sql._rows

    def timed(*inputs: Any) -> sql.Table:
        timer.start()
        return rows(*inputs)

    monkeypatch.setattr(sql, "_rows", timed)
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            store.query(tmp_path / "none", LONG)
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
