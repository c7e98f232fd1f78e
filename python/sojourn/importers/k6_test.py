"""Samples of k6: what counts as failed, and all forms of time stamps."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sojourn import importers
from sojourn.importers import estimates
from sojourn.importers.groups import ALL
from sojourn.importers.k6_facts import DURATIONS, failure
from sojourn.importers.k6_samples import OUTSIDE
from sojourn.importers.testing import content, put

HTTP, GRPC = DURATIONS
HEAD = (
    "metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,"
    "proto,scenario,service,status,subproto,tls_version,url,extra_tags,metadata"
)
OK = {"method": "GET", "name": "http://a/", "proto": "HTTP/1.1", "status": "200"}


def point(metric: str, ms: float, tags: Mapping[str, str], second: int) -> str:
    data = {"time": f"2026-01-01T00:00:{second:02d}.5Z", "value": ms, "tags": dict(tags)}
    return json.dumps({"metric": metric, "type": "Point", "data": data})


def row(metric: str, stamp: object, ms: float, tags: Mapping[str, str]) -> str:
    """A row as k6 writes it: a tag that a sample has not is empty."""
    names = HEAD.split(",")[3:]
    return ",".join([metric, str(stamp), f"{ms:f}", *(tags.get(name, "") for name in names)])


@pytest.mark.parametrize(
    ("metric", "tags", "why"),
    [
        (GRPC, {"status": "0"}, ""),
        (GRPC, {"status": "14"}, "status 14"),
        (GRPC, {"method": "a/b"}, None),
        (HTTP, {"expected_response": "true", "status": "404", "error_code": "1404"}, ""),
        (HTTP, {"expected_response": "false", "status": "503", "error_code": "1503"}, "status 503"),
        (HTTP, {"expected_response": "false", "status": "200"}, "status 200"),
        (HTTP, {"expected_response": "false", "status": "0", "error_code": "1212"}, "error 1212"),
        (HTTP, {"status": "200"}, ""),
        (HTTP, {"status": "304"}, ""),
        (HTTP, {"status": "404", "error_code": "1404"}, "status 404"),
        (HTTP, {"status": "500"}, "status 500"),
        (HTTP, {"status": "0"}, "error unknown"),
        (HTTP, {"status": "0", "error_code": "1212"}, "error 1212"),
        (HTTP, {"error_code": "1050"}, "error 1050"),
        (HTTP, {"method": "GET"}, None),
    ],
)
def test_a_request_failed_where_its_tags_say_so(
    metric: str, tags: dict[str, str], why: str | None
) -> None:
    assert failure(metric, {"scenario": "default", **tags}) == why


@pytest.mark.parametrize("is_csv", [False, True], ids=["json", "csv"])
def test_failed_calls_of_grpc_and_refused_connections_are_in_no_time(
    is_csv: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    """k6 0.30 has no `expected_response`, and writes 0 ms of a refused connection."""
    refused = {**OK, "status": "0", "error_code": "1212", "error": "dial: connection refused"}
    kinds = [
        (HTTP, 2.0, OK),
        (HTTP, 0.0, refused),
        (GRPC, 3.0, {"method": "a/b", "status": "0"}),
        (GRPC, 0.1, {"method": "a/b", "status": "14"}),
    ]
    samples = [(*kind, second) for second in range(50) for kind in kinds]
    lines = [HEAD] if is_csv else []
    for metric, ms, tags, second in samples:
        stamp = 1767225600 + second
        lines.append(row(metric, stamp, ms, tags) if is_csv else point(metric, ms, tags, second))
    _, (http, grpc) = importers.read(put(tmp_path, "\n".join([*lines, ""]).encode()))
    assert (http.name, http.requests, http.failed) == ("HTTP", 50, {"error 1212": 50})
    assert (grpc.name, grpc.requests, grpc.failed) == ("gRPC", 50, {"status 14": 50})
    for series, ns in ((http, 2e6), (grpc, 3e6)):
        assert {one.value for one in estimates.of(series) if one.value is not None} == {ns}
        assert not any("no tag" in note for note in series.notes)


def test_requests_of_which_no_tag_says_whether_they_failed_are_named(tmp_path: Path) -> None:
    lines = [point(HTTP, 2.0, {"method": "GET"}, second) for second in range(40)]
    _, (series,) = importers.read(put(tmp_path, "\n".join([*lines, ""]).encode()))
    assert series.requests == 40
    assert any(note.startswith("Of 40 requests no tag says") for note in series.notes)


STAMPS: dict[str, Callable[[float], str]] = {
    "unix": lambda s: f"{int(s)}",
    "unix_milli": lambda s: f"{int(s * 1e3)}",
    "unix_micro": lambda s: f"{int(s * 1e6)}",
    "unix_nano": lambda s: f"{int(s * 1e6)}000",
    "rfc3339": lambda s: f"2026-01-01T00:00:{int(s % 60):02d}Z",
    "rfc3339_nano": lambda s: f"2026-01-01T00:00:{s % 60:06.3f}Z",
}


@pytest.mark.parametrize("name", STAMPS)
def test_time_stamps_of_every_form_have_their_unit(name: str, tmp_path: Path) -> None:
    """`K6_CSV_TIME_FORMAT` chooses it, and nothing else in the file names it."""
    stamp, is_whole = STAMPS[name], name in {"unix", "rfc3339"}
    ends = [1767225600 + 0.125 * number for number in range(320)]  # 40 s, eight each second
    rows = [row(HTTP, stamp(end), 1.0, {**OK, "expected_response": "true"}) for end in ends]
    _, (series,) = importers.read(put(tmp_path, "\n".join([HEAD, *rows, ""]).encode()))
    assert series.seconds == pytest.approx(39.9, abs=1.2 if is_whole else 0.1)
    assert any("whole seconds" in note for note in series.notes) == is_whole


def test_a_short_run_with_whole_seconds_has_no_rate(tmp_path: Path) -> None:
    """The sample took 10 ms, and its stamps say 1 s or none."""
    _, (series,) = importers.read(put(tmp_path, content("k6.csv")))
    assert (series.requests, series.seconds, series.rate) == (24, None, None)
    _, (exact,) = importers.read(put(tmp_path, content("k6.json")))
    assert exact.rate


def test_dropped_iterations_are_named_in_each_form(tmp_path: Path) -> None:
    lost = "dropped_iterations"
    as_json = [point(HTTP, 2.0, OK, 1), point(lost, 7, {}, 2), point(lost, 5, {}, 3)]
    as_csv = [HEAD, row(HTTP, 1767225600, 2.0, OK), row(lost, 1767225601, 12, {})]
    summary = json.loads(content("k6-export.json"))
    summary["metrics"][lost] = {"count": 12, "rate": 1.5}
    for lines in (as_json, as_csv, [json.dumps(summary)]):
        _, (series,) = importers.read(put(tmp_path, "\n".join([*lines, ""]).encode()))
        assert any("k6 dropped 12 iterations" in note for note in series.notes)


def test_a_summary_says_what_it_does_not_count_and_shows_no_time_of_no_reply(
    tmp_path: Path,
) -> None:
    trend = {"avg": 4.0, "min": 1.0, "med": 3.0, "max": 9.0, "p(90)": 5.0, "p(95)": 6.0}
    whole: dict[str, Any] = {"root_group": {}, "metrics": {GRPC: trend}}
    _, (grpc,) = importers.read(put(tmp_path, json.dumps(whole, indent=4).encode()))
    assert any("does not say how many" in note for note in grpc.notes)
    own = f"{HTTP}{{expected_response:true}}"
    whole["metrics"] = {
        HTTP: trend,
        own: dict.fromkeys(trend, 0),
        "http_reqs": {"count": 30, "rate": 10.0},
        "http_req_failed": {"passes": 30, "fails": 0, "value": 1},
    }
    _, (http,) = importers.read(put(tmp_path, json.dumps(whole, indent=4).encode()))
    assert (http.requests, sum(http.failed.values()), http.most_ns) == (0, 30, None)
    assert {one.refused for one in estimates.of(http)} == {estimates.NONE}


def test_the_order_within_a_whole_second_is_that_of_the_file(tmp_path: Path) -> None:
    """Sorted by length they would seem to depend on each other, and intervals would be wide."""
    rng = random.Random(3)  # noqa: S311 - no secret
    times = [rng.expovariate(0.2) for _ in range(3600)]
    expected = {**OK, "expected_response": "true"}
    widths = []
    for stamp in (STAMPS["unix"], STAMPS["unix_micro"]):
        ends = [stamp(1767225600 + n / 300) for n in range(len(times))]
        rows = [row(HTTP, end, ms, expected) for end, ms in zip(ends, times, strict=True)]
        _, (series,) = importers.read(put(tmp_path, "\n".join([HEAD, *rows, ""]).encode()))
        median = next(one for one in estimates.of(series) if one.q == 0.5)
        assert median.interval
        widths.append(median.interval.hi - median.interval.lo)
    assert widths[0] < 1.3 * widths[1]


def test_scenarios_of_one_file_are_apart(tmp_path: Path) -> None:
    """A warm-up is no part of what is measured after it; setup() has no scenario."""
    kinds = [({}, 900.0, 1), ({"scenario": "warm"}, 90.0, 3), ({"scenario": "main"}, 2.0, 6)]
    for is_csv in (True, False):
        lines = [HEAD] if is_csv else []
        for tags, ms, n in kinds:
            own = {**OK, **tags}
            lines += [row(HTTP, 1767225600, ms, own) if is_csv else point(HTTP, ms, own, 1)] * n
        _, series = importers.read(put(tmp_path, "\n".join([*lines, ""]).encode()))
        names = [(one.name, one.requests, one.most_ns) for one in series]
        assert names == [
            (OUTSIDE, 1, 900e6), ("warm", 3, 90e6), ("main", 6, 2e6), (ALL, 10, 900e6),
        ]  # fmt: skip
        assert any("all scenarios" in note for note in series[-1].notes)


def test_the_newer_summary_gives_the_same_numbers(tmp_path: Path) -> None:
    """`--new-machine-readable-summary` of k6 1.x: a list of metrics; null is unknown."""
    trend = {"avg": 3.1, "max": 122.8, "med": 0.335, "min": None, "p90": 0.868, "p95": 1.954}
    whole = {**trend, "avg": 2.9}
    metrics = [
        {"name": "http_req_failed", "type": "rate", "values": {"matches": 80, "total": 1001}},
        {"name": "http_req_duration{expected_response:true}", "type": "trend", "values": trend},
        {"name": "http_reqs", "type": "counter", "values": {"count": 1001}},
        {"name": "http_req_duration", "type": "trend", "values": whole},
        {"name": "dropped_iterations", "type": "counter", "values": {"count": 7}},
    ]
    config = {"duration": 5.005, "execution": "local", "script": "x" * 50_000}
    table = {"config": config, "metadata": {"k6_version": "1.8.1"}, "results": {"metrics": metrics}}
    form, (series,) = importers.read(put(tmp_path, json.dumps(table).encode()))
    assert form.name == "k6-summary"
    assert (series.requests, sum(series.failed.values())) == (921, 80)
    assert series.stated == {None: 3.1e6, 0.5: 335e3, 0.9: 868e3, 0.95: 1.954e6}
    assert series.seconds == pytest.approx(5.005)
    assert any("7 iterations" in note for note in series.notes)
    assert series.is_failed_known
