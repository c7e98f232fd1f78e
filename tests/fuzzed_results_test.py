"""Result files of other tools, histories and a manager's sources, damaged: read, or a fault."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from sojourn import importers
from sojourn.cli import history_csv
from sojourn.damage_testing import fields_like, json_like, lines_like
from sojourn.fuzz_testing import Target, fuzz
from sojourn.importers import estimates
from sojourn.importers.testing import content, put
from sojourn.manage import exposition, source
from sojourn.report import history as shown
from sojourn.report import opened, opened_writers

FEW = 8  # of each; `make fuzz` reads for minutes
HISTORY = "time,commit,label,p99\n" + "".join(
    f"2026-01-0{day}T00:00:00,a{day},,{day}.5\n" for day in range(1, 9)
)
EXPOSED = 'x_bucket{s="a",le="0.1"} 3\nx_bucket{s="a",le="+Inf"} 4\nx_count{s="a"} 4\n# EOF\n'
WINDOW = '{"service": "a", "n": 9, "p99_ns": 5.0, "lo_ns": 4.0, "hi_ns": 6.0, "above": 1}'


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("fortio-errors.json", "fortio"),
        ("ghz.json", "ghz"),
        ("h2load.tsv", "h2load-log"),
        ("h2load.txt", "h2load"),
        ("hdr-java.hlog", "hdr-log"),
        ("hey.csv", "hey"),
        ("k6-export.json", "k6-summary"),
        ("k6.csv", "k6-csv"),
        ("k6.json", "k6-json"),
        ("memtier.json", "memtier"),
        ("mutilate-both.txt", "mutilate"),
        ("pgbench-aggregate.log", "pgbench-aggregate"),
        ("pgbench-skipped.log", "pgbench"),
        ("vegeta-report.json", "vegeta-report"),
        ("vegeta.csv", "vegeta-csv"),
        ("vegeta.json", "vegeta-json"),
        ("wrk.txt", "wrk"),
        ("wrk2-u.txt", "wrk2"),
    ],
)
def test_a_result_file(tmp_path: Path, name: str, form: str) -> None:
    is_document = form in {"fortio", "ghz", "k6-summary", "memtier", "vegeta-report"}

    def reads(data: bytes) -> None:
        kind, series = importers.read(put(tmp_path, data), form)
        for one in series[:4]:
            estimates.of(one)
            side = opened.of_series("A", "x", kind.name, one)
            json.dumps(opened_writers.table([side]), default=str)
            opened_writers.markdown([side]).encode()

    is_lines = form in {"k6-json", "vegeta-json"}
    like = json_like if is_document else lines_like if is_lines else fields_like
    code = (importers.FORMATS[form].read.__module__.removeprefix("sojourn."), "importers.file")
    fuzz(name, Target(like, content(name), reads, code, few=FEW))


def test_a_history(tmp_path: Path) -> None:
    def reads(data: bytes) -> None:
        past = history_csv.read(put(tmp_path, data))
        history_csv.text(past).encode()
        shown.sentence(past)

    fuzz("history", Target(fields_like, HISTORY.encode(), reads, ("cli.history_csv",), few=FEW))


def test_what_a_manager_is_given() -> None:
    def reads(data: bytes) -> None:
        with contextlib.suppress(ValueError):  # what the manager counts as a bad answer
            exposition.histogram(data.decode("utf-8", "replace"), "x", {"s": "a"})
        source.parsed(data, "a")

    code = ("manage.exposition", "manage.source")
    fuzz("exposed", Target(fields_like, EXPOSED.encode(), reads, code, few=FEW))
    fuzz("window", Target(json_like, WINDOW.encode(), reads, code, few=FEW))
