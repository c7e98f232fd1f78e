"""One run, judged: can it be believed, was it steady, and what does it say about the QoS target?

A run whose self-check failed, here or in the generator, is `unknown`: it is shown with its reason
and decides nothing. A believable run that is too short to decide is `unknown` too, as to the
target; its numbers stand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sojourn import quantiles as table
from sojourn import spec
from sojourn.analysis import run_stats
from sojourn.findings.findings import Qos
from sojourn.findings.load_point import Run
from sojourn.findings.measured import Alone, Measured
from sojourn.plan.decide import Decision, decide
from sojourn.plan.points import Verdict
from sojourn.stats import quantiles
from sojourn.stats.independence import Batched, widened
from sojourn.stats.times import Times, merge
from sojourn.text.numbers import percent

LATENESS_LEAST = 0.05  # of a quantile; below it the client's lag is not worth a word (M3)

_VERDICTS = {
    Decision.PASS: Verdict.HOLDS,
    Decision.FAIL: Verdict.VIOLATED,
    Decision.UNDECIDED: Verdict.UNKNOWN,
    Decision.UNKNOWN: Verdict.UNKNOWN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One run with all that analysis knows of it.

    Attributes:
        run: as the report shows it.
        decision: against the QoS target; `unknown` if the run cannot be believed.
        is_steady: None if it was too short to tell.
        ratios: n / n_eff for each quantile that is asked for, and for the mean (None).
    """

    measured: Measured
    run: Run
    decision: Decision
    is_steady: bool | None
    ratios: Mapping[float | None, Batched]

    @property
    def is_believed(self) -> bool:
        """Whether its numbers may be used."""
        return self.decision is not Decision.UNKNOWN


def judge(measured: Measured, qos: Qos | None, *, confidence: float = 0.95) -> Judged:
    """One run: its quantiles or why there are none, whether it was steady, and its decision."""
    outcome, sojourn = measured.outcome, measured.sojourn
    own = run_stats.known(measured, asked(qos))
    ratios, cold = own.ratios, own.cold
    voids = (*own.unsteady, *((cold,) if cold else ()))
    is_void = (
        outcome.verdict is Verdict.UNKNOWN
    )  # then its own reasons are why, else ours come first
    reasons = (*outcome.reasons, *voids) if is_void else (*voids, *outcome.reasons)
    is_sound = outcome.verdict is not Verdict.UNKNOWN and own.is_steady is not False
    decision = Decision.UNKNOWN
    shrink = widened(ratios[qos.q], confidence) if qos else 1.0
    if is_sound and not cold and sojourn.n:
        decision = _decide(sojourn, qos, shrink, confidence)
        if decision is Decision.FAIL and qos and _may_be_client(measured, qos):
            decision = Decision.UNDECIDED
    if decision is Decision.UNDECIDED and qos:
        reasons = (*reasons, undecided(sojourn, qos, shrink))
    return Judged(
        measured=measured,
        run=_run(measured, qos, own, decision, reasons),
        decision=decision,
        is_steady=own.is_steady,
        ratios=ratios,
    )


def _run(
    measured: Measured,
    qos: Qos | None,
    own: Alone,
    decision: Decision,
    reasons: tuple[str, ...],
) -> Run:
    outcome, mean_ns = measured.outcome, _mean_ns(measured)
    results = tuple(
        (
            q,
            quantiles.estimate(measured.sojourn, q, correlation=widened(own.ratios[q], 0.95)).value,
        )
        for q in asked(qos)
    )
    late = ((q, added_ns(measured, q, value)) for q, value in ((None, mean_ns), *results))
    return Run(
        key=outcome.point.key,
        repeat=outcome.point.repeat,
        offered_rps=outcome.offered_rps,
        fraction=outcome.point.fraction,
        achieved_rps=outcome.achieved_rps,
        mean_ns=mean_ns,
        quantiles=results,
        lateness_ns=tuple((q, ns) for q, ns in late if ns),
        sample=tuple((q, quantiles.sample(measured.sojourn, q)) for q in asked(qos)),
        verdict=_VERDICTS[decision],
        reasons=reasons,
        timely_ratio=measured.timely_ratio,
        outage_share=measured.outage_share,
        excluded_share=measured.excluded_share,
        steal_share=measured.steal_share,
        send_lag_p99_ns=measured.send_lag_p99_ns,
        pick_up_p99_ns=measured.pick_up_p99_ns,
        errors=tuple(sorted(measured.errors.items())),
        is_believed=decision is not Decision.UNKNOWN,
        series=own.series,
        grows=own.grows and outcome.verdict is not Verdict.UNKNOWN,
        cpu_ns=outcome.cpu_ns,
    )


def asked(qos: Qos | spec.Qos | None) -> tuple[float, ...]:
    """The quantiles to estimate, ascending: the usual ones and that of the target."""
    return table.ALL if qos is None else tuple(sorted({*table.ALL, qos.q}))


def _decide(sojourn: Times, qos: Qos | None, ratio: float, confidence: float) -> Decision:
    """M12's test on effective counts; pass without a target.

    It is as sure as the quantile's own interval is at either end, and passes nothing whose interval
    crosses the bound: what a reader sees is what decides.
    """
    if qos is None:
        return Decision.PASS
    over = sojourn.over(qos.bound_ns)
    decision = decide(sojourn.n / ratio, over / ratio, qos.q, confidence=(1 + confidence) / 2)
    shown = quantiles.estimate(sojourn, qos.q, correlation=ratio, confidence=confidence).interval
    is_below = shown is not None and shown.hi <= qos.bound_ns
    is_across = shown is not None and shown.lo <= qos.bound_ns < shown.hi
    if (decision is Decision.PASS and not is_below) or (decision is Decision.FAIL and is_across):
        return Decision.UNDECIDED
    return decision


def _may_be_client(measured: Measured, qos: Qos) -> bool:
    """Whether the quantile is above the bound by no more than the client added (M3, M33)."""
    found_ns = measured.sojourn.quantile(qos.q)
    if found_ns is None or not measured.outcome.is_upper_bound:
        return False
    return found_ns - added_ns(measured, qos.q, found_ns) <= qos.bound_ns


def undecided(sojourn: Times, qos: Qos, ratio: float) -> str:
    """Why the test could not decide, with the numbers that it rests on."""
    share = sojourn.over(qos.bound_ns) / max(1, sojourn.n)
    effective = sojourn.n / ratio
    needed = quantiles.smallest_sample(qos.q)
    what = (
        f"undecided alone: {percent(share)} of {sojourn.n:,} requests exceed the bound, "
        f"{percent(1 - qos.q)} may; they depend on each other and count as {effective:,.0f}"
    )
    return f"{what}, {needed} are needed" if effective < needed else what


def ratio(
    judged: Sequence[Judged], q: float | None, confidence: float = 0.95, *, least: float = 1.0
) -> float:
    """Ratio n / n_eff of several runs together, widened for what their batches cannot know.

    Each run's own is weighted by its requests; degrees of freedom add up. `least` is a ratio that
    is known otherwise, such as from theory, and needs no widening.
    """
    n = sum(j.measured.sojourn.n for j in judged)
    if n == 0:
        return least
    batch_ratio = Batched(
        ratio=sum(j.ratios[q].ratio * j.measured.sojourn.n for j in judged) / n,
        freedom=sum(j.ratios[q].freedom for j in judged),
    )
    return max(least, widened(batch_ratio, confidence))


def lateness_ns(judged: Sequence[Judged], q: float | None, value: float | None) -> float:
    """What the client can have added to a quantile (None: the mean) of these runs, ns; 0 if little.

    That of the latest run: its lag at the next quantile that its generator wrote, and of what is
    left then the part by which its stops may have made it too high.
    """
    return max((added_ns(j.measured, q, value) for j in judged), default=0.0)


def added_ns(measured: Measured, q: float | None, value: float | None) -> float:
    """The same of one run.

    >>> from sojourn.analysis.testing import late
    >>> added_ns(late({0.99: 1e4}, stops_allowance=1.5), 0.99, 1e5)
    40000.0
    """
    if value is None or not math.isfinite(value):
        return 0.0
    least = max(0.0, value - lag_ns(measured.lateness_ns, q)) / measured.stops_allowance
    result = value - least
    return result if result > LATENESS_LEAST * value else 0.0


def lag_ns(own: Mapping[float | None, float], q: float | None) -> float:
    """The client's lag in one run at a quantile (None: the mean), ns; 0 where it is not known.

    That of the next quantile that the generator wrote, else of the highest.
    """
    above = sorted(at for at in own if at is not None and q is not None and at >= q - 1e-9)
    at = above[0] if above else (None if q is None else max(own, key=_order, default=None))
    return own.get(at, 0.0)


def _order(q: float | None) -> float:
    return 0.0 if q is None else q


def _mean_ns(measured: Measured) -> float | None:
    """The exact mean where it was stored, else the histogram's; None if a request was lost."""
    moments = measured.sojourn.moments()
    if moments is None or measured.sojourn.lost:
        return None
    return moments[0] if measured.mean_ns is None else measured.mean_ns


def merged(judged: Sequence[Judged]) -> Times:
    """All requests of these runs together (M14)."""
    return merge(j.measured.sojourn for j in judged)
