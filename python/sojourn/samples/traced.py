"""The tracer's result as it is read: `trace.json` beside a traced point."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from sojourn.errors import StoreFault
from sojourn.plan.points import Verdict
from sojourn.samples.contract import check_version, read_json

FORM, MAJOR, TRACE = "sojourn.trace.result", 1, "trace.json"


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Times(_Table):
    """Times of one stage, or of the total."""

    mean_ns: float | None
    p50_ns: float | None
    p95_ns: float | None
    p99_ns: float | None


class Group(_Table):
    """One stage as the papers name it."""

    name: str
    mean_ns: float | None


class CauseShare(_Table):
    """A cause's share of the requests' time (L3)."""

    cause: str
    share: float


class Tail(_Table):
    """The requests at and above a quantile."""

    q: float
    requests: int
    total: Times
    groups: tuple[Group, ...]
    causes: tuple[CauseShare, ...]


class CpuSplit(_Table):
    """CPU time of the service by mode (L11)."""

    user_share: float | None
    kernel_share: float | None
    softirq_share_of_kernel: float | None


class Trust(_Table):
    """Whether the tracer believes itself."""

    verdict: Verdict
    reasons: tuple[str, ...]


class TraceResult(_Table):
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
    table = read_json(at)
    check_version(table, FORM, MAJOR, at=at)
    try:
        return TraceResult.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise StoreFault(
            f"the trace does not follow its contract: {where}: {first['msg'].lower()}",
            at=str(at),
            fix="remove this point's folder and run the study again: it resumes there",
        ) from None
