"""A judgement as people read it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sojourn.referee.judgement import Judgement, Number
from sojourn.referee.usage import Usage
from sojourn.stats.interval import Estimate
from sojourn.text.numbers import percentile
from sojourn.units import show_length, show_ns

SHAPES = {
    "poisson": "at random times, as a Poisson process",
    "paced": "paced: more evenly than at random",
    "clumped": "in clumps: more unevenly than at random",
    "uneven": "at random in the short, at a rate that changes",
    "mixed": "evenly in the short, at a rate that changes",
    "unclear": "in a way that too few requests show",
}
VERDICTS = {
    "fair": "the tool's numbers are what users would have waited",
    "misleading": "the tool's numbers are not what users would have waited",
    "unknown": "the referee has no answer",
}
LIMITS = {"none": "no one", "unknown": "not known"}
COLUMNS = ("", "server's side", "95 % interval", "as users waited", "95 % interval", "bounds")


def lines(of: Judgement) -> Iterator[str]:
    """Sentences above the table, in reading order."""
    why = "; ".join(of.unknown) or of.misleading or of.unsure or of.unseen
    yield f"{of.verdict}: {VERDICTS[of.verdict]}{', because ' + why if why else ''}"
    yield _asked(of)
    yield (
        f"came: {of.requests:,} requests in {show_length(of.seconds)}, "
        f"{of.came_rps:,.0f} requests/s, over {of.connections:,} connections"
    )
    if not of.requests:
        return  # of nothing there is no shape, no stop and no limit
    yield f"arrivals: {SHAPES[of.shape.kind]}{_dispersions(of)}"
    yield _held(of)
    yield _stops(of)
    if of.gaps.behind:
        yield _behind(of)
    yield f"limit: {LIMITS.get(of.limit.who, of.limit.who)} ({of.limit.why})"
    for who, use in (("client", of.client), ("server", of.server)):
        if use is not None and use.seconds > 0:
            yield f"{who}: {_usage(use)}"
    if of.first_byte_ns:
        pairs = zip(of.numbers, of.first_byte_ns, strict=True)
        each = ", ".join(f"{percentile(number.q)} {show_ns(ns)}" for number, ns in pairs)
        yield f"first byte of replies: {each}"
    if of.accept_queue or of.overflows:
        yield (
            f"accept queue: up to {of.accept_queue:,} connections waited, "
            f"{of.overflows:,} found no room"
        )


def _asked(of: Judgement) -> str:
    tool = of.load.tool or "a tool that is not known"
    if of.load.rate_rps is None:
        return f"asked: {tool}, as fast as replies come, or at a rate that is not known"
    return f"asked: {tool}, {of.load.rate_rps:,.6g} requests/s, {of.load.arrivals or 'paced'}"


def _dispersions(of: Judgement) -> str:
    if not of.shape.scales:
        return ""
    each = ", ".join(
        f"{one.dispersion:.2g} in windows of {show_ns(one.window_ns)}" for one in of.shape.scales
    )
    return f" (variance by mean of counts: {each}; 1 if Poisson; 1 % error)"


def _held(of: Judgement) -> str:
    turned = of.turnaround
    if not turned.pairs:
        return "closed loop: not known, because each connection has one request"
    return (
        f"closed loop: {turned.share:.0%} of the requests followed the reply before them "
        f"within {show_ns(turned.gap_ns)}"
    )


def _stops(of: Judgement) -> str:
    stops = of.gaps.stops
    are_some_seen = of.gaps.blind_ns > of.gaps.least_ns  # the tool paused much
    how = "may be missed" if are_some_seen else "cannot be seen so"
    blind = f"; stops shorter than {show_ns(of.gaps.blind_ns)} {how}"
    if not stops:
        return f"stops: the server held back no request{blind}"
    lengths = sorted(stop.length_ns for stop in stops)
    late = sum(stop.held for stop in stops)
    return (
        f"stops: the server {of.gaps.how} {len(stops)} times, {show_ns(lengths[0])} to "
        f"{show_ns(lengths[-1])}; meanwhile {late:,} requests were late and {of.omitted:,} "
        f"were left out{blind}"
    )


def _behind(of: Judgement) -> str:
    spans = of.gaps.behind
    owed = sum(one.omitted for one in spans)
    never = f", and {owed:,} were not sent later" if owed else ""
    return (
        f"behind: the server was too slow for the rate {len(spans)} times, and requests fell "
        f"behind by up to {show_ns(max(one.lag_ns for one in spans), 1)}{never}"
    )


def _usage(use: Usage) -> str:
    return (
        f"busiest thread {use.busiest or '?'} wanted a CPU {use.busiest_wants:.0%} of the time; "
        f"all threads ran for {use.runs:.0%} of {use.cpus} CPUs and waited in run queues for "
        f"{use.waits:.0%} of what they wanted"
    )


def rows(of: Judgement) -> Iterator[tuple[str, ...]]:
    """The table: one line for each quantile."""
    for number in of.numbers:
        yield (
            percentile(number.q),
            _value(number.server),
            _interval(number.server),
            *_users(number, is_bound=of.is_bound or of.gaps.unsure > 0),
        )


def _users(number: Number, *, is_bound: bool) -> tuple[str, str, str]:
    users = number.users
    if users is None or users.value is None or number.lo is None or number.hi is None:
        return ("–", "", "")
    own = f"≤ {show_ns(users.value, 1)}" if is_bound else show_ns(users.value)
    bounds = "" if number.hi <= number.lo else f"{show_ns(number.lo)}–{show_ns(number.hi)}"
    return (own, _interval(users), bounds)


def _value(one: Estimate) -> str:
    return "–" if one.value is None else show_ns(one.value)


def _interval(one: Estimate) -> str:
    if one.interval is None:
        return one.refused.partition(":")[0]
    hi = "?" if math.isinf(one.interval.hi) else show_ns(one.interval.hi)
    return f"{show_ns(one.interval.lo)}–{hi}"


def remarks(of: Judgement) -> Iterator[str]:
    """What a reader must know, below the table."""
    if of.gaps.unsure and of.users_rps:
        yield (
            "The silences may be requests that were slow by themselves. Users' waits are upper "
            "bounds; the lower end of their bounds is without silences."
        )
    if of.is_bound and of.users_rps:
        how = "as between stops" if of.gaps.stops else "as the requests came"
        yield (
            f"No rate is known, so users are taken to come at {of.users_rps:,.0f} requests/s, "
            f"{how}. Their waits are upper bounds; --rate says at which rate they come."
        )
    if of.load.facts is not None:
        yield of.load.facts.start
        yield of.load.facts.load
        yield of.load.facts.omission
    else:
        yield "The tool is not known: what it measures, and from when, is not either."
    if of.misleading and of.unseen:
        yield f"{of.unseen[0].upper()}{of.unseen[1:]}."
    yield from of.load.notes
    yield from of.doubts
