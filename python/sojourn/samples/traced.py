"""Reads the tracer's result: `trace.json` and `tail.folded` of a traced point.

Records from before windows and culprits lack `mode`, `sampling` and `blame`: every request was
traced then, and no one was blamed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import Field

from sojourn import disk
from sojourn.errors import StoreFault
from sojourn.plan.points import Verdict
from sojourn.samples.contract import Table, table_of

FORM, MAJOR, TRACE = "sojourn.trace.result", 1, "trace.json"
FOLDED = "tail.folded"
BYTES = 64 * 1024**2  # of the stacks
_NEXT = re.compile(r"\n(?=(?:p[0-9.]+|others);)")  # a stack begins: not within a thread's name
_TIME = re.compile(r" ([0-9]+(?:\.[0-9]+)?)\Z")
# What no line and no XML may hold.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
Whole = Annotated[int, Field(ge=0, lt=2**62)]
Folded = tuple[tuple[tuple[str, ...], float], ...]


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


class Bounds(Table):
    """A 95 % interval from window to window; no upper end: too few requests lie above."""

    low: float
    high: float | None = None


class Price(Table):
    """What tracing in windows took, as the tracer measured it between windows.

    Attributes:
        asked, measured: share of the service's CPU time; None: the service did too little to tell.
        while_attached: share that is lost while the hooks are attached.
        is_assumed: `while_attached` rests on an assumption more than on what was seen.
        tracer_cpu_ratio: CPU time of the tracer itself over the length of the trace.
    """

    asked: float
    measured: float | None = None
    interval: Bounds | None = None
    while_attached: float
    is_assumed: bool
    tracer_cpu_ratio: float


class Accuracy(Table):
    """How well numbers are known from windows."""

    clusters: int
    p99_ns: Bounds | None = None


class Slowing(Table):
    """What hooks do to the service that is seen in windows, by the tracer's estimate.

    Attributes:
        cpu_ratio: CPU time of the same work in windows over that between them; None: too little of
            it to tell.
        busy: share of the busiest worker in windows.
        mean_ratio, tail_ratio: how many times as long requests are, all of them and those at and
            above p99; None: not to be known, as where the busiest worker has no idle time.
        tail_ratio_max: the tracer doubts itself where `tail_ratio` is larger.
    """

    cpu_ratio: float | None = None
    busy: float
    mean_ratio: float | None = None
    tail_ratio: float | None = None
    tail_ratio_max: float

    @property
    def is_doubted(self) -> bool:
        """Whether the tail is known not to be that of the untraced service, by the tracer's rule.

        Where too little was done to tell the tracer doubts itself too, for want of data.
        """
        if self.cpu_ratio is None:
            return False
        return self.tail_ratio is None or self.tail_ratio > self.tail_ratio_max


class Sampling(Table):
    """Which requests were traced: `windows` is None where all were."""

    windows: int | None = None
    duty: float = 1.0
    cost: Price | None = None
    accuracy: Accuracy | None = None
    slowing: Slowing | None = None


class SuspectShare(Table):
    """Who or what made requests of the tail slow, and how much of their excess it explains.

    Attributes:
        kind: "task", "softirq", "futex", "block_io", …, "unseen", or "stage": the rest.
        tids: threads it was, the one with the most time first.
        about: it in words, as part of a sentence.
        tail_mean_ns, body_mean_ns: per request of the tail, and of the others.
        share, share_low: of the excess; its lower bound (99.5 %, over twentieths of the trace).
        is_named: a culprit by the tracer's rule.
    """

    kind: str
    about: str
    tids: tuple[int, ...] = ()
    tail_mean_ns: float
    body_mean_ns: float
    share: float
    share_low: float
    is_named: bool


class Blame(Table):
    """Who or what made the slowest requests slow."""

    q: float
    tail_requests: int
    body_requests: int
    tail_mean_ns: float | None = None
    body_mean_ns: float | None = None
    verdict: Verdict
    reasons: tuple[str, ...]
    answer: str
    suspects: tuple[SuspectShare, ...]
    unexplained_share: float


class Worst(Table):
    """One of the slowest requests; `start_ns` counts from boot, as `started_ns` does."""

    start_ns: Whole
    total_ns: Whole
    peer_port: Whole = 0
    tid: Whole = 0
    bytes_in: Whole = 0
    bytes_out: Whole = 0
    stages: tuple[tuple[str, Whole], ...] = ()


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
    mode: str = "aggregate"
    sampling: Sampling = Sampling()
    blame: Blame | None = None
    started_unix_ns: Whole = 0
    started_ns: Whole = 0
    worst: tuple[Worst, ...] = ()

    @property
    def is_only_slowed(self) -> bool:
        """Whether the tracer doubts itself for nothing but what its hooks do to the tail."""
        slowing = self.sampling.slowing
        is_slowed = slowing is not None and slowing.is_doubted
        has_no_other = len(self.verdict.reasons) == 1
        return self.verdict.verdict is Verdict.UNKNOWN and is_slowed and has_no_other


def trace_result(folder: Path) -> TraceResult | None:
    """The trace of a point; None if it was not traced.

    Raises:
        StoreFault: the file is damaged or of a newer version.
    """
    at = folder / TRACE
    if not at.is_file():
        return None
    return table_of(TraceResult, at, FORM, MAJOR, what="trace")


def folded(folder: Path) -> Folded:
    """Time by stack, µs: the first frame says which requests, then the thread, then the frames.

    Threads name themselves, with control characters too: these become �, and a name of several
    lines stays one. A stack whose time cannot be read is stored, with no time.

    Raises:
        StoreFault: the file cannot be read, or no stack in it has a time.
    """
    at = folder / FOLDED
    if not at.is_file():
        return ()
    try:
        raw = disk.read_bytes(at, most=BYTES)
        text = raw.decode("utf-8", errors="replace").strip("\n")
    except (OSError, ValueError) as error:
        raise _damaged(at, str(error)) from None
    if text and not any(map(_TIME.search, text.splitlines())):
        raise _damaged(at, "none of them has a time")
    return tuple(map(_stack, _NEXT.split(text))) if text else ()


def _damaged(at: Path, why: str) -> StoreFault:
    return StoreFault(
        f"the stacks cannot be read: {why}",
        at=str(at),
        fix="remove this point's folder and run the study again: it resumes there",
    )


def _stack(line: str) -> tuple[tuple[str, ...], float]:
    """One line: frames, then their time.

    >>> _stack("p99;memcached;waits for a CPU;behind xz (cgroup batch) 120")
    (('p99', 'memcached', 'waits for a CPU', 'behind xz (cgroup batch)'), 120.0)
    """
    text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", line)
    time = _TIME.search(text)
    frames = text[: time.start()] if time else text
    return tuple(frames.split(";")), float(time[1]) if time else 0.0
