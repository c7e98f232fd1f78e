"""What a study found by tracing requests: stages, their price, and who made the slowest slow.

Times are float ns; None where there is no number.
"""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.findings.section import Section
from sojourn.findings.slow_request import SlowRequest
from sojourn.plan.points import Verdict
from sojourn.text.some import some

LISTED = 3  # threads of a suspect
OWN = "(its own process)"  # how the tracer ends the words of one: a restart gives it other threads


@dataclass(frozen=True, slots=True)
class Gap:
    """What the client sees beyond the server (M21): network, client, and what no hook covers.

    Attributes:
        q: quantile that is compared with the same quantile; None for the mean.
        wire_ns: from sent to done, at the client.
        server_ns: from first segment received to last segment sent, in the server's kernel.
    """

    q: float | None
    wire_ns: float
    server_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What tracing costs, measured on the spot: with it over without it, points taking turns.

    Attributes:
        pairs: runs with and without, the smaller number.
        throughput, mean, p99, cpu: ratios of medians; `cpu` is the server's CPU time per request.
    """

    pairs: int
    throughput: float | None
    mean: float | None
    p99: float | None
    cpu: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """What tracing in random windows took, as the tracer itself measured it on the spot.

    Attributes:
        count: windows in which requests arrived, of all runs.
        duty: share of the time with hooks attached.
        asked, measured: share of the service's CPU time; None: it did too little to tell.
        lo, hi: 95 % interval of `measured` from window to window, the widest of the runs.
        while_attached: share that is lost while the hooks are attached.
        p99_lo_ns, p99_hi_ns: the same of the total's p99; it knows nothing of what hooks add.
        mean_ratio, tail_ratio: how many times as long hooks make all requests, and those at and
            above p99, by estimate: of the worst run; None: not to be told.
        is_tail_slowed: by so much that the tracer does not take the tail for the untraced one.
    """

    count: int
    duty: float
    asked: float
    measured: float | None
    lo: float | None
    hi: float | None
    while_attached: float
    p99_lo_ns: float | None
    p99_hi_ns: float | None
    mean_ratio: float | None = None
    tail_ratio: float | None = None
    is_tail_slowed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """Who or what is found in slow requests more than in others.

    Attributes:
        kind: "task", "softirq", "futex", …, "unseen"; "stage": what the stage itself took.
        about: it in words: "run-queue delay behind `xz` (cgroup batch)".
        tail_ns, body_ns: mean per request of the tail, and of the others, in the runs that list it.
        share: of the tail's excess over the others, of all runs; shares of all suspects add to 1.
        share_low: lower bound of that (99.5 %), the least of the runs.
        named: runs in which the rule names it.
        is_named: in more than half of those that were asked.
        tids: threads it was, those of the first run before those of the next.
    """

    kind: str
    about: str
    tail_ns: float
    body_ns: float
    share: float
    share_low: float
    named: int
    is_named: bool
    tids: tuple[int, ...] = ()

    @property
    def who(self) -> str:
        """In words with the threads of another program, because names are shared."""
        if self.kind != "task" or not self.tids or self.about.endswith(OWN):
            return self.about
        mark = "thread" if len(self.tids) == 1 else "threads"
        return f"{self.about}, {mark} {some(list(map(str, self.tids)), LISTED)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprits:
    """Who or what made the slowest requests slow.

    Attributes:
        answer: in a sentence.
        runs: that are believed.
        requests, others: of tail and body that were looked into.
        stacks: (frames, µs); the first frame says which requests, then the thread, then the frames.
        verdict: `unknown` if no run is believed; then `reasons` says why.
    """

    q: float
    answer: str
    runs: int
    requests: int
    others: int
    tail_ns: float
    body_ns: float
    suspects: tuple[Suspect, ...]
    unexplained_share: float
    stacks: tuple[tuple[tuple[str, ...], float], ...]
    verdict: Verdict
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Where the time of requests goes under one setting (L12, C8, C9).

    Attributes:
        name: for people: "unloaded", "90 % load", …
        neighbour: who ran beside the service, as KIND or KIND:WHERE; "none": nobody.
        is_alone: there was one request at a time.
        requests, tail_requests: all that were traced, and those of them at and above p99.
        stages, tail: mean time per stage, ns, of both.
        mean_ns, tail_mean_ns: mean total of the same; the stages, residual included, add to it.
        quantiles: of the total, (q, ns): medians over runs.
        causes, tail_causes: share of the time by cause (L3).
        cpu: user, kernel, and softIRQ's share of the kernel (L11).
        client_wait: "spin" or "sleep": how the client waits for replies; "" if it is not told.
        windows: None: every request was traced.
        culprits: None: nobody was asked for.
        remarks: what to know of the numbers, which stand.
        slowest: some of the slowest requests, the slowest first.
    """

    name: str
    neighbour: str
    is_alone: bool
    fraction: float
    offered_rps: float
    requests: int
    unmatched_share: float | None
    runs: int
    stages: tuple[tuple[str, float], ...]
    tail: tuple[tuple[str, float], ...]
    mean_ns: float | None
    tail_mean_ns: float | None
    residual_ns: float | None
    quantiles: tuple[tuple[float, float | None], ...]
    causes: tuple[tuple[str, float], ...]
    tail_causes: tuple[tuple[str, float], ...]
    cpu: tuple[tuple[str, float], ...]
    gaps: tuple[Gap, ...]
    cost: Cost
    verdict: Verdict
    reasons: tuple[str, ...]
    client_wait: str = ""
    windows: Windows | None = None
    culprits: Culprits | None = None
    tail_requests: int = 0
    remarks: tuple[str, ...] = ()
    slowest: tuple[SlowRequest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown(Section):
    """Stage by stage, a column per setting in the order of the papers' tables.

    Attributes:
        top: name of the column that `answer` is about: the highest load that the tracer left as it
            was, if there is one; "" where nothing is known.
        accused: the column whose culprits are shown first; "" where none were asked for.
    """

    columns: tuple[Stages, ...]
    top: str = ""
    accused: str = ""

    @property
    def slow_requests(self) -> tuple[SlowRequest, ...]:
        """The slowest requests of all settings together."""
        return tuple(one for column in self.columns for one in column.slowest)
