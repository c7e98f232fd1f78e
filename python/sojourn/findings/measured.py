"""What analysis is given: a study and what each of its points measured, as arrays.

Nothing here touches a file: `record.load` builds it from a record, a test by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sojourn.plan.left_out import LeftOut
from sojourn.plan.points import Outcome
from sojourn.plan.questions import Questions
from sojourn.samples.pace import Pace
from sojourn.samples.resources import Resources
from sojourn.samples.traced import Folded, TraceResult
from sojourn.spec import Study
from sojourn.stats.independence import Batched
from sojourn.stats.times import EMPTY, Floats, Times


@dataclass(frozen=True, slots=True, kw_only=True)
class Second:
    """One second of a run.

    Attributes:
        at_s: its start, s since the start of the measured part.
        achieved_rps: requests due in it that completed, requests/s.
        sojourn: of those requests.
    """

    at_s: float
    achieved_rps: float
    sojourn: Times


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """What a run says by itself, before it is held against any target (`analysis.run_stats`).

    Attributes:
        ratios: n / n_eff for each quantile that is asked for, and for the mean (None).
        is_steady: None if it was too short to tell; `unsteady` says why not.
        grows: its queue does: the load is more than is served.
        cold: why its warm-up was too short; "" if it was not.
        series: per slice: (s since start, achieved requests/s, p50 ns, p99 ns).
    """

    ratios: Mapping[float | None, Batched]
    is_steady: bool | None
    unsteady: tuple[str, ...]
    grows: bool
    cold: str
    series: tuple[tuple[float, float, float | None, float | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What a probe client saw beside the load, and why it cannot be believed; () if it can."""

    sojourn: Times
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One point as it was measured.

    Attributes:
        sojourn: of the measured part, outages excluded by the log (M27), lost ones included.
        seconds: in order; () if no interval log was stored.
        raw_sojourn_ns: raw times in order of intended arrival, `inf` if lost; None: not kept.
        raw_share: share of the requests that `raw_sojourn_ns` holds (a uniform sample).
        mean_ns: exact mean of the finite times, if the generator wrote it.
        lateness_ns: quantiles, ns, by q (None: mean) of the client's lag, where that is more than a
            little of the whole; it adds as much to those of the sojourn time at most (M3).
        stops_allowance: factor, at least 1, by which quantiles may be too high because of what was
            excluded with the client's stops (M33).
        timely_ratio, outage_share, excluded_share: None without a result.
        undisturbed: the part of `sojourn` that no stop of the server's CPUs reached (M29); None
            where no one watched them.
        traced: what the tracer found; None if it did not run.
        stacks: time by stack of the requests whose culprits were asked for.
        client_wait: "spin" or "sleep": how the client of a traced point waits for replies.
        wire_ns: ("mean" | "p50" | "p95" | "p99", ns) of a traced point or its untraced twin.
        cpu_ns_per_request: the server's, of the same.
        probe: what a client saw that asks seldom; None without one.
        culprits: who ran on the server's CPUs meanwhile, in words, the most time first.
        culprit_pids: processes of these by name, where a question asks about them; the rest lack.
        others: (task, share of the CPUs' time) of those who ran there, neither service nor
            neighbour; None: no one looked.
        worker_cpu_s: CPU time of each worker while load ran, s; () where they cannot be told apart.
        pace: how far the neighbour came with its own work; None: there was none, or it did not say.
        own: what the question alone reads of its points, a value of its `files`; None: nothing.
        resources: what the service used meanwhile; None in a record from before that was stored.
        alone: statistics of the run that were stored earlier; if they are there, `seconds` and
            `raw_sojourn_ns` may be missing.
    """

    outcome: Outcome
    sojourn: Times = EMPTY
    seconds: tuple[Second, ...] = ()
    raw_sojourn_ns: Floats | None = None
    raw_share: float = 1.0
    mean_ns: float | None = None
    timely_ratio: float | None = None
    undisturbed: Times | None = None
    outage_share: float | None = None
    excluded_share: float | None = None
    steal_share: float | None = None
    send_lag_p99_ns: float | None = None
    pick_up_p99_ns: float | None = None
    lateness_ns: Mapping[float | None, float] = field(default_factory=dict)
    stops_allowance: float = 1.0
    errors: Mapping[str, int] = field(default_factory=dict)
    traced: TraceResult | None = None
    stacks: Folded = ()
    client_wait: str = ""
    wire_ns: tuple[tuple[str, float | None], ...] = ()
    cpu_ns_per_request: float | None = None
    culprits: tuple[str, ...] = ()
    culprit_pids: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    others: tuple[tuple[str, float], ...] | None = None
    worker_cpu_s: tuple[float, ...] = ()
    alone: Alone | None = None
    probe: Probe | None = None
    own: object = None
    resources: Resources | None = None
    pace: Pace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyData:
    """A study and its points.

    Attributes:
        measured: in the order in which they were measured.
        setups: facts for people about each service, by label; under factors by `design.home`.
        cpu_kinds: who of each service had which kinds of CPU, as (who, kind), by the same; empty
            where all CPUs of the machine are alike.
        workers: how many threads or processes serve, by the same, where it is known: n of M/M/n.
        started: UTC, ISO 8601.
        is_complete: nothing is left to be measured, so the record says. A combination that shares
            runs with another one may still want what that one has.
        left_out: combinations of levels without an answer; `study` has them no more, but for those
            of which something was measured before they were given up.
        environment, noise, study_file, command: handed through to the findings.
        questions: all that may be asked.
    """

    study: Study
    measured: tuple[Measured, ...]
    questions: Questions
    setups: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    cpu_kinds: Mapping[str, frozenset[tuple[str, int]]] = field(default_factory=dict)
    workers: Mapping[str, int] = field(default_factory=dict)
    started: str = ""
    wall_s: float = 0.0
    environment: dict[str, object] = field(default_factory=dict)
    noise: tuple[tuple[str, str], ...] = ()
    study_file: str = ""
    command: str = ""
    reasons: tuple[str, ...] = ()
    is_complete: bool = False
    left_out: tuple[LeftOut, ...] = ()

    def of(self, label: str) -> tuple[Measured, ...]:
        """The points of one service."""
        return tuple(m for m in self.measured if m.outcome.point.service == label)
