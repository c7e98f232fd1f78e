"""What each level of a factor does, as ratios: page and terminal draw a row for each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sojourn.analysis.factors import SENTENCE_LOAD
from sojourn.findings.effects import Effect, FactorFinding
from sojourn.findings.findings import Findings
from sojourn.plan.setting import NEIGHBOUR
from sojourn.report import numbers
from sojourn.report.labels import label
from sojourn.spec.levels import level_of

_TAIL = re.compile(r"p(?!50 )[\d.]+ at ([\d.]+) % load")
WITHIN, PEAK = "the highest load within QoS", "max RPS"


class Kind(StrEnum):
    """What a ratio says: only the first two are a difference."""

    SHOWN = "a difference was shown"
    BOUNDED = "a difference was shown, its size only to one side"
    NONE = "no difference was shown"
    WIDE = "this time shows nothing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One level of a factor beside its first, in one number.

    Attributes:
        name: the level in a few words, with the service where there are several.
        base: what it is compared with, in a few words.
        key: of the factor.
    """

    name: str
    base: str
    key: str
    service: str
    effect: Effect
    kind: Kind

    @property
    def is_shown(self) -> bool:
        """Whether a difference was shown."""
        return self.kind in {Kind.SHOWN, Kind.BOUNDED}

    @property
    def words(self) -> str:
        """The ratio in words: `2.0 (1.2–3.3)`, `at least 6.1`, or from what size on it is seen."""
        ends, value = self.effect.interval, self.effect.ratio
        if ends is None or value is None:
            return "unknown"
        return numbers.span(value, ends, is_shown=self.is_shown)


def ratios_of(findings: Findings) -> tuple[Ratio, ...]:
    """Every level of every factor, in the few numbers that are reported: number by number."""
    several = len({factor.service for factor in findings.factors}) > 1
    results = [
        ratio for factor in findings.factors for ratio in _of_factor(factor, name_service=several)
    ]
    order = list(dict.fromkeys(whats(results)))
    return tuple(sorted(results, key=lambda ratio: order.index(ratio.effect.what)))


def whats(ratios: Iterable[Ratio]) -> list[str]:
    """The numbers that are reported, tails first, then how much load there can be."""
    known = dict.fromkeys(ratio.effect.what for ratio in ratios)
    return sorted(known, key=rank)


def rank(what: str) -> int:
    """Where a number stands: tails, then means, then how much load there can be."""
    if _TAIL.fullmatch(what):
        return 0
    return {WITHIN: 2, PEAK: 3}.get(what, 1)


def _of_factor(factor: FactorFinding, *, name_service: bool) -> Iterator[Ratio]:
    chosen = _chosen(factor.effects)
    for effect in factor.effects:
        if effect.what not in chosen:
            continue
        name = named(factor.key, effect.level)
        yield Ratio(
            name=f"{factor.service}, {name}" if name_service else name,
            base=named(factor.key, effect.base),
            key=factor.key,
            service=factor.service,
            effect=effect,
            kind=_kind(effect),
        )


def named(key: str, level: str) -> str:
    """A level's text in a few words; what is none of a study's own levels stands as it is."""
    if "." not in key and key != NEIGHBOUR:
        return level
    try:
        return label(key, level_of(level))
    except ValueError:
        return level


def _chosen(effects: Sequence[Effect]) -> set[str]:
    """The tail at the load of which most is known, its mean, and how much load there can be."""
    loads = {e.what: float(at[1]) for e in effects if (at := _TAIL.fullmatch(e.what))}
    known = Counter(e.what for e in effects if e.interval and not numbers.is_wide(e.interval))
    tail = min(
        loads, key=lambda what: (-known[what], abs(loads[what] - 100 * SENTENCE_LOAD)), default=""
    )
    mean = f"the mean at {tail.partition(' at ')[2]}"
    rates = [e.what for e in effects if not e.is_time and e.interval]
    best = next((what for what in (WITHIN, PEAK) if what in rates), "")
    others = {e.what for e in effects if not e.is_time and e.what not in {WITHIN, PEAK}}
    return {tail, mean, best, *others}


def _kind(effect: Effect) -> Kind:
    ends = effect.interval
    if ends is None or effect.ratio is None:
        return Kind.UNKNOWN
    shown = numbers.excludes_one(ends) and not effect.is_noise
    if numbers.is_wide(ends):
        return Kind.BOUNDED if shown else Kind.WIDE
    return Kind.SHOWN if shown else Kind.NONE
