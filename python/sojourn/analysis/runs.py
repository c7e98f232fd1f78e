"""One run, judged: can it be believed, was it steady, and what does it say about the QoS target?

A run whose self-check failed, here or in the generator, is `unknown`: it is shown with its reason
and decides nothing. A believable run that is too short to decide is `unknown` too, as to the
target; its numbers stand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sojourn.analysis import independence, quantiles, steady
from sojourn.analysis.data import Measured
from sojourn.analysis.findings import Qos, Run
from sojourn.analysis.independence import Batched, widened
from sojourn.analysis.times import Times, from_values, merge
from sojourn.analysis.words import percent, percentile
from sojourn.plan.decide import Decision, decide
from sojourn.plan.points import Verdict

QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999)
LATENESS_LEAST = 0.05  # of a quantile; below it the client's lag is not worth a word (M3)
_SLICES = 20
_SLICE_NEEDS = 20  # requests in a slice of raw times, or its median says nothing

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
    parts = slices(measured)
    ratios = {q: _ratio(measured, parts, q) for q in (None, *asked(qos))}
    steadiness = _steadiness(parts)
    cold = _cold(measured)
    reasons = (*outcome.reasons, *steadiness.reasons, *((cold,) if cold else ()))
    is_sound = outcome.verdict is not Verdict.UNKNOWN and steadiness.is_steady is not False
    decision = Decision.UNKNOWN
    shrink = widened(ratios[qos.q], confidence) if qos else 1.0
    if is_sound and not cold and sojourn.n:
        decision = _decide(sojourn, qos, shrink, confidence)
    if decision is Decision.UNDECIDED and qos:
        reasons = (*reasons, undecided(sojourn, qos, shrink))
    return Judged(
        measured=measured,
        run=_run(measured, qos, ratios, decision, reasons),
        decision=decision,
        is_steady=steadiness.is_steady,
        ratios=ratios,
    )


def _run(
    measured: Measured,
    qos: Qos | None,
    ratios: Mapping[float | None, Batched],
    decision: Decision,
    reasons: tuple[str, ...],
) -> Run:
    outcome = measured.outcome
    return Run(
        key=outcome.point.key,
        repeat=outcome.point.repeat,
        offered_rps=outcome.offered_rps,
        fraction=outcome.point.fraction,
        achieved_rps=outcome.achieved_rps,
        mean_ns=_mean_ns(measured),
        quantiles=tuple(
            (q, quantiles.estimate(measured.sojourn, q, correlation=widened(ratios[q], 0.95)).value)
            for q in asked(qos)
        ),
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
        series=tuple(
            (s.at_s, s.achieved_rps, s.sojourn.quantile(0.5), s.sojourn.quantile(0.99))
            for s in measured.seconds
        ),
    )


def asked(qos: Qos | None) -> tuple[float, ...]:
    """The quantiles to estimate, ascending: the usual ones and that of the target."""
    return QUANTILES if qos is None else tuple(sorted({*QUANTILES, qos.q}))


def _decide(sojourn: Times, qos: Qos | None, ratio: float, confidence: float) -> Decision:
    """M12's test on effective counts; pass without a target.

    It is as sure as the quantile's own interval is at either end, and passes nothing whose interval
    crosses the bound: what a reader sees is what decides.
    """
    if qos is None:
        return Decision.PASS
    over = sojourn.over(qos.bound_ns)
    said = decide(sojourn.n / ratio, over / ratio, qos.q, confidence=(1 + confidence) / 2)
    shown = quantiles.estimate(sojourn, qos.q, correlation=ratio, confidence=confidence).interval
    is_below = shown is not None and shown.hi <= qos.bound_ns
    is_across = shown is not None and shown.lo <= qos.bound_ns < shown.hi
    if (said is Decision.PASS and not is_below) or (said is Decision.FAIL and is_across):
        return Decision.UNDECIDED
    return said


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
    found = Batched(
        ratio=sum(j.ratios[q].ratio * j.measured.sojourn.n for j in judged) / n,
        freedom=sum(j.ratios[q].freedom for j in judged),
    )
    return max(least, widened(found, confidence))


def lateness_ns(judged: Sequence[Judged], q: float | None, value: float | None) -> float:
    """What the client's lag can be of a quantile (None: the mean) of these runs, ns; 0 if little.

    The lag of the latest run, at the next quantile that its generator wrote.
    """
    found = 0.0
    for own in (j.measured.lateness_ns for j in judged):
        above = sorted(at for at in own if at is not None and q is not None and at >= q - 1e-9)
        at = above[0] if above else (None if q is None else max(own, key=_order, default=None))
        found = max(found, own.get(at, 0.0))
    if value is None or found <= LATENESS_LEAST * value:
        return 0.0
    return min(found, value)


def _order(q: float | None) -> float:
    return 0.0 if q is None else q


def _ratio(measured: Measured, parts: Sequence[Times], q: float | None) -> Batched:
    """Of one run: by batches of its slices; without slices, what its outcome says."""
    found = independence.of_batches(parts, q)
    if found is None:
        return Batched(ratio=max(1.0, measured.outcome.correlation), freedom=math.inf)
    if _has_seconds(measured):
        return found
    # A uniform sample of raw times thins the dependence with the requests: Σρ shrinks with it.
    return replace(found, ratio=1 + (found.ratio - 1) / max(measured.raw_share, 1e-9))


def _has_seconds(measured: Measured) -> bool:
    return len(measured.seconds) >= independence.BATCHES_MIN


def slices(measured: Measured) -> tuple[Times, ...]:
    """Consecutive parts of a run: its seconds, or 20 parts of its raw times if seconds are few.

    Seconds come first: they hold every request, raw times may be a thin sample.
    """
    if _has_seconds(measured):
        return tuple(second.sojourn for second in measured.seconds)
    raw = measured.raw_sojourn_ns
    if raw is None or len(raw) < _SLICES * _SLICE_NEEDS:
        return ()
    return tuple(from_values(part) for part in np.array_split(raw, _SLICES))


def _steadiness(parts: Sequence[Times]) -> steady.Steadiness:
    cut = [part for part in parts if part.n]
    return steady.judge(
        {percentile(q): np.array([part.quantile(q) for part in cut], float) for q in (0.5, 0.99)}
    )


def _cold(measured: Measured) -> str:
    """By the slices of the interval log, which hold every request; else by raw requests."""
    means = [moments[0] for s in measured.seconds if (moments := s.sojourn.moments())]
    if len(means) >= 2 * steady.COLD_BATCHES:
        return steady.cold_start(np.array(means), batch=1)
    raw = measured.raw_sojourn_ns
    return "" if raw is None else steady.cold_start(raw[np.isfinite(raw)])


def _mean_ns(measured: Measured) -> float | None:
    """The exact mean where it was kept, else the histogram's; None if a request was lost."""
    moments = measured.sojourn.moments()
    if moments is None or measured.sojourn.lost:
        return None
    return moments[0] if measured.mean_ns is None else measured.mean_ns


def merged(judged: Sequence[Judged]) -> Times:
    """All requests of these runs together (M14)."""
    return merge(j.measured.sojourn for j in judged)
