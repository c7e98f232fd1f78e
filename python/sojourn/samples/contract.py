"""The generator's result as it is read: versions checked, every field typed.

A result of the same major version may have more keys than are known here; they are ignored. One of
a newer major version is refused, for its known keys may mean something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sojourn.errors import StoreFault
from sojourn.plan.points import Verdict
from sojourn.quantiles import keys
from sojourn.samples import histogram
from sojourn.samples.histogram import Histogram
from sojourn.samples.versioned import OF_POINT, check_version, read_json

RESULT = "sojourn.load.result"
RESULT_MAJOR = 1


T = TypeVar("T", bound=BaseModel)


class Table(BaseModel):
    """Keys that are not known here are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Span(Table):
    """Times of many requests; quantiles are None where lost requests decide them."""

    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    quantiles: Mapping[float, float | None] = Field(default_factory=dict)
    max: float | None
    count: int
    lost: int
    hdr: str

    @model_validator(mode="before")
    @classmethod
    def _by_number(cls, table: object) -> object:
        """Every quantile that the result has, by its number; an older one has fewer."""
        if not isinstance(table, Mapping):
            return table
        return {**table, "quantiles": {q: table[k] for k, q in keys().items() if k in table}}

    def at(self, q: float) -> float | None:
        """A quantile, ns; None where lost requests decide it, or the result does not have it."""
        return self.quantiles.get(q)

    def histogram(self, at: str) -> Histogram:
        """The finite times; `at` is named if they cannot be read."""
        return histogram.decode(self.hdr, at=at)


class Outages(Table):
    """Times in which the instrument itself did not run (M27).

    Attributes:
        share_time: of the measured time, 0 to 1.
        share_excluded: of the requests, left out by the log, 0 to 1.
        allowance: factor by which quantiles are too high at most because of them, 1 or more (M33).
        log: start (ns after the start of the measured part) and length (ns) of each.
    """

    count: int
    total_ns: int
    longest_ns: int
    share_time: float
    share_excluded: float
    allowance: float = Field(default=1.0, ge=1.0)
    log: list[tuple[int, int]] = Field(default_factory=list)


class ServerStops(Table):
    """Times in which the server's CPUs were kept from the service, by an independent log (M29).

    Attributes:
        share_disturbed: of the requests that count, due in such times or the recovery from them.
        share_taken: of these CPUs' time, by others than the clients.
        threads: of the service that were watched.
        lacks: what could not be watched, and why.
    """

    count: int
    total_ns: int
    share_disturbed: float = 0.0
    share_taken: float = 0.0
    threads: int = 0
    lacks: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all that kept the service from its CPUs is in the log."""
        return self.threads > 0 and not self.lacks


class Checks(Table):
    """The run's tests on itself (M3, M7)."""

    rate_error: float
    arrival_fit_a2: float | None = None
    arrival_fit_limit: float | None = None
    dispersion: float | None = None
    poll_gap_p99_ns: float | None = None
    poll_gap_max_ns: float | None = None
    backlog_max: int = 0
    cpu_share_max: float = 0.0
    server_idle_share: float | None = None
    steal_share: float | None = None
    server_steal_share: float | None = None


class Windows(Table):
    """Requests and misses by windows of the time at which they were due: all of them, exactly.

    Attributes:
        length_ns: of each, ns.
        n, k: requests that count, and those of them that took longer than the bound or were lost.
        over: requests that completed and took longer than the bound.
        disturbed: windows, ascending, in which the server's CPUs were kept from the service (M29).
    """

    length_ns: int = Field(gt=0)
    n: tuple[int, ...]
    k: tuple[int, ...]
    over: int
    disturbed: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        count = len(self.n)
        if count != len(self.k) or not all(0 <= at < count for at in self.disturbed):
            raise ValueError("n, k and disturbed speak of different windows")
        if not all(0 <= missed <= every for every, missed in zip(self.n, self.k, strict=True)):
            raise ValueError("k is of the requests of n")
        return self


class Cost(Table):
    """What the instrument used per request: CPU time, system calls, and by which way."""

    cpu_ns_per_request: float
    syscalls_per_request: float | None = None
    transport: str = ""
    wait: str = ""


class Replies(Table):
    """What replies reported.

    Attributes:
        count: requests of the measured part that were answered; 0: not counted.
        statuses: what was no success, by name, such as "HTTP 503" or "GOAWAY".
    """

    count: int = 0
    statuses: dict[str, int] = Field(default_factory=dict)


class LoadResult(Table):
    """One run of the generator, as it is written in `load.json`."""

    schema_version: str = Field(alias="schema")
    program: str
    job: dict[str, Any]
    started_unix_ns: int
    measured_s: float
    offered_rps: float
    achieved_rps: float
    requests: int
    errors: dict[str, int]
    reply_bytes: int
    replies: Replies = Field(default_factory=Replies)
    timely_ratio: float
    outages: Outages
    verdict: Verdict
    reasons: tuple[str, ...]
    lateness: tuple[str, ...] = ()
    lateness_ns: float | None = None
    upper_bounds: bool = False
    sojourn_ns: Span
    sojourn_all_ns: Span
    wire_ns: Span
    first_byte_ns: Span
    send_lag_ns: Span
    pick_up_ns: Span
    probe_sojourn_ns: Span | None
    undisturbed_ns: Span | None = None
    windows: Windows | None = None
    server_stops: ServerStops | None = None
    checks: Checks
    cost: Cost

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        windows, span = self.windows, self.sojourn_ns
        if windows and (sum(windows.n), sum(windows.k)) != (span.count, windows.over + span.lost):
            raise ValueError("the windows do not add up to the requests of sojourn_ns")
        return self


def load_result(path: Path) -> LoadResult:
    """Read and check one `load.json`.

    Raises:
        StoreFault: it is missing, damaged, or of a newer version.
    """
    return table_of(LoadResult, path, RESULT, RESULT_MAJOR, what="result")


def table_of(form: type[T], path: Path, name: str, major: int, *, what: str) -> T:
    """Read and check one JSON file of the lab that holds a `form`.

    Args:
        form: the model that it follows.
        path: the file.
        name: of its schema.
        major: newest major version of it that is known.
        what: it is, for people.

    Raises:
        StoreFault: it is missing, damaged, or of a newer version.
    """
    table = read_json(path)
    check_version(table, name, major, at=path)
    try:
        return form.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise StoreFault(
            f"the {what} does not follow its contract: {where}: {first['msg'].lower()}",
            at=str(path),
            fix=OF_POINT,
        ) from None
