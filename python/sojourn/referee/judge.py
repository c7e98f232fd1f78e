"""The judgement: all parts of the analysis on one load, pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sojourn.referee.estimates import first_byte_ns, numbers
from sojourn.referee.held_back import Turnaround, turnaround
from sojourn.referee.judgement import Judgement, Loss, Threads
from sojourn.referee.limit import Evidence, Limit, limit
from sojourn.referee.load import Load
from sojourn.referee.requests import Requests, Times
from sojourn.referee.shape import shape
from sojourn.referee.stops import Gaps, gaps
from sojourn.referee.usage import Sample, usage
from sojourn.referee.waits import imagined, waits

LEAST = 100  # requests
PIPELINED = 0.01  # share from which requests cannot be separated from each other
LONG_PAUSE = 5  # times what is looked at: a pause that is no jitter
FASTER = 1.5  # times the rate of users: a tool that sends as fast as replies come
USUAL = 10  # times the median reply: a gap that is no usual reply
PIECE_MIN = 50  # requests between two stops


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
    is_faster = load.rate_rps is not None and requests.mean_rps > FASTER * load.rate_rps
    rate = _usual_rate(requests) if is_faster else load.rate_rps or _usual_rate(requests)
    seen = _gaps(requests, rate, is_rated=load.rate_rps is not None and not is_faster)
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
    users = None
    if requests.n and rate and not (unknown or refused):
        users = waits(requests, seen)
        if is_faster and load.rate_rps:
            users, rate = imagined(requests, seen, load.rate_rps), load.rate_rps
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
        numbers=numbers(requests, users),
        first_byte_ns=first_byte_ns(requests),
        unknown=unknown,
        doubts=(*trace.doubts, *refused, *_doubts(turned, is_faster=is_faster)),
    )


def _gaps(requests: Requests, rate: float | None, *, is_rated: bool) -> Gaps:
    """Of a tool as fast as it goes, short gaps are how the server usually answers."""
    if not rate:
        return Gaps(stops=(), paused_ns=0, pauses=0, least_ns=0, blind_ns=0)
    usual = 0 if is_rated else round(USUAL * float(np.median(requests.total_ns)))
    return gaps(requests, rate, usual)


def _usual_rate(requests: Requests) -> float | None:
    """Of a tool with an unknown rate: the rate outside of long gaps."""
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
    is_much = seen.blind_ns > seen.least_ns
    if is_much and seen.paused_ns > LONG_PAUSE * seen.least_ns * seen.pauses:
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
        "How long users would have waited is not known: the tool did not reach "
        f"{load.rate_rps:,.0f} requests/s, so their waits would grow as long as it runs."
    )
    return (text,)


def _doubts(turned: Turnaround, *, is_faster: bool) -> tuple[str, ...]:
    lines = []
    if is_faster:
        lines.append(
            "The tool sent far more than the rate of users. Between stops they are taken to wait "
            "as long as its requests, at its load."
        )
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
