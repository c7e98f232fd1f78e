"""All runs at one load, put together.

Histograms are merged, never the quantiles of runs or of slices (M14). Each restart keeps its own
value, and the interval across them is beside the one within (M15).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sojourn.analysis import runs
from sojourn.analysis.runs import Judged
from sojourn.findings.findings import Qos
from sojourn.findings.load_point import LoadPoint
from sojourn.plan.make import GROWN_ENOUGH
from sojourn.plan.points import Verdict
from sojourn.plan.posterior import Posterior
from sojourn.stats import quantiles, restarts
from sojourn.stats.interval import Estimate
from sojourn.stats.times import Times, merge

_SHARES = np.concatenate([np.linspace(0.01, 0.9, 60), 1 - np.logspace(-1, -6, 101)[1:]])
SURE = 0.95  # probability from which a load is decided, either way
LITTLE = 0.01  # of the requests; if fewer were disturbed, both readings are the same
_TAIL_NEEDS = 10  # requests above the last point of the distribution that is drawn


def gather(
    judged: Sequence[Judged],
    qos: Qos | None,
    max_rps: float | None,
    fitted: Posterior | None,
    *,
    confidence: float = 0.95,
) -> LoadPoint:
    """All runs at one load; `judged` holds at least one, `fitted` is of all runs of the service."""
    believed = [j for j in judged if j.is_believed]
    together = runs.merged(believed)
    decisive = qos.q if qos else 0.99
    own = [value for j in believed for q, value in j.run.quantiles if q == decisive and value]
    offered = float(np.mean([j.run.offered_rps for j in judged]))
    fraction = judged[0].run.fraction
    if fraction is None:
        fraction = offered / max_rps if max_rps else 0.0
    p = fitted.holds_at(offered) if fitted else None
    is_overloaded = not believed and sum(j.run.grows for j in judged) >= GROWN_ENOUGH
    verdict, reasons = _verdict(judged, believed, p)
    if is_overloaded and qos:  # what grows without end misses every bound
        verdict = Verdict.VIOLATED
    disturbed = _disturbed(believed)
    return LoadPoint(
        fraction=fraction,
        offered_rps=offered,
        achieved_rps=float(np.mean([j.run.achieved_rps for j in believed or judged])),
        verdict=verdict,
        reasons=reasons,
        mean=_mean(believed, together, confidence),
        quantiles=tuple(_quantile(believed, together, q, confidence) for q in runs.asked(qos)),
        is_bimodal=restarts.is_bimodal(own),
        is_steady=all(j.is_steady is not False for j in judged),
        distribution=_distribution(together),
        runs=tuple(j.run for j in judged),
        is_believed=bool(believed),
        undisturbed=_undisturbed(believed, decisive, confidence) if disturbed > LITTLE else None,
        disturbed_share=disturbed,
        is_overloaded=is_overloaded,
        missed=_missed(verdict, qos, together),
    )


def _missed(verdict: Verdict, qos: Qos | None, together: Times) -> tuple[float, float] | None:
    """The target that a load misses, where its own requests show that too.

    Other loads may decide the verdict; what they say is no time of this one.
    """
    if qos is None or verdict is not Verdict.VIOLATED:
        return None
    own = together.quantile(qos.q)
    return (qos.q, qos.bound_ns) if own is not None and own > qos.bound_ns else None


def _watched(believed: Sequence[Judged]) -> list[Judged]:
    """The runs in which the server's CPUs were watched."""
    return [j for j in believed if j.measured.undisturbed is not None]


def _disturbed(believed: Sequence[Judged]) -> float:
    """Share of the requests that a stop of the server's CPUs reached, 0 to 1."""
    watched = _watched(believed)
    every = sum(j.measured.sojourn.n for j in watched)
    apart = sum(part.n for j in watched if (part := j.measured.undisturbed) is not None)
    return 1 - apart / every if every else 0.0


def _undisturbed(believed: Sequence[Judged], q: float, confidence: float) -> Estimate | None:
    """The quantile of what no stop reached, as if requests were independent.

    How they depend is known of the whole alone, where stops make them depend most. So the value is
    for the eye, and its interval is the narrowest that it can be.
    """
    parts = [part for j in believed if (part := j.measured.undisturbed) is not None and part.n]
    return quantiles.estimate(merge(parts), q, confidence=confidence) if parts else None


def _verdict(
    judged: Sequence[Judged], believed: Sequence[Judged], p: float | None
) -> tuple[Verdict, tuple[str, ...]]:
    """What all runs of the service together say about this load (M28)."""
    if not believed:
        counted = Counter(reason for j in judged for reason in j.run.reasons)
        return Verdict.UNKNOWN, tuple(reason for reason, _ in counted.most_common())
    if p is None:
        return Verdict.HOLDS, ()
    if p >= SURE:
        return Verdict.HOLDS, ()
    if p <= 1 - SURE:
        return Verdict.VIOLATED, ()
    return Verdict.UNKNOWN, (f"borderline: it meets the target with probability {p:.2f}",)


def _quantile(believed: Sequence[Judged], together: Times, q: float, confidence: float) -> Estimate:
    if not believed:
        return _none(q)
    shrink = runs.ratio(believed, q, confidence)
    estimate = quantiles.estimate(together, q, correlation=shrink, confidence=confidence)
    estimate = replace(estimate, lateness_ns=runs.lateness_ns(believed, q, estimate.value))
    own = [
        value for j in believed for at, value in j.run.quantiles if at == q and value is not None
    ]
    if estimate.refused or len(own) < len(believed):
        return estimate
    return replace(estimate, across_restarts=restarts.interval(own, confidence=confidence))


def _mean(believed: Sequence[Judged], together: Times, confidence: float) -> Estimate:
    if not believed:
        return _none(None)
    shrink = runs.ratio(believed, None, confidence)
    estimate = quantiles.mean_estimate(together, correlation=shrink, confidence=confidence)
    estimate = replace(estimate, lateness_ns=runs.lateness_ns(believed, None, estimate.value))
    own = [j.run.mean_ns for j in believed if j.run.mean_ns is not None]
    if estimate.refused or len(own) < len(believed):
        return estimate
    return replace(estimate, across_restarts=restarts.interval(own, confidence=confidence))


def _distribution(together: Times) -> tuple[tuple[float, float], ...]:
    """Points of the full distribution, no further into the tail than ten requests carry."""
    n, up_to = together.n, np.cumsum(together.count)
    shares = [float(s) for s in _SHARES if (1 - s) * n >= _TAIL_NEEDS]
    ranks = [max(1, math.ceil(share * n - 1e-9)) for share in shares]  # as `Times.quantile` has it
    places = np.searchsorted(up_to, ranks, side="left")
    every = [*together.hi_ns.tolist(), math.inf]  # what is above all bins was lost
    return tuple((share, every[place]) for share, place in zip(shares, places, strict=True))


def _none(q: float | None) -> Estimate:
    why = "no run at this load is valid"
    return Estimate(
        q=q, value=None, interval=None, across_restarts=None, requests=0, effective=0, refused=why
    )
