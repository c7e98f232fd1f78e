"""OpenTelemetry's files have the record's numbers, and its messages read them."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn.findings.findings import Findings
from sojourn.findings.section import Section
from sojourn.findings.slow_request import SlowRequest
from sojourn.report import testing
from sojourn.report.writers import asked, export
from sojourn.testing_questions import parts

NOON = 1_716_890_400_000_000_000
EVIL = 'a"b\x1b[2J\n\ud800'


class Traced(Section):
    """A question that looked into two requests."""

    @property
    def slow_requests(self) -> tuple[SlowRequest, ...]:
        stages = (("rx", 3_000), ("epoll", 40_000), ("application", 5_000))
        whole = SlowRequest(
            run="trace-1",
            start_unix_ns=NOON,
            total_ns=50_000,
            stages=stages,
            thread=7,
            peer_port=4711,
            bytes_in=20,
            bytes_out=300,
        )
        return (whole, replace(whole, peer_port=4712, total_ns=48_000))


def traced() -> Findings:
    result = testing.findings()
    first, *rest = result.services
    evil = replace(first, service=EVIL, sections={"traced": Traced()})
    return replace(result, services=(evil, *rest))


def written(tmp_path: Path, name: str, result: Findings) -> Any:
    path = tmp_path / "out.jsonl"
    export(result, asked([f"{name}={path}"]), parts())
    (line,) = path.read_text().splitlines()
    return json.loads(line)


def metrics(tmp_path: Path, result: Findings) -> dict[str, dict[str, Any]]:
    (resource,) = written(tmp_path, "otlp", result)["resourceMetrics"]
    (scope,) = resource["scopeMetrics"]
    return {one["name"]: one for one in scope["metrics"]}


def spans(tmp_path: Path, result: Findings) -> list[dict[str, Any]]:
    (resource,) = written(tmp_path, "otlp-traces", result)["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    return list(scope["spans"])


def based(value: Any) -> Any:
    """Ids in base64, as protobuf reads bytes: OTLP's own JSON has them in hexadecimal."""
    if isinstance(value, list):
        return [based(one) for one in value]
    if not isinstance(value, dict):
        return value
    ids = {"traceId", "spanId", "parentSpanId"}
    return {
        name: b64encode(bytes.fromhex(one)).decode() if name in ids else based(one)
        for name, one in value.items()
    }


def length(span: dict[str, Any]) -> int:
    return int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])


def test_buckets_of_a_load_hold_all_its_requests_and_gauges_all_its_runs(tmp_path: Path) -> None:
    result = testing.findings()
    known = metrics(tmp_path, result)
    points = [point for service in result.services for point in service.points]
    drawn = [point for point in points if point.distribution and point.mean.requests]
    times = known["sojourn.time"]["histogram"]["dataPoints"]
    assert len(times) == len(drawn)
    for one, point in zip(times, drawn, strict=True):
        counts = list(map(int, one["bucketCounts"]))
        assert len(counts) == len(one["explicitBounds"]) + 1
        assert one["explicitBounds"] == sorted(set(one["explicitBounds"]))
        assert sum(counts) == int(one["count"]) == point.mean.requests
        assert min(counts) >= 0
    runs = [run for point in points for run in point.runs]
    done = known["sojourn.run.done"]["gauge"]["dataPoints"]
    assert [one["asDouble"] for one in done] == [run.achieved_rps for run in runs]
    quantiles = known["sojourn.run.quantile"]["gauge"]["dataPoints"]
    wanted = [ns for run in runs for _, ns in run.quantiles if ns is not None]
    assert [float(one["asDouble"]) for one in quantiles] == [ns / 1e9 for ns in wanted]
    assert math.inf in wanted, "a quantile that lost requests decide"


def test_a_parent_lasts_as_long_as_its_children_together(tmp_path: Path) -> None:
    every = spans(tmp_path, traced())
    parents = [one for one in every if "parentSpanId" not in one]
    assert len(parents) == 2
    assert len({one["spanId"] for one in every}) == len(every)
    for parent, names, total in zip(
        parents,
        (["rx", "epoll", "application", "not explained"], ["rx", "epoll", "application"]),
        (50_000, 48_000),
        strict=True,
    ):
        children = [one for one in every if one.get("parentSpanId") == parent["spanId"]]
        assert [one["name"] for one in children] == names
        assert sum(map(length, children)) == length(parent) == total
        assert {one["traceId"] for one in children} == {parent["traceId"]}
        assert children[0]["startTimeUnixNano"] == parent["startTimeUnixNano"] == str(NOON)


def test_stages_longer_than_their_request_lengthen_the_parent_and_no_child(tmp_path: Path) -> None:
    class Odd(Section):
        @property
        def slow_requests(self) -> tuple[SlowRequest, ...]:
            return tuple(replace(one, total_ns=1_000) for one in Traced().slow_requests[:1])

    result = testing.findings()
    first, *rest = result.services
    odd = replace(result, services=(replace(first, sections={"odd": Odd()}), *rest))
    parent, *children = spans(tmp_path, odd)
    assert sum(map(length, children)) == length(parent) == 48_000
    total = {one["key"]: one["value"] for one in parent["attributes"]}["total_ns"]
    assert total == {"intValue": "1000"}


def test_a_study_without_traces_has_no_span_and_names_have_no_control_character(
    tmp_path: Path,
) -> None:
    assert spans(tmp_path, testing.findings()) == []
    text = json.dumps(spans(tmp_path, traced()), ensure_ascii=False)
    assert "\\u001b" not in text
    assert "\\u000a" not in text
    assert "x1b" in text


def test_the_messages_of_opentelemetry_read_both(tmp_path: Path) -> None:
    reason = "opentelemetry-proto is not installed"
    json_format = pytest.importorskip("google.protobuf.json_format", reason=reason)
    measured = pytest.importorskip("opentelemetry.proto.metrics.v1.metrics_pb2", reason=reason)
    followed = pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2", reason=reason)
    result = traced()
    data = json_format.ParseDict(written(tmp_path, "otlp", result), measured.MetricsData())
    named = {one.name: one for one in data.resource_metrics[0].scope_metrics[0].metrics}
    points = [point for service in result.services for point in service.points]
    means = [run.mean_ns for point in points for run in point.runs if run.mean_ns is not None]
    read = [one.as_double * 1e9 for one in named["sojourn.run.mean"].gauge.data_points]
    assert read == pytest.approx(means)
    quantiles = named["sojourn.run.quantile"].gauge.data_points
    assert any(math.isinf(one.as_double) for one in quantiles)
    raw = based(written(tmp_path, "otlp-traces", result))
    data = json_format.ParseDict(raw, followed.TracesData())
    (parent, *children) = data.resource_spans[0].scope_spans[0].spans[:5]
    lengths = [one.end_time_unix_nano - one.start_time_unix_nano for one in (parent, *children)]
    assert lengths[0] == sum(lengths[1:]) == 50_000
    assert (len(parent.trace_id), len(parent.span_id)) == (16, 8)
    assert parent.kind == followed.Span.SPAN_KIND_SERVER


def test_a_study_without_a_begin_is_not_of_1970(tmp_path: Path) -> None:
    """OpenTelemetry takes a time of 0 for one that is not known."""
    known = replace(testing.findings(), started="2026-01-01T00:00:00+00:00", wall_s=600.0)
    for started, times in ((known.started, {"1767226200000000000"}), ("", {"0"})):
        every = metrics(tmp_path, replace(known, started=started))
        points = every["sojourn.time"]["histogram"]["dataPoints"]
        assert {one["timeUnixNano"] for one in points} == times
