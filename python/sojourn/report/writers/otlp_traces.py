"""The slowest traced requests as OpenTelemetry spans: a child for each stage.

A parent lasts as long as its children together. What no stage explains is a child of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sojourn.findings.findings import Findings
from sojourn.findings.slow_request import SlowRequest
from sojourn.report.writers import otlp
from sojourn.report.writers.writer import Writer

INTERNAL, SERVER = 1, 2  # kinds of span
REST = "not explained"


def content(findings: Findings) -> bytes:
    """All spans; none where the study traced no request."""
    spans = [
        span
        for service in findings.services
        for section in service.sections.values()
        for request in section.slow_requests
        for span in _spans(findings.study, service.service, request)
    ]
    return otlp.line(findings, "resourceSpans", "scopeSpans", spans)


def _spans(study: str, service: str, request: SlowRequest) -> Iterator[dict[str, Any]]:
    """The request, then its stages one after another: a record has no more of their order."""
    rest = request.total_ns - sum(ns for _, ns in request.stages)
    stages = [*request.stages, (REST, rest)] if rest > 0 else request.stages
    own = (study, service, request.run, request.start_unix_ns, request.thread, request.peer_port)
    trace, parent = otlp.digest(own, 16), otlp.digest(own, 8)
    about: dict[str, otlp.Value] = {
        "service": service,
        "run": request.run,
        "total_ns": request.total_ns,
        "thread.id": request.thread,
        "client.port": request.peer_port,
        "bytes_in": request.bytes_in,
        "bytes_out": request.bytes_out,
    }
    at_ns = request.start_unix_ns
    children = []
    for number, (name, ns) in enumerate(stages):
        child = otlp.digest((*own, number), 8)
        children.append(
            _span(trace, child, name, at_ns, at_ns + ns)
            | {"parentSpanId": parent, "kind": INTERNAL}
        )
        at_ns += ns
    yield _span(trace, parent, f"request to {service}", request.start_unix_ns, at_ns) | {
        "kind": SERVER,
        "attributes": otlp.attributes(about),
    }
    yield from children


def _span(trace: str, own: str, name: str, begin_ns: int, end_ns: int) -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": own,
        "name": otlp.plain(name),
        "startTimeUnixNano": str(begin_ns),
        "endTimeUnixNano": str(end_ns),
    }


WRITER = Writer(
    name="otlp-traces",
    about="spans of the slowest traced requests, as OpenTelemetry's JSON",
    content=content,
)
