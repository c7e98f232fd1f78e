"""Whether a service meets its QoS target in several blocks: how probable that is, and what is told.

Blocks differ by more than their requests do: starts and the hour go into each. So a block is one
value, the share of its requests that missed the bound, and Student's interval over the logarithms
says how probable it is that the target is met. A block cannot tell its own share more closely than
its misses are many, so no spread is taken to be less than that. At the bound itself all of that
decides one time in ten at the most, however few the blocks are. What is told has the share of all
requests on its side, too: a block in which nothing went right is not outvoted by good ones.

A block without a miss has no logarithm, so half a miss is added to each. In one request it makes a
small block look bad, and in as many as the target allows it makes many of them look good. Each
answer has to stand against the way that is worse for it.

A client that was late makes a service look worse, never better: its lag may be why a bound was
missed, and then nothing is reported.

Source: Student's t on logarithms, as in `contrasts`; the variance of the logarithm of a count is
the inverse of the count (delta method).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

import scipy

from sojourn.analysis import runs
from sojourn.analysis.load_point import SURE
from sojourn.findings.measured import Measured
from sojourn.plan import design
from sojourn.plan.axis import Target
from sojourn.plan.next import progress
from sojourn.plan.points import Outcome, Verdict
from sojourn.plan.questions import Questions
from sojourn.spec import Study
from sojourn.stats.method import Method
from sojourn.text.numbers import percentile
from sojourn.units import show_ns

METHOD = Method(
    name="targets",
    about="whether blocks meet a QoS target: Student's t on the logarithm of the share that misses",
    ids=("M15", "M28"),
    source="Student's t; delta method for the variance of the logarithm of a count",
)

BLOCKS_MIN = 2  # one block has no spread
HALF = 0.5  # a miss that is imagined: a block without any knows the share no better
EVEN = 0.5  # the probability that says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What blocks say of a target.

    Attributes:
        verdict: unknown unless it is probable enough on one side.
        chance: that it is met, 0 to 1; None: fewer than two blocks, or misses were not counted.
        reason: why it is unknown; "" where it is known, or nothing can be.
    """

    verdict: Verdict
    chance: float | None = None
    reason: str = ""


def of_service(
    study: Study, label: str, outcomes: Sequence[Outcome], questions: Questions
) -> Mapping[str, Target | None]:
    """The target of one service, with its bound, by the text of the levels that it feels.

    Args:
        study: with its factors.
        label: of the service.
        outcomes: of all services; a bound may have to be measured first.
        questions: all that may be asked.
    """
    groups = design.Groups(study, label)
    for outcome in outcomes:
        groups.add(outcome)
    return {
        group.levels.text: progress(
            group.study, group.study.service(label), group.outcomes, questions
        ).target
        for group in groups.all
    }


def words(target: Target) -> str:
    """A target for people: `p99 ≤ 1 ms`."""
    return f"{percentile(target.q)} ≤ {show_ns(target.bound_ns)}"


def judged(blocks: Sequence[Measured], target: Target) -> Standing:
    """What runs of one service at one load say, one of each block, all of them believed."""
    chance = probability_met([m.outcome for m in blocks], target.q)
    if chance is None:
        is_uncounted = any(m.outcome.over_bound is None for m in blocks)
        why = f"requests that missed {words(target)} were not counted" if is_uncounted else ""
        return Standing(verdict=Verdict.UNKNOWN, reason=why)
    missed = sum(m.outcome.over_bound or 0 for m in blocks)
    is_satisfied = missed <= (1 - target.q) * sum(m.outcome.requests for m in blocks)
    if chance >= SURE and is_satisfied:
        return Standing(verdict=Verdict.HOLDS, chance=chance)
    if chance <= 1 - SURE and not is_satisfied:
        late_ns = max(_lags(blocks, target), default=0.0)
        if not late_ns:
            return Standing(verdict=Verdict.VIOLATED, chance=chance)
        why = f"{words(target)} was missed by no more than the client added ({show_ns(late_ns)})"
        return Standing(verdict=Verdict.UNKNOWN, chance=chance, reason=why)
    why = f"borderline: it meets {words(target)} with probability {chance:.2f}"
    return Standing(verdict=Verdict.UNKNOWN, chance=chance, reason=why)


def probability_met(outcomes: Sequence[Outcome], q: float) -> float | None:
    """How probable it is that at most 1 − q of the requests miss the bound, one run of each block.

    Returns:
        In [0, 1]; None: fewer than two blocks, or a run whose misses were not counted.
    """
    counts = [(o.over_bound, o.requests, max(1.0, o.correlation)) for o in outcomes if o.requests]
    known = [(over / as_one, n / as_one) for over, n, as_one in counts if over is not None]
    if len(known) < max(BLOCKS_MIN, len(outcomes)):
        return None
    among = ([n + 2 * HALF for _, n in known], [n + HALF / (1 - q) for _, n in known])
    least, most = sorted(_chance([over for over, _ in known], each, q) for each in among)
    return least if least >= EVEN else min(EVEN, most)


def _chance(over: Sequence[float], among: Sequence[float], q: float) -> float:
    """The probability by Student's t, with half a miss more in each block.

    Args:
        over: requests of each block that missed the bound.
        among: requests of each block, with those that are imagined beside half a miss.
        q: of the target.
    """
    logs = [math.log((k + HALF) / n / (1 - q)) for k, n in zip(over, among, strict=True)]
    least = fmean(1 / (k + HALF) for k in over)
    error = math.sqrt(max(variance(logs), least) / len(logs))
    return float(scipy.special.stdtr(len(logs) - 1, -fmean(logs) / error))


def _lags(blocks: Sequence[Measured], target: Target) -> Iterator[float]:
    """What the client added in each block where that may be why the bound was missed, ns."""
    for one in blocks:
        quantiles = {0.5: one.outcome.p50_ns, 0.95: one.outcome.p95_ns, 0.99: one.outcome.p99_ns}
        result = quantiles.get(target.q, target.bound_ns)  # of others it is not known: it may be
        added_ns = runs.added_ns(one, target.q, result)
        if result is None or not added_ns:
            continue
        if result - added_ns <= target.bound_ns <= result:
            yield added_ns
