"""Antagonist by intensity, coloured by what it does to the tail, or to how much load fits."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sojourn.findings.effects import Effect, FactorFinding
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.plan.setting import NEIGHBOUR
from sojourn.report import labels, show
from sojourn.report.draw import antagonists as draw_antagonists
from sojourn.report.draw.antagonists import BETTER, SAME, WORSE
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.draw.lookup import tail_q
from sojourn.report.draw.table import Record, from_records
from sojourn.spec.levels import level_of
from sojourn.text.numbers import percentile

NAME = "antagonists"
COLUMNS = ("service", "panel", "antagonist", "intensity", "ratio", "lo", "hi", "state", "why")
FEW = 2  # antagonists below which there is nothing to compare
FULL = 10.0  # times as long: the deepest colour
ENDLESS = 100.0  # an upper end beyond it says nothing


def draw(findings: Findings) -> list[Figure]:
    """One figure for each service beside several antagonists, each against no one."""
    return [_figure(findings, factor) for factor in factors_of(findings)]


def factors_of(findings: Findings) -> list[FactorFinding]:
    """What neighbours do to each service, where several antagonists were tried against no one."""
    return [factor for factor in findings.factors if _is_one(factor)]


def _is_one(factor: FactorFinding) -> bool:
    if factor.key != NEIGHBOUR or factor.levels[0] != "none" or not factor.effects:
        return False
    return len({labels.antagonist(text_of(level))[0] for level in factor.levels[1:]}) >= FEW


def text_of(level: str) -> str:
    """The neighbour that a level's text names."""
    return str(level_of(level))


def numbers(findings: Findings, factor: FactorFinding) -> list[str]:
    """What is drawn of a factor: how much load fits where that is known, else tails by load."""
    whats = list(dict.fromkeys(effect.what for effect in factor.effects))
    tail = percentile(tail_q(_service(findings, factor)))
    rates = [e.what for e in factor.effects if not e.is_time and e.what != "max RPS"]
    return [w for w in whats if w in rates or w.startswith(f"{tail} at ")]


def _service(findings: Findings, factor: FactorFinding) -> ServiceFinding:
    return next(s for s in findings.services if factor.service in {s.label, s.service})


def state(effect: Effect) -> str:
    """Whether it is surely worse beside it, surely better, or neither."""
    if effect.endless:
        return WORSE if (effect.endless > 0) == effect.is_time else BETTER
    ends = effect.interval
    if ends is None or ends.lo <= 1 <= ends.hi or effect.is_noise:
        return SAME
    return WORSE if (ends.lo > 1) == effect.is_time else BETTER


def times(effect: Effect) -> str:
    """`3.1×` where it is sure, `≤ 1.4×` where no difference was shown, `–` where nothing is known.

    A ratio without an interval is put into brackets; `∞` where the queue grows without end, or
    requests are lost, beside the one and not beside the other. `0×` where no load fits beside it.
    """
    if effect.endless:
        return "∞" if effect.endless > 0 else "0×"
    ends = effect.interval
    if effect.ratio is None:
        return "–"
    if ends is None:
        return f"({show.known(effect.ratio, None):g}×)"
    if state(effect) == SAME:
        worst = ends.hi if effect.is_time else 1 / ends.lo
        if not math.isfinite(worst) or worst > ENDLESS:
            return "–"
        return f"≤ {show.known(max(worst, effect.noise_gate or 0.0), worst - 1, 1):g}×"
    return f"{show.known(effect.ratio, (ends.hi - ends.lo) / 2):g}×"


def _figure(findings: Findings, factor: FactorFinding) -> Figure:
    panels = numbers(findings, factor)
    records = [
        _record(factor, effect)
        for what in panels
        for effect in factor.effects
        if effect.what == what
    ]
    what = "p99" if not panels else panels[0].partition(" at ")[0]
    title = f"{what} of {factor.service} beside each antagonist, times that alone"
    name = NAME if len(factors_of(findings)) == 1 else f"{NAME}-{factor.service}"
    return Figure(
        name=name,
        title=title,
        caption=(
            "A number with × is surely another than alone, beyond what equal runs differ by. With"
            " ≤ no difference was shown; it is at most that. In brackets: one block, so no"
            " interval. ∞: the queue grows as long as the load lasts, or requests were lost. 0×: no"
            " load fits. A dash: nothing is known."
        ),
        alt="; ".join(f"{r['antagonist']} {r['intensity']}: {r['shown']}" for r in records[:20]),
        table=from_records(COLUMNS, records),
        chart=draw_antagonists.chart(records, panels=panels, title=title) if records else None,
        missing="" if records else "No load was measured both alone and beside an antagonist.",
        facet_min=draw_antagonists.PANEL_MIN,
        panels=len(panels),
    )


def _record(factor: FactorFinding, effect: Effect) -> Record:
    name, amount = labels.antagonist(text_of(effect.level))
    ends = effect.interval
    return {
        "service": factor.service,
        "panel": effect.what,
        "antagonist": name,
        "intensity": amount or "–",
        "ratio": effect.ratio,
        "lo": ends.lo if ends else None,
        "hi": ends.hi if ends else None,
        "state": state(effect),
        "depth": depth(effect),
        "shown": times(effect),
        "times": f"{effect.ratio:.3g} ({ends.lo:.3g} to {ends.hi:.3g})"
        if effect.ratio and ends
        else f"{effect.ratio:.3g}"
        if effect.ratio
        else "not known",
        "why": show.sentences((effect.reason, "within noise" if effect.is_noise else "")) or "–",
    }


def depth(effect: Effect) -> float:
    """How strong the effect is, from 0 (none) to 1 (ten times or more)."""
    if effect.endless:
        return 1.0
    if state(effect) == SAME or not effect.ratio:
        return 0.0
    if not math.isfinite(effect.ratio):
        return 1.0
    return min(1.0, abs(math.log(effect.ratio)) / math.log(FULL))


def ranked(effects: Sequence[Effect]) -> list[Effect]:
    """The surely worse ones, the worst first."""
    worse = [e for e in effects if state(e) == WORSE]
    return sorted(worse, key=_much, reverse=True)


def _much(effect: Effect) -> float:
    if effect.endless:
        return math.inf
    return (effect.ratio or 1.0) if effect.is_time else 1 / (effect.ratio or 1.0)


KIND = Kind(
    name=NAME,
    about="antagonist by intensity, by what it does to the tail or to the load that fits (L6, L14)",
    of_study=draw,
)
