"""What is beside stages: what tracing cost, and what the client saw beyond the server (M21)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from sojourn.findings.measured import Measured
from sojourn.questions.breakdown.findings import Cost, Gap, Windows
from sojourn.samples.traced import Price, Times, TraceResult
from sojourn.stats.pooling import middle
from sojourn.text.numbers import percent
from sojourn.units import show_ns

CARRIED = 0.97  # share of the untraced throughput below which the tracer overloads the service
WORST_Q, SLOWED = 0.99, 1.2  # where the server's quantile may exceed the client's by so much
LONGER = 1.5  # p99 with the tracer over p99 without it, above which times are not to be compared


def ratios(ours: Sequence[Measured], twins: Sequence[Measured]) -> Cost:
    """Medians with the tracer over medians without: the points took turns.

    A ratio is infinite where lost requests decide the time with the tracer. Where they decide that
    without it, there is none.
    """

    def ratio(of: Callable[[Measured], float | None]) -> float | None:
        with_it = middle([v for m in ours if (v := of(m)) is not None])
        without = middle([v for m in twins if (v := of(m)) is not None])
        if with_it is None or not without or math.isinf(without):
            return None
        return with_it / without

    return Cost(
        pairs=min(len(ours), len(twins)),
        throughput=ratio(lambda m: m.outcome.achieved_rps),
        mean=ratio(lambda m: _time(m, m.outcome.mean_ns)),
        p99=ratio(lambda m: _time(m, m.outcome.p99_ns)),
        cpu=ratio(lambda m: m.cpu_ns_per_request),
    )


def _time(run: Measured, ns: float | None) -> float | None:
    """A time that a client saw: infinite where lost requests decide it; None: not measured."""
    return math.inf if ns is None and run.outcome.requests else ns


def of_windows(traces: Sequence[TraceResult]) -> Windows | None:
    """What the tracer measured of itself; None where it traced every request."""
    prices = [t.sampling.cost for t in traces if t.sampling.windows is not None]
    known = [price for price in prices if price is not None]
    if not known:
        return None
    seen = [t.sampling.accuracy for t in traces if t.sampling.accuracy]
    p99 = [accuracy.p99_ns for accuracy in seen if accuracy.p99_ns]
    lo, hi = _widest(known)
    slowings = [t.sampling.slowing for t in traces if t.sampling.slowing]
    return Windows(
        count=sum(accuracy.clusters for accuracy in seen),
        duty=median(t.sampling.duty for t in traces),
        asked=known[0].asked,
        measured=middle([p.measured for p in known if p.measured is not None]),
        lo=lo,
        hi=hi,
        while_attached=median(p.while_attached for p in known),
        p99_lo_ns=min((bounds.low for bounds in p99), default=None),
        p99_hi_ns=None
        if any(bounds.high is None for bounds in p99)
        else max((bounds.high for bounds in p99 if bounds.high is not None), default=None),
        mean_ratio=_worst([slowing.mean_ratio for slowing in slowings]),
        tail_ratio=_worst([slowing.tail_ratio for slowing in slowings]),
        is_tail_slowed=any(slowing.is_doubted for slowing in slowings),
    )


def _worst(ratios: Sequence[float | None]) -> float | None:
    """The largest; None where one is not known, for it may be larger."""
    known = [ratio for ratio in ratios if ratio is not None]
    return max(known) if known and len(known) == len(ratios) else None


def _widest(prices: Sequence[Price]) -> tuple[float | None, float | None]:
    known = [price.interval for price in prices if price.interval is not None]
    highs = [interval.high for interval in known if interval.high is not None]
    is_bounded = bool(known) and len(highs) == len(known)
    return min((i.low for i in known), default=None), max(highs) if is_bounded else None


def gaps(measured: Sequence[Measured]) -> tuple[Gap, ...]:
    """The client's wire time less the server's total: mean, and quantile against quantile.

    Wire time is infinite where lost requests decide it: a median of the other runs would hide them.
    """
    results: list[Gap] = []
    for q, name, field in (
        (None, "mean", "mean_ns"),
        (0.5, "p50", "p50_ns"),
        (0.95, "p95", "p95_ns"),
        (0.99, "p99", "p99_ns"),
    ):
        pairs = [
            (wire, inside)
            for m in measured
            if m.traced
            and (wire := _wire(m, name)) is not None
            and (inside := at(m.traced.total, field)) is not None
        ]
        if pairs:
            results.append(
                Gap(
                    q=q,
                    wire_ns=median(wire for wire, _ in pairs),
                    server_ns=median(inside for _, inside in pairs),
                )
            )
    return tuple(results)


def _wire(run: Measured, name: str) -> float | None:
    """The client's mean or quantile of that name, ns; None where it has none."""
    times = dict(run.wire_ns)
    return _time(run, times[name]) if name in times else None


def is_carried(cost: Cost) -> bool:
    """Whether the traced service kept up with the load that it carries untraced."""
    return cost.throughput is None or cost.throughput >= CARRIED


def remarks(cost: Cost, windows: Windows | None, gaps: Sequence[Gap] = ()) -> Iterator[str]:
    """What to know of stages that were bought at this price."""
    if not is_carried(cost) and cost.throughput is not None:
        yield (
            f"traced, the service completes {percent(cost.throughput)} of what it completes "
            "untraced: these are the stages of a service that does not keep up"
        )
    elif cost.p99 is not None and cost.p99 >= LONGER:
        lost = "infinite, because requests were lost,"
        longer = lost if math.isinf(cost.p99) else f"{cost.p99:.1f} times as long"
        yield f"the client's p99 is {longer} with the tracer: read the shares, not the times"
    if windows is not None:
        yield (
            "numbers are of the service while it is traced: of requests that came in windows, in "
            "which hooks slow it; no interval knows of that"
        )
        if windows.is_tail_slowed:
            yield slowed_tail(windows)
        yield from _slowed(gaps)


def slowed_tail(windows: Windows) -> str:
    """Where the tracer does not take the tail for that of the untraced service, and what to do."""
    if windows.tail_ratio is None:
        how = "the effect of hooks on the tail is not known, because no worker has idle time"
    else:
        how = f"hooks make the tail ×{windows.tail_ratio:.2f} as long by estimate"
    return f"while traced, {how}: read shares, take p99 from the client"


def _slowed(gaps: Sequence[Gap]) -> Iterator[str]:
    """No request takes longer in the server than at its client: windows then saw slower ones."""
    for gap in gaps:
        if gap.q == WORST_Q and gap.server_ns > SLOWED * gap.wire_ns:
            yield (
                f"p99 in the server is {show_ns(gap.server_ns)} in windows, and "
                f"{show_ns(gap.wire_ns)} at the client over all requests. Windows slowed their "
                "requests, or saw slower ones; use the shares, not the times"
            )


def at(times: Times, field: str) -> float | None:
    """One field of a trace's times, ns."""
    value = getattr(times, field)
    return None if value is None else float(value)
