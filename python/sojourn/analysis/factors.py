"""What each factor of a study does to each service: highest load, latency at equal load, max RPS.

Equal load is an equal share of max RPS, each combination of its own, but beside a neighbour that of
the service alone. How much load fits is a number of its own beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sojourn.analysis import (
    aa_noise_floor,
    block_values,
    machine_facts,
    machines,
    pace,
    scaling,
    trend,
    workers,
)
from sojourn.analysis.block_values import Combinations
from sojourn.analysis.combinations import Part
from sojourn.analysis.effect_sentences import LIMIT, PEAK, Number, Saying, unlike_shields
from sojourn.analysis.trend import UNKNOWN
from sojourn.findings import quantity
from sojourn.findings.effects import Effect, EqualMachines, FactorFinding, Trend
from sojourn.findings.findings import ServiceFinding
from sojourn.papers import factors as paper_factors
from sojourn.places.place import EMULATED
from sojourn.plan.setting import level_text
from sojourn.spec import Study
from sojourn.spec.hosts import SERVER
from sojourn.spec.levels import names
from sojourn.stats import ordered_levels
from sojourn.stats.log_ratio_contrasts import Contrast
from sojourn.text.numbers import load_share, percentile

MEDIAN, TAIL = 0.5, 0.99
BORDER_LEVEL = 0.9  # of the intervals of how much load fits
PLACE = ".place"  # of a service: its mean is reported too (C17)
SENTENCE_LOAD = 0.7  # load whose tail is in the sentence, or the nearest that can be told (C7)


@dataclass(frozen=True, slots=True)
class _Shown:
    """An effect, with the load of a time as a share of max RPS, and whether it is of a tail."""

    effect: Effect
    load: float = 0.0
    is_tail: bool = False
    is_mean: bool = False

    @property
    def is_asked(self) -> bool:
        """Whether the question is about it: a median only is beside a tail."""
        return self.is_tail or self.is_mean or not self.effect.is_time


def effects(
    study: Study, parts: Sequence[Part], findings: Sequence[ServiceFinding]
) -> tuple[FactorFinding, ...]:
    """What each factor does to each service that feels it.

    Args:
        study: with its factors.
        parts: all services under all combinations.
        findings: of each part, in the same order.
    """
    services: list[Combinations] = []
    for label in dict.fromkeys(part.spec.label for part in parts):
        own = [n for n, part in enumerate(parts) if part.spec.label == label]
        of = (tuple(parts[n] for n in own), tuple(findings[n] for n in own))
        services.append(Combinations(study, *of))
    each = [
        _factor(service, key)
        for service in services
        for key in study.factors_of(service.label)
        if len(service.levels(key)) > 1
    ]
    outward = filter(None, map(_outward, services))
    reports = (*workers.findings(study, parts), *pace.findings(study, parts, findings))
    return (*outward, *each, *reports)


def _outward(service: Combinations) -> FactorFinding | None:
    """Many small instances beside one large one, where the study has both."""
    cells = tuple(part.levels for part in service.parts)
    return scaling.finding(
        service.study,
        service.label,
        cells,
        block_values.borders(service).closed,
        block_values.peaks(service),
        shields=block_values.shields(service),
    )


def _factor(service: Combinations, key: str) -> FactorFinding:
    name, levels = names(service.study.factors)[key], service.levels(key)
    cells = tuple(part.levels for part in service.parts)
    is_fraction = service.study.design.kind == "fractional" and service.study.is_whole
    contrasts = [Contrast(cells, key, levels[0], level, is_fraction) for level in levels[1:]]
    results = [report for contrast in contrasts for report in _numbers(service, contrast, name)]
    mixed = aliases(service.study, service.study.factors_of(service.label), key)
    trends = tuple(_trends(service, key, name, results))
    doubts = dict.fromkeys(_emulated(service, contrast) for contrast in contrasts)
    equal = tuple(_equal(service, contrasts, name, results))
    result = FactorFinding(
        service=service.label,
        key=key,
        name=name,
        levels=tuple(map(level_text, levels)),
        effects=tuple(reported.effect for reported in results),
        aliases=mixed,
        sentence=_sentence(
            service.label, _with(trends, _most_important(results)), mixed, [*filter(None, doubts)]
        ),
        trends=trends,
        asked=tuple(dict.fromkeys(notice.effect.what for notice in results if notice.is_asked)),
        paper=paper_factors.statements_on(service.parts[0].spec.kind, key, levels),
        equal=equal,
    )
    return result if not equal else machine_facts.with_sentence(service, result)


def _equal(
    service: Combinations, contrasts: Sequence[Contrast], name: str, results: Sequence[_Shown]
) -> Iterator[EqualMachines]:
    """What holds for machines like these, where a study is spread over equal ones."""
    if not machines.is_spread(service):
        return
    if differ := machines.unlike(service):
        yield differ
        return
    near, q = _near([one for one in results if one.is_tail]), service.tail_q(TAIL)
    time = machines.Time(what=near.effect.what, load=near.load, q=q) if near else None
    if contrasts[0].factor != SERVER:
        for one in contrasts:
            yield from machines.effects(service, one, name, time)
    elif service.study.factors_of(service.label) == (SERVER,):
        yield from machines.numbers(service, time, BORDER_LEVEL)


def _is_searched(part: Part) -> bool:
    """Whether the highest load within a target is asked of it."""
    return part.spec.qos is not None and part.data.questions.axis_search in part.spec.measure


def _numbers(service: Combinations, contrast: Contrast, name: str) -> Iterator[_Shown]:
    """Each number's effect, the one that is asked for most first."""
    unlike = _unlike(service, contrast)
    saying, emulated = Saying(contrast, name), _emulated(service, contrast)
    floor = aa_noise_floor.pooled([f.noise_floor for f in service.findings if f.noise_floor])
    if any(map(_is_searched, service.parts)):
        number = Number(LIMIT, is_time=False, coverage=BORDER_LEVEL, doubt=emulated)
        borders = block_values.borders(service)
        yield _Shown(saying.of_borders(number, borders, unlike=unlike))
    q = service.tail_q(TAIL)
    for load in sorted({p.fraction for f in service.findings for p in f.points}):
        for quantile in dict.fromkeys((q, MEDIAN)):
            number = Number(
                f"{percentile(quantile)} at {load_share(load)} load",
                is_time=True,
                doubt="; ".join(
                    filter(None, (emulated, block_values.late(service, load, quantile)))
                ),
                floor=floor if floor and floor.q == quantile else None,
            )
            times, runs = block_values.times(service, load, quantile)
            lost = block_values.losses(service, load, quantile)
            of = saying.of_blocks(number, times, unlike=unlike, runs=runs, losses=lost)
            yield _Shown(of, load, is_tail=quantile != MEDIAN)
        if contrast.factor.endswith(PLACE):
            number = Number(
                f"the mean at {load_share(load)} load",
                is_time=True,
                doubt=block_values.late(service, load, None),
            )
            times, runs = block_values.times(service, load, None)
            lost = block_values.losses(service, load, None)
            of = saying.of_blocks(number, times, unlike=unlike, runs=runs, losses=lost)
            yield _Shown(of, load, is_mean=True)
    peaks = block_values.peaks(service)
    borrowed = [part for part in service.parts if not part.has_axis]  # theirs is another's
    is_here = not borrowed or any(contrast.weights(block) for block in peaks.values())
    if block_values.has_peaks(service) and is_here:
        number = Number(PEAK, is_time=False, doubt=emulated)
        yield _Shown(saying.of_blocks(number, peaks, unlike=unlike))


def _unlike(service: Combinations, contrast: Contrast) -> str:
    """What else than the factor was not the same: the shield, which not all levels allow."""
    each = block_values.shields(service)
    sides = [
        [of for at, of in each.items() if level_text(at[contrast.factor]) == level_text(level)]
        for level in (contrast.base, contrast.level)
    ]
    return unlike_shields(*sides)


def _emulated(service: Combinations, contrast: Contrast) -> str:
    """That one side alone ran on translated CPUs: the ratio is a translator's first of all."""
    results: dict[bool, set[str]] = {True: set(), False: set()}
    for part, finding in zip(service.parts, service.findings, strict=True):
        level = level_text(part.levels[contrast.factor])
        results[EMULATED in dict(finding.setup)].add(level)
    sides = [level_text(one) for one in (contrast.base, contrast.level)]
    emulated = [side for side in sides if side in results[True]]
    if len(emulated) != 1 or emulated[0] in results[False]:
        return ""
    return f"{emulated[0]} was emulated (TCG): a ratio to it is first of all what translating costs"


def aliases(study: Study, effect: Collection[str], key: str) -> tuple[str, ...]:
    """Effects of two factors together that a fraction mixes with this one.

    A product with a factor that is not in force is nothing.
    """
    factors = list(study.factors)
    fraction = study.design.fraction_of(study.factors)
    if fraction is None:
        return ()
    called = names(factors)
    words = (
        [factor for n, factor in enumerate(factors) if word.bits >> n & 1]
        for word in fraction.aliases(1 << factors.index(key))
    )
    return tuple(" with ".join(called[f] for f in word) for word in words if {*effect} >= set(word))


def _trends(
    service: Combinations, key: str, name: str, results: Sequence[_Shown]
) -> Iterator[Trend]:
    """What levels that are amounts do in order, of the tail at one load and of max RPS.

    None where two levels do not compare for another reason, which the effects then say.
    """
    cells = tuple(part.levels for part in service.parts)
    ordered = quantity.ordered(tuple(service.levels(key)))
    if ordered is None or len(ordered) < trend.LEVELS_MIN:
        return
    pairs = (Contrast(cells, key, ordered[0], level, is_fraction=False) for level in ordered[1:])
    if any(_unlike(service, contrast) for contrast in pairs):
        return
    texts, tail = tuple(map(level_text, ordered)), service.tail_q(TAIL)
    if near := _near([one for one in results if one.is_tail]):
        times, _ = block_values.times(service, near.load, tail)
        logs = ordered_levels.logs(key, ordered, times)
        doubt = block_values.late(service, near.load, tail)
        yield trend.of(trend.Ladder(near.effect.what, name, texts, logs, doubt))
    if peaks := block_values.peaks(service):
        yield trend.of(trend.Ladder(PEAK, name, texts, ordered_levels.logs(key, ordered, peaks)))


def _near(tails: Sequence[_Shown]) -> _Shown | None:
    """The tail at the load that is reported, or at the nearest of which something is known."""
    known = [t for t in tails if t.effect.interval] or [t for t in tails if t.effect.ratio]
    return min(known or tails, key=lambda one: abs(one.load - SENTENCE_LOAD), default=None)


def _most_important(results: Sequence[_Shown]) -> list[Effect]:
    """The effects that matter most: how much load fits, the tail at one load, max RPS."""
    reports: list[Effect] = []
    for level in dict.fromkeys(one.effect.level for one in results):
        own = [one for one in results if one.effect.level == level]
        near = _near([one for one in own if one.is_tail])
        reports += [one.effect for one in own if not one.effect.is_time]
        reports += [near.effect] if near else []
        reports += [one.effect for one in own if near and one.is_mean and one.load == near.load]
    return sorted(reports, key=lambda effect: effect.interval is None)  # what is known first


def _with(trends: Sequence[Trend], reports: Sequence[Effect]) -> list[Effect | Trend]:
    """Trends say it of all levels; what has none, or none that is known, is told level by level."""
    known = {one.what: one for one in trends if one.kind != UNKNOWN}
    return [*known.values(), *(one for one in reports if one.what not in known)]


def _sentence(
    label: str, reports: Sequence[Effect | Trend], also: Sequence[str], doubts: Sequence[str]
) -> str:
    text = "; ".join([*(one.sentence for one in reports), *doubts]) if reports else ""
    mixed = f" (confounded with the effect of {', '.join(also)})" if also else ""
    return f"{label}: {text}{mixed}." if text else ""
