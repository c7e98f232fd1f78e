"""A service that was measured under many combinations, in one tile: verdicts, strongest effects."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from sojourn.findings.effects import Effect
from sojourn.findings.findings import Findings
from sojourn.plan.points import Verdict

EFFECTS = 3  # reported of each service


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """One service of a study with many combinations.

    Attributes:
        verdicts: how many combinations have each verdict.
        effects: sentences, the strongest first, one for each factor; only what is beyond noise.
    """

    label: str
    count: int
    verdicts: tuple[tuple[Verdict, int], ...]
    effects: tuple[str, ...]


def of(findings: Findings) -> tuple[Crowd, ...]:
    """Every service of the study, in its order."""
    results = []
    for label in dict.fromkeys(service.label for service in findings.services):
        counts = Counter(s.verdict for s in findings.services if s.label == label)
        results.append(
            Crowd(
                label=label,
                count=counts.total(),
                verdicts=tuple(
                    (verdict, counts[verdict]) for verdict in Verdict if counts[verdict]
                ),
                effects=_strongest(findings, label),
            )
        )
    return tuple(results)


def _strongest(findings: Findings, label: str) -> tuple[str, ...]:
    """The strongest effect of each factor, of those whose interval leaves out 1."""
    effects: list[Effect] = []
    for factor in findings.factors:
        sure = [e for e in factor.effects if factor.service == label and _is_sure(e)]
        if sure:
            effects.append(max(sure, key=_strength))
    effects.sort(key=_strength, reverse=True)
    return tuple(f"{effect.sentence}." for effect in effects[:EFFECTS])


def _is_sure(effect: Effect) -> bool:
    ends = effect.interval
    is_apart = ends is not None and not ends.lo <= 1 <= ends.hi
    return is_apart and bool(effect.ratio) and not effect.is_noise and not effect.doubt


def _strength(effect: Effect) -> float:
    return abs(math.log(effect.ratio or 1.0))
