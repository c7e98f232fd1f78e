"""OpenTelemetry's JSON, as its file exporter writes it.

A file holds one kind of data, so metrics and spans are two formats. Numbers of 64 bits are texts,
ids are hexadecimal, and infinity is a word (proto3 JSON, with OTLP's exception for ids).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any

from sojourn.findings.findings import Findings
from sojourn.visible import in_line

Value = str | int | float
SCOPE = {"name": "sojourn"}
NS = 1e9


def line(findings: Findings, signal: str, scoped: str, items: list[dict[str, Any]]) -> bytes:
    """All of one signal: the study is the resource."""
    about = {"service.name": "sojourn", "sojourn.study": findings.study}
    resource = {"attributes": attributes(about)}
    whole = {signal: [{"resource": resource, scoped: [{"scope": SCOPE, **_named(signal, items)}]}]}
    text = json.dumps(whole, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode(errors="backslashreplace")


def _named(signal: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"metrics" if signal == "resourceMetrics" else "spans": items}


def attributes(values: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Names and values, each with its type."""
    return [{"key": name, "value": _typed(value)} for name, value in values.items()]


def _typed(value: Value) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": plain(value)}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": double(value)}


def plain(text: str) -> str:
    """A text of anybody, without control characters."""
    return in_line(text.replace("\n", " "))


def double(value: float) -> float | str:
    """A number, or proto3's word for one that JSON cannot write."""
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def begin_ns(findings: Findings) -> int:
    """When the study began, ns since 1970; 0 if it does not say so."""
    try:
        return int(datetime.fromisoformat(findings.started).timestamp() * NS)
    except (ValueError, OverflowError):
        return 0


def end_ns(findings: Findings) -> int:
    """When the study ended, ns since 1970; 0 if it does not say when it began."""
    began_ns = begin_ns(findings)
    return began_ns and began_ns + int(max(0.0, findings.wall_s) * NS)


def digest(parts: Iterable[object], size: int) -> str:
    """An id that is the same for the same things, in hexadecimal."""
    text = "\0".join(map(str, parts))
    return blake2b(text.encode(errors="replace"), digest_size=size).hexdigest()
