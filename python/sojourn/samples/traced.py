"""The tracer's result as it is read: `trace.json` beside a traced point."""

from __future__ import annotations

from pathlib import Path

from sojourn.plan.points import Verdict
from sojourn.samples.contract import Table, table_of

FORM, MAJOR, TRACE = "sojourn.trace.result", 1, "trace.json"


class Times(Table):
    """Times of one stage, or of the total."""

    mean_ns: float | None
    p50_ns: float | None
    p95_ns: float | None
    p99_ns: float | None


class Group(Table):
    """One stage as the papers name it."""

    name: str
    mean_ns: float | None


class CauseShare(Table):
    """A cause's share of the requests' time (L3)."""

    cause: str
    share: float


class Tail(Table):
    """The requests at and above a quantile."""

    q: float
    requests: int
    total: Times
    groups: tuple[Group, ...]
    causes: tuple[CauseShare, ...]


class CpuSplit(Table):
    """CPU time of the service by mode (L11)."""

    user_share: float | None
    kernel_share: float | None
    softirq_share_of_kernel: float | None


class Trust(Table):
    """Whether the tracer believes itself."""

    verdict: Verdict
    reasons: tuple[str, ...]


class TraceResult(Table):
    """One run of the tracer."""

    requests: int
    matched: int
    unmatched_share: float
    dropped: int
    verdict: Trust
    answer: str
    total: Times
    residual: Times
    groups: tuple[Group, ...]
    causes: tuple[CauseShare, ...]
    tail: Tail
    cpu: CpuSplit


def trace_result(folder: Path) -> TraceResult | None:
    """The trace of a point; None if it was not traced.

    Raises:
        StoreFault: the file is damaged or of a newer version.
    """
    at = folder / TRACE
    if not at.is_file():
        return None
    return table_of(TraceResult, at, FORM, MAJOR, what="trace")
