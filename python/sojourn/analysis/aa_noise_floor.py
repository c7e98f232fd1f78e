"""The noise floor of a campaign: what two runs of the same setting differ by (A/A, M16).

Every block of a sweep measures one load twice. Nothing differs between the two but chance: the
draws, the minute, the state of the machine. So d = ln(t₂/t₁) of their quantiles has mean 0, and its
standard deviation is the floor below which no effect can be told: σ² = Σd²/m of m pairs, whose mean
is known to be 0, so that no degree of freedom is lost; mσ̂²/σ² is χ² with m degrees if d is normal.

A single pair says little, and the gate knows: Student's t of one degree is 12.7.

Source: M16; Kohavi, Longbotham, Walker, Online Experimentation at Microsoft (2009), on A/A tests.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import scipy

from sojourn import quantiles as table
from sojourn.analysis.runs import Judged
from sojourn.findings.measurement_error import NoiseFloor
from sojourn.half_width import student
from sojourn.plan.setting import TWIN, Setting
from sojourn.stats.interval import Interval
from sojourn.stats.symmetry_bets import SCALE_LEAST

CONFIDENCE = 0.95
HIGHEST = 0.99  # of the quantiles, the highest that a run can carry is compared


def is_twin(judged: Judged) -> bool:
    """Whether a run is the second of a pair, and no part of any curve."""
    return TWIN in judged.measured.outcome.point.setting


def floor(
    judged: Sequence[Judged], q: float, *, confidence: float = CONFIDENCE
) -> NoiseFloor | None:
    """What pairs of equal runs differ by; None without a pair that can be believed.

    Args:
        judged: runs of a sweep, twins among them.
        q: quantile that the study is about; a lower one where runs are too short for it, or lost
            as many requests.
        confidence: of interval and gate.
    """
    both = twins(judged)
    for at in (q, *(lower for lower in table.falling(HIGHEST) if lower < q)):
        pairs = tuple(
            (one.run.fraction or 0.0, a, b)
            for one, other in both
            if (a := dict(one.run.sample).get(at)) and (b := dict(other.run.sample).get(at))
        )
        # Where requests were lost it is infinite; without such pairs the others would seem alike.
        if pairs and all(math.isfinite(a) and math.isfinite(b) for _, a, b in pairs):
            return _floor(at, pairs, confidence)
    return None


def _floor(
    q: float, pairs: tuple[tuple[float, float, float], ...], confidence: float
) -> NoiseFloor:
    m = len(pairs)
    # Times are stored in three digits: pairs that agree to the last of these still scatter by it.
    squares = max(sum(math.log(b / a) ** 2 for _, a, b in pairs), m * SCALE_LEAST**2)
    tail = (1 - confidence) / 2
    spans = (2 * float(scipy.special.gammaincinv(m / 2, at)) for at in (1 - tail, tail))
    ends = [math.sqrt(squares / span) for span in spans]
    sigma = math.sqrt(squares / m)
    return NoiseFloor(
        q=q,
        sigma=sigma,
        interval=Interval(lo=ends[0], hi=ends[1]),
        gate=student(m, confidence) * sigma,
        pairs=pairs,
    )


def twins(judged: Sequence[Judged]) -> list[tuple[Judged, Judged]]:
    """The last believable run of each of two points that are the same but for the word `twin`."""
    results: dict[tuple[str, Setting], dict[bool, Judged]] = defaultdict(dict)
    for j in judged:
        point = j.measured.outcome.point
        same = Setting.of({name: level for name, level in point.setting.items() if name != TWIN})
        if j.is_believed:
            results[point.life, same][is_twin(j)] = j
    return [(pair[False], pair[True]) for pair in results.values() if len(pair) == 2]


def pooled(floors: Sequence[NoiseFloor], *, confidence: float = CONFIDENCE) -> NoiseFloor | None:
    """The floor of several combinations of levels together; None of none, or of unlike quantiles.

    Each has few pairs of its own, and the gate of few pairs is wide.
    """
    if len({floor.q for floor in floors}) != 1:
        return None
    return _floor(floors[0].q, tuple(p for floor in floors for p in floor.pairs), confidence)


def gate(floor: NoiseFloor, spread: float = 1.0) -> float:
    """The logarithm below which an effect cannot be distinguished from what equal runs differ by.

    Args:
        floor: of the same quantile as the effect.
        spread: of the effect, for one of 1 of two single runs (`Contrast.spread`).
    """
    return floor.gate * spread


def is_within(floor: NoiseFloor, ratio: float, spread: float = 1.0) -> bool:
    """Whether an effect, as a ratio of two times, is no larger than what equal runs differ by."""
    return ratio > 0 and abs(math.log(ratio)) <= gate(floor, spread)
