"""The judgement: all parts of the analysis on one load, pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sojourn.errors import Exit
from sojourn.referee.held_back import Turnaround, turnaround
from sojourn.referee.limit import Evidence, Limit, limit
from sojourn.referee.load import Load
from sojourn.referee.requests import Requests, Times
from sojourn.referee.shape import Shape, shape
from sojourn.referee.stops import Gaps, gaps
from sojourn.referee.usage import Sample, Usage, usage
from sojourn.referee.waits import Waits, waits
from sojourn.stats import independence, quantiles
from sojourn.stats.interval import Estimate
from sojourn.stats.times import from_values

QUANTILES = (0.5, 0.9, 0.99, 0.999)
LEAST = 100  # requests
PIPELINED = 0.01  # share from which requests cannot be told from each other
LONGER = 1.1  # users wait so much longer, and the tool's number is not theirs
UNSEEN = 0.1  # share of the time without requests, from which stops may have been missed
LONG_PAUSE = 5  # times what is looked at: a pause that is no jitter
USUAL = 10  # times the median reply: a gap that is no usual reply
PIECE_MIN = 50  # requests between two stops


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One quantile.

    Attributes:
        server: from arrival to reply, as the server's side saw it.
        users: from when it was due; None: not reconstructed.
        lo, hi: bounds of it by what is not known of requests that were never sent, ns.
    """

    q: float
    server: Estimate
    users: Estimate | None
    lo: float | None
    hi: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the referee says.

    Attributes:
        load: what was asked of the tool.
        requests, connections, seconds: that came.
        due: that were due by the rate; None: no rate is known.
        came_rps: mean rate of arrivals.
        users_rps: rate at which users are taken to come; None: not reconstructed.
        is_bound: no rate is known: `users` is an upper bound, for users at the mean rate.
        shape: how requests arrived, stops left out.
        turnaround: what followed replies.
        gaps: stops of the server and pauses of the tool.
        late, omitted: users whose request was sent late, or never.
        limit: who kept the load from being larger.
        client, server: what their threads did; None: not seen.
        accept_queue, overflows: the most that waited to be accepted; and that were refused.
        numbers: quantiles.
        unknown: why there is no answer; () if there is one.
        doubts: what a reader must know.
    """

    load: Load
    requests: int
    connections: int
    seconds: float
    due: float | None
    came_rps: float
    users_rps: float | None
    is_bound: bool
    shape: Shape
    turnaround: Turnaround
    gaps: Gaps
    late: int
    omitted: int
    limit: Limit
    client: Usage | None
    server: Usage | None
    accept_queue: int
    overflows: int
    numbers: tuple[Number, ...]
    unknown: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """In one word: "fair", "misleading" or "unknown"."""
        if self.unknown:
            return "unknown"
        return "misleading" if self.misleading else "fair"

    @property
    def misleading(self) -> str:
        """Why the tool's numbers are not what users would have waited; "" if they are."""
        if "client" in self.limit.who:
            return "the client was the limit: its own delays are in the tool's numbers"
        if self.limit.who == "connections" and self.load.rate_rps:
            return "it did not reach its rate, because its connections were busy"
        is_intended = self.load.facts is not None and self.load.facts.clock == "intended"
        if is_intended and not self.omitted:
            return ""
        for number in reversed(self.numbers):
            server, users = number.server.value, number.users and number.users.value
            if server and users and users > LONGER * server:
                return "while the server stood still, requests were late or left out"
        return ""

    @property
    def exit(self) -> Exit:
        """Exit code."""
        codes = {"fair": Exit.OK, "misleading": Exit.VIOLATED, "unknown": Exit.UNKNOWN}
        return codes[self.verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """Samples of the threads of both sides; () where nothing was seen."""

    client: Sequence[Sample] = ()
    server: Sequence[Sample] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What the trace says of itself: why it is not valid, and what its reader must know."""

    unknown: tuple[str, ...] = ()
    doubts: tuple[str, ...] = field(default=())


def judge(
    requests: Requests,
    load: Load,
    *,
    threads: Threads | None = None,
    trace: Loss | None = None,
) -> Judgement:
    """Judge one load.

    Args:
        requests: as they came to the server.
        load: as it was asked for.
        threads: what the threads of both sides did.
        trace: what the trace says of itself.
    """
    threads, trace = threads or Threads(), trace or Loss()
    rate = load.rate_rps or _usual_rate(requests)
    seen = _gaps(requests, rate, is_rated=load.rate_rps is not None)
    begin, end = (int(requests.start_ns[0]), int(requests.end_ns.max())) if requests.n else (0, 0)
    client = usage(threads.client, begin, end) if threads.client else None
    server = usage(threads.server, begin, end) if threads.server else None
    due = load.rate_rps * requests.seconds + 1 if load.rate_rps else None
    turned = turnaround(requests)
    limited = limit(
        Evidence(
            rate_rps=load.rate_rps,
            due=due or 0.0,
            sent=requests.n,
            seconds=requests.seconds,
            seen=seen,
            held_share=turned.share,
            client=client,
            server=server,
        )
    )
    unknown = (*trace.unknown, *_unknown(requests, seen, turned))
    refused = _refused(load, limited)
    if limited.who == "unknown":
        unknown = (*unknown, f"the tool did not reach its rate: {limited.why}")
    users = waits(requests, seen) if requests.n and rate and not (unknown or refused) else None
    return Judgement(
        load=load,
        requests=requests.n,
        connections=requests.connections,
        seconds=requests.seconds,
        due=due,
        came_rps=requests.mean_rps,
        users_rps=rate if users else None,
        is_bound=load.rate_rps is None,
        shape=shape(_pieces(requests, seen)),
        turnaround=turned,
        gaps=seen,
        late=sum(stop.held for stop in seen.stops),
        omitted=sum(stop.omitted for stop in seen.stops),
        limit=limited,
        client=client,
        server=server,
        accept_queue=max((one.accept_queue for one in threads.server), default=0),
        overflows=_overflows(threads.server),
        numbers=_numbers(requests, users),
        unknown=unknown,
        doubts=(*trace.doubts, *refused, *_doubts(turned)),
    )


def _gaps(requests: Requests, rate: float | None, *, is_rated: bool) -> Gaps:
    """Of a tool as fast as it goes, short gaps are how the server usually answers."""
    if not rate:
        return Gaps(stops=(), paused_ns=0, pauses=0, blind_ns=0)
    usual = 0 if is_rated else round(USUAL * float(np.median(requests.total_ns)))
    return gaps(requests, rate, usual)


def _usual_rate(requests: Requests) -> float | None:
    """Of a tool whose rate is not known: the rate outside of long gaps."""
    if requests.n < LEAST or requests.mean_rps <= 0:
        return None
    steps = np.diff(requests.start_ns)
    bound = np.log(requests.n / 0.01) * 1e9 / requests.mean_rps
    usual = steps[steps <= bound]
    total = float(usual.sum())
    return len(usual) / total * 1e9 if total > 0 else None


def _unknown(requests: Requests, seen: Gaps, turned: Turnaround) -> tuple[str, ...]:
    reasons = []
    if requests.n < LEAST:
        reasons.append(f"{requests.n} requests came, and {LEAST} are needed")
    if turned.pipelined > PIPELINED:
        reasons.append(
            f"{turned.pipelined:.0%} of the requests came before the reply to the one before "
            "(pipelining, HTTP/2): requests and replies cannot be matched one by one"
        )
    span = requests.seconds * 1e9
    is_long = seen.pauses > 0 and seen.paused_ns / seen.pauses > LONG_PAUSE * seen.blind_ns
    if is_long and seen.paused_ns > UNSEEN * span:
        reasons.append(
            f"in {seen.paused_ns / span:.0%} of the time nothing was sent and the server had "
            "nothing to do: a stop in such a pause is in no number"
        )
    return tuple(reasons)


def _refused(load: Load, limited: Limit) -> tuple[str, ...]:
    """Why users' waits are not reconstructed: the queue in the tool would grow for ever."""
    if load.rate_rps is None or limited.who in {"none", "server"}:
        return ()
    text = (
        "What users would have waited is not given: the tool did not reach "
        f"{load.rate_rps:,.0f} requests/s, so their waits would grow as long as it runs."
    )
    return (text,)


def _doubts(turned: Turnaround) -> tuple[str, ...]:
    lines = []
    if 0 < turned.pipelined <= PIPELINED:
        lines.append("A few requests came before the reply to the one before.")
    return tuple(lines)


def _overflows(samples: Sequence[Sample]) -> int:
    return max(0, samples[-1].overflows - samples[0].overflows) if samples else 0


def _pieces(requests: Requests, seen: Gaps) -> list[Times]:
    """Arrivals between stops; all of them where stops leave too little."""
    if not requests.n:
        return []
    marks = [0]
    for stop in seen.stops:
        marks += [stop.last + 1, stop.last + 1 + stop.held]
    marks.append(requests.n)
    parts = [requests.start_ns[a:b] for a, b in zip(marks[::2], marks[1::2], strict=True)]
    parts = [part for part in parts if len(part) >= PIECE_MIN]
    return parts or [requests.start_ns]


def _numbers(requests: Requests, users: Waits | None) -> tuple[Number, ...]:
    if not requests.n:
        return ()
    server = _estimates(requests.total_ns.astype(np.float64))
    waited = _estimates(users.wait_ns) if users else [None] * len(QUANTILES)
    lo = _quantiles(users.lo_ns) if users else [None] * len(QUANTILES)
    hi = _quantiles(users.hi_ns) if users else [None] * len(QUANTILES)
    return tuple(
        Number(q=q, server=a, users=b, lo=c, hi=d)
        for q, a, b, c, d in zip(QUANTILES, server, waited, lo, hi, strict=True)
    )


def _quantiles(values: NDArray[np.float64]) -> list[float]:
    times = from_values(values)
    return [times.quantile(q) or 0.0 for q in QUANTILES]


def _estimates(in_order: NDArray[np.float64]) -> list[Estimate]:
    """Quantiles with intervals. Requests behind one stop are one event: batches show that."""
    pieces = np.array_split(in_order, 2 * independence.BATCHES)
    cut = independence.batches([from_values(piece) for piece in pieces if len(piece)])
    times = from_values(in_order)
    estimates = []
    for q in QUANTILES:
        ratio = 1.0
        if cut is not None:
            ratio = independence.widened(independence.of_cut(cut, q), 0.95)
        estimates.append(quantiles.estimate(times, q, correlation=ratio))
    return estimates
