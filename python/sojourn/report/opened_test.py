"""A count of failed requests that a file lacks is not known, and never 0."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import io
import json
import math
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn import importers
from sojourn.importers.metriken_facts import PERCEIVED
from sojourn.importers.series import Facts, Series
from sojourn.importers.testing import content, put
from sojourn.report import opened, opened_figure, testing
from sojourn.report.opened_file import table
from sojourn.report.opened_writers import WRITERS
from sojourn.stats.interval import Interval
from sojourn.text.plain_values import plain as json_value

NOT_KNOWN = "how many failed is not known"


def shown(series: Series) -> opened.Side:
    return opened.of_series("A", "file", "form", series)


def of_grpc(whole: dict[str, Any]) -> None:
    """Of gRPC calls k6's summary has times, and no count of those that failed."""
    metrics = whole["metrics"]
    metrics["grpc_req_duration"] = metrics.pop("http_req_duration")
    for name in [name for name in metrics if name.startswith("http_req")]:
        del metrics[name]


def without(*names: str) -> Callable[[dict[str, Any]], None]:
    def remove(whole: dict[str, Any]) -> None:
        for name in names:
            whole.pop(name, None)
            whole.get("metrics", {}).pop(name, None)

    return remove


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("k6-export.json", of_grpc),
        ("k6-export.json", without("http_req_failed")),
        ("fortio.json", without("RetCodes", "ErrorsDurationHistogram")),
    ],
)
def test_a_summary_without_a_count_does_not_say_that_none_failed(
    name: str, change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    whole = json.loads(content(name))
    _, before = importers.read(put(tmp_path, json.dumps(whole, indent=1).encode()))
    assert shown(before[0]).failures == "none failed"
    change(whole)
    _, series = importers.read(put(tmp_path, json.dumps(whole, indent=1).encode()))
    side = shown(series[0])
    assert (side.failures, side.failed_count) == (NOT_KNOWN, None)
    assert json_value(table([side]))["series"][0]["failed"] is None
    assert NOT_KNOWN in WRITERS["markdown"]([side])
    cells = next(cells for cells in opened.side_by_side([side])[1] if cells[0] == "failed")
    assert cells == ("failed", "–")


@pytest.mark.parametrize(
    "name",
    ["hey.csv", "oha.csv", "hdr-java.hlog", "mutilate.txt", "mutilate-scan.txt", "mutilate.save",
     "ring.json", "rezolus-combined.parquet", "memtier.json", "pgbench-aggregate.log"],
)  # fmt: skip
def test_a_file_of_replies_alone_does_not_say_that_none_failed(name: str, tmp_path: Path) -> None:
    _, series = importers.read(put(tmp_path, content(name)))
    assert shown(series[-1]).failures == NOT_KNOWN


def test_older_aggregates_of_pgbench_have_no_failures(tmp_path: Path) -> None:
    """PostgreSQL 14 has eleven fields: the last are of lags and skipped transactions."""
    text = content("pgbench-aggregate.log").decode()
    (new,) = importers.read(put(tmp_path, text.encode()))[1]
    assert shown(new).failures == NOT_KNOWN, "without --failures-detailed they are 0"
    detailed = text.replace(" 0 0 0\n", " 0 3 0\n", 1)
    (known,) = importers.read(put(tmp_path, detailed.encode()))[1]
    assert shown(known).failures == "3 failed: serialization 3"
    cut = "".join(" ".join(line.split(" ")[:6]) + "\n" for line in text.splitlines())
    (old,) = importers.read(put(tmp_path, cut.encode()))[1]
    assert shown(old).failures == NOT_KNOWN


def test_a_caveat_names_where_a_failed_request_is_infinitely_slow(tmp_path: Path) -> None:
    """This lab counts it so; other tools leave it out, or count the time that it took."""
    _, (other,) = importers.read(put(tmp_path, content("vegeta-errors.json")))
    theirs, own = shown(other), dataclasses.replace(shown(other), letter="B", facts=opened.OWN)
    wanted = "A failed request counts as infinitely slow in B, and not in A."
    assert wanted in opened.caveats([theirs, own])
    for sides in ([theirs, theirs], [own, own]):
        assert not any("infinitely" in sentence for sentence in opened.caveats(sides))
    calm = [dataclasses.replace(side, failed=()) for side in (theirs, own)]
    assert not any("infinitely" in sentence for sentence in opened.caveats(calm))


def test_a_short_line_of_many_sides_has_their_failures(tmp_path: Path) -> None:
    _, (series,) = importers.read(put(tmp_path, content("vegeta-errors.json")))
    head, lines = opened.compact([shown(series)] * 4)
    assert {line[head.index("failed")] for line in lines} == {"20"}
    assert {len(line) for line in lines} == {len(head)}


def test_failures_that_are_counted_are_shown_where_others_may_not_be(tmp_path: Path) -> None:
    head, *rows = content("hey.csv").decode().splitlines()
    at = head.split(",").index("status-code")
    fields = rows[0].split(",")
    fields[at] = "503"
    text = "\n".join([head, ",".join(fields), *rows[1:]]) + "\n"
    (series,) = importers.read(put(tmp_path, text.encode()))[1]
    side = shown(series)
    assert side.failures == "at least 1 failed: status 503 1"
    assert ("failed", "≥ 1") in opened.side_by_side([side])[1]
    written = json_value(table([side]))["series"][0]
    assert (written["failed"], written["failed_is_least"]) == ({"status 503": 1}, True)
    whole = dataclasses.replace(side, are_all_counted=True)
    assert json_value(table([whole]))["series"][0]["failed_is_least"] is False
    columns = [line.split(",") for line in WRITERS["csv"]([side, whole]).splitlines()]
    marks = {row[columns[0].index("failed_is_least")] for row in columns[1:]}
    assert marks == {"True", "False"}


def test_a_load_of_a_record_has_the_failures_of_its_runs() -> None:
    point = testing.findings().services[0].points[0]
    runs = [dataclasses.replace(run, errors=(("timed_out", 2),)) for run in point.runs]
    doubted = dataclasses.replace(runs[0], is_believed=not point.is_believed)
    own = dataclasses.replace(point, runs=(*runs, doubted))
    count = 2 * len(runs)
    assert opened.of_point("A", "x", own).failures == f"{count} failed: timed_out {count}"
    none = [dataclasses.replace(run, errors=()) for run in runs]
    assert opened.of_point("A", "x", dataclasses.replace(point, runs=tuple(none))).failures == (
        "none failed"
    )


def test_every_clock_of_an_importer_has_a_line_of_its_own() -> None:
    """Vega gives a clock that its scale lacks the line of another one."""
    names = (name for _, name, _ in pkgutil.iter_modules(importers.__path__))
    modules = [importlib.import_module(f"sojourn.importers.{name}") for name in names]
    every = [one for module in modules for one in vars(module).values() if isinstance(one, Facts)]
    assert {one.clock for one in (*every, opened.OWN)} == set(opened_figure.DASHES)
    assert len(set(map(tuple, opened_figure.DASHES.values()))) == len(opened_figure.DASHES)


def test_times_of_the_servers_machine_are_not_called_a_clients(tmp_path: Path) -> None:
    _, (ring,) = importers.read(put(tmp_path, content("ring.json")))
    _, (other,) = importers.read(put(tmp_path, content("vegeta.json")))
    wanted = "Times of A are of the server's machine, and are not what a client waits."
    sides = [shown(ring), dataclasses.replace(shown(other), letter="B")]
    assert wanted in opened.caveats(sides)
    assert wanted not in opened.caveats(sides[:1])
    roughly = dataclasses.replace(sides[1], facts=PERCEIVED)
    assert "They do not measure the same" in opened.caveats([roughly, sides[1]])[0]


def test_an_interval_without_an_upper_end_is_not_one_that_lacks_it(tmp_path: Path) -> None:
    """Nothing bounds it, which is not the same as a file that carries no interval."""
    form, (series,) = importers.read(put(tmp_path, content("hey.csv")))
    side = opened.of_series("A", "hey", form.name, series)
    (number,) = (one for one in side.estimates if one.q == 0.5)
    endless = replace(number, interval=Interval(lo=1.0, hi=math.inf))
    lacking = replace(number, q=0.9, interval=None)
    side = replace(side, estimates=(endless, lacking), basis=("", ""))
    rows = csv.DictReader(io.StringIO(WRITERS["csv"]([side])))
    assert [(row["lo_ns"], row["hi_ns"]) for row in rows] == [("1.0", "inf"), ("", "")]


def test_a_long_run_has_its_length_in_whole_seconds(tmp_path: Path) -> None:
    form, (series,) = importers.read(put(tmp_path, content("hey.csv")))
    for seconds, words in ((7199.6, " in 7,200 s"), (999.7, " in 1,000 s"), (9.994, " in 9.99 s")):
        side = opened.of_series("A", "hey", form.name, replace(series, seconds=seconds))
        assert words in side.heading


FORGED = "x\nB: other.txt (wrk), 9 requests\u2028y"


def test_a_text_of_a_file_begins_no_line_that_looks_like_ours(tmp_path: Path) -> None:
    whole = json.loads(content("ring.json"))
    whole |= {"answer": FORGED, "cause": {"about": FORGED}, "target": {"name": FORGED, "pid": 1}}
    whole["culprits"][0]["about"] = FORGED
    text = json.dumps(whole, separators=(",", ":"), sort_keys=True).replace('"schema":', '"z":')
    path = put(tmp_path, text.replace("{", '{"schema":"sojourn.trace.ring/1",', 1).encode())
    form, (series,) = importers.read(path)
    side = opened.of_series("A", f"dump {series.name}", form.name, series)
    assert sum("B: other" in note for note in side.notes) == 3
    assert not [one for one in (side.heading, *side.notes) if len(one.splitlines()) > 1]
    assert not [line for line in WRITERS["text"]([side]).splitlines() if line.startswith("B:")]
    point = replace(
        next(p for s in testing.findings().services for p in s.points), reasons=(FORGED,)
    )
    load = opened.of_point("A", FORGED, point)
    assert not [one for one in (load.heading, *load.notes) if len(one.splitlines()) > 1]
