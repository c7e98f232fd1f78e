"""The judgement: all parts of the analysis on one load, pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sojourn.referee.behind import with_behind
from sojourn.referee.estimates import first_byte_ns, numbers
from sojourn.referee.excess import excess
from sojourn.referee.held_back import Turnaround, turnaround
from sojourn.referee.judgement import Judgement, Loss, Threads
from sojourn.referee.limit import FASTER, Evidence, Limit, limit
from sojourn.referee.load import Load
from sojourn.referee.requests import Requests, Times
from sojourn.referee.shape import shape
from sojourn.referee.stops import Gaps, gaps
from sojourn.referee.usage import Sample, usage
from sojourn.referee.waits import Waits, imagined, waits
from sojourn.units import show_length

LEAST = 100  # requests
PAIRS = 0.5  # of the requests came after another one of their connection: a closed loop shows
PIPELINED = 0.01  # share from which requests cannot be separated from each other
LONG_PAUSE = 5  # times what is looked at: a pause that is no jitter
USUAL = 10  # times the median reply: a gap that is no usual reply
PIECE_MIN = 50  # requests between two stops
END_NS = 1_000_000_000  # a load may take as long to end after its last reply


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
    due = _due(requests, load, seen)
    turned = turnaround(requests)
    limited = limit(
        Evidence(
            rate_rps=load.rate_rps,
            due=due or 0.0,
            sent=requests.n,
            seconds=requests.seconds,
            is_random=load.arrivals == "poisson",
            seen=seen,
            held_share=turned.share if turned.pairs >= PAIRS * requests.n else None,
            client=client,
            server=server,
        )
    )
    unknown = (
        *trace.unknown,
        *_unsplit(requests, load, turned),
        *_unseen(requests, seen, threads.server),
        *(_unreached(seen, limited) if requests.n else ()),
    )
    refused = _refused(load, limited)
    is_known = rate and not (unknown or refused)
    users = _users(requests, load, seen, is_faster=is_faster) if is_known else None
    return Judgement(
        load=load,
        requests=requests.n,
        connections=requests.connections,
        seconds=requests.seconds,
        due=due,
        came_rps=requests.mean_rps,
        users_rps=_users_rps(requests, load, seen, rate) if users else None,
        is_bound=load.rate_rps is None,
        shape=shape(_pieces(requests, seen)),
        turnaround=turned,
        gaps=seen,
        late=sum(end - first for first, end in seen.late),
        omitted=sum(stop.omitted for stop in seen.stops),
        limit=limited,
        client=client,
        server=server,
        accept_queue=max((one.accept_queue for one in threads.server), default=0),
        overflows=_overflows(threads.server),
        numbers=numbers(requests, users),
        first_byte_ns=first_byte_ns(requests),
        unknown=unknown,
        doubts=(*trace.doubts, *refused, *_doubts(turned, seen, is_faster=is_faster)),
    )


def _users(requests: Requests, load: Load, seen: Gaps, *, is_faster: bool) -> Waits:
    if is_faster and load.rate_rps:
        return imagined(requests, seen, load.rate_rps)
    return waits(requests, seen)


def _gaps(requests: Requests, rate: float | None, *, is_rated: bool) -> Gaps:
    """Of a tool as fast as it goes, short gaps are how the server usually answers."""
    if not rate:
        return Gaps(stops=(), paused_ns=0, pauses=0, least_ns=0, blind_ns=0)
    if is_rated:
        return with_behind(requests, gaps(requests, rate), rate)
    floor_ns = round(USUAL * float(np.median(requests.total_ns)))
    return gaps(requests, rate, floor_ns, is_known=False)


def _users_rps(requests: Requests, load: Load, seen: Gaps, rate: float | None) -> float | None:
    """At which rate users come: as asked, else as between stops; without a stop, as all came."""
    return load.rate_rps or (rate if seen.stops else requests.mean_rps)


def _due(requests: Requests, load: Load, seen: Gaps) -> float | None:
    """How many requests were due until the last arrival, or the end of a stop after it."""
    if not load.rate_rps:
        return None
    after_ns = sum(stop.caught_ns - stop.begin_ns for stop in seen.stops if not stop.held)
    return load.rate_rps * (requests.seconds + after_ns / 1e9) + 1


def _usual_rate(requests: Requests) -> float | None:
    """Of a tool with an unknown rate: the rate outside of long gaps."""
    if requests.n < LEAST or requests.mean_rps <= 0:
        return None
    steps = np.diff(requests.start_ns)
    bound = np.log(requests.n / 0.01) * 1e9 / requests.mean_rps
    usual = steps[steps <= bound]
    total = float(usual.sum())
    return len(usual) / total * 1e9 if total > 0 else None


def _unsplit(requests: Requests, load: Load, turned: Turnaround) -> tuple[str, ...]:
    """Why what came cannot be counted as requests of the tool, one by one."""
    reasons = []
    if requests.n < LEAST:
        reasons.append(f"{requests.n} requests came, and {LEAST} are needed")
    if load.pipelined > 1:
        reasons.append(
            f"the tool sends {load.pipelined} requests at once (pipelining): those that come in "
            "one segment look like one"
        )
    if turned.pipelined > PIPELINED:
        reasons.append(
            f"{turned.pipelined:.0%} of the requests came before the reply to the one before "
            "(pipelining, HTTP/2): requests and replies cannot be matched one by one"
        )
    if load.rate_rps and not load.is_users and (more := excess(requests, load.rate_rps)):
        reasons.append(more)
    greetings = load.handshakes * requests.connections
    if greetings > PIPELINED * requests.n:
        reasons.append(
            f"up to {min(greetings, requests.n):,} of {requests.n:,} requests are handshakes of "
            "new connections, as of TLS: run for longer, or let connections last"
        )
    return tuple(reasons)


def _unseen(requests: Requests, seen: Gaps, server: Sequence[Sample]) -> tuple[str, ...]:
    """Times in which a stop would be in no number."""
    reasons = []
    span = requests.seconds * 1e9
    is_much = seen.blind_ns > seen.least_ns
    if is_much and seen.paused_ns > LONG_PAUSE * seen.least_ns * seen.pauses:
        reasons.append(
            f"in {seen.paused_ns / span:.0%} of the time nothing was sent and the server had "
            "nothing to do: a stop in such a pause is in no number"
        )
    open_ns = max((one.at_ns for one in server if one.connections), default=0)
    silent_ns = open_ns - int(requests.end_ns.max()) if requests.n else 0
    if silent_ns > max(END_NS, seen.least_ns):
        reasons.append(
            f"for the last {show_length(silent_ns / 1e9)} connections were open and nothing came: "
            "either the load was over, or the server did not answer"
        )
    return tuple(reasons)


def _unreached(seen: Gaps, limited: Limit) -> tuple[str, ...]:
    """Where the tool sent less than was due, and why is not known or for how long."""
    if limited.who == "unknown":
        lack = "the tool did not reach its rate" if limited.is_short else "the limit is not known"
        return (f"{lack}: {limited.why}",)
    left_out = [one for one in seen.behind if one.omitted]
    if not left_out or limited.is_short:
        return ()
    omitted = sum(one.omitted for one in left_out)
    text = (
        f"the server was too slow for the rate {len(left_out)} times, and the tool did not send "
        f"later what it owed: how long {omitted:,} users would have waited is not known"
    )
    return (text,)


def _refused(load: Load, limited: Limit) -> tuple[str, ...]:
    """Why users' waits are not reconstructed: the queue in the tool would grow for ever."""
    if load.rate_rps is None or not limited.is_short:
        return ()
    text = (
        "How long users would have waited is not known: the tool did not reach "
        f"{load.rate_rps:,.0f} requests/s, so their waits would grow as long as it runs."
    )
    return (text,)


def _doubts(turned: Turnaround, seen: Gaps, *, is_faster: bool) -> tuple[str, ...]:
    lines = []
    if seen.is_open:
        lines.append(
            "The load ended in a stop of the server. What was due until the stop's end counts as "
            "left out."
        )
    if is_faster:
        lines.append(
            "The tool sent far more than the rate of users. Between stops they are taken to wait "
            "as long as its requests, at its load, and for those who come before them."
        )
    if 0 < turned.pipelined <= PIPELINED:
        lines.append("A few requests came before the reply to the one before.")
    return tuple(lines)


def _overflows(samples: Sequence[Sample]) -> int:
    return max(0, samples[-1].overflows - samples[0].overflows) if samples else 0


def _pieces(requests: Requests, seen: Gaps) -> list[Times]:
    """Arrivals that were sent in time, in pieces; all of them where these are too few."""
    if not requests.n:
        return []
    marks = [0]
    for late in seen.late:
        marks += late
    marks.append(requests.n)
    parts = [requests.start_ns[a:b] for a, b in zip(marks[::2], marks[1::2], strict=True)]
    parts = [part for part in parts if len(part) >= PIECE_MIN]
    return parts or [requests.start_ns]
