"""A service beside others under some levels of the factors, and what each factor does to that.

What the others do is p99 beside them over p99 alone, within a block and a combination of levels. A
factor's effect is the ratio of two of these ratios, so what it does to the service itself, alone as
beside the others, drops out: the factor is told to protect a service only where it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sojourn.analysis.effect_sentences import Number, Saying
from sojourn.analysis.factors import aliases
from sojourn.findings.effects import Effect, FactorFinding
from sojourn.plan.points import Verdict
from sojourn.plan.setting import Level, Setting, level_text
from sojourn.questions.together import plan
from sojourn.spec import Study
from sojourn.spec.levels import names
from sojourn.stats.log_ratio_contrasts import Contrast
from sojourn.text.numbers import load_share


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """One service while it was measured beside others.

    Attributes:
        service: its label.
        fraction: its load as a share of max RPS; offered_rps: the same, requests/s.
        beside: (label, share of max RPS) of the others.
        blocks: in how many the runs together and alone were both believed.
        p99_ns, alone_ns: medians over those blocks, ns; None: infinite, or without any.
        ratio, lo, hi: p99 together over alone with its interval; None: fewer than two blocks, or
            infinite in one of them.
        qos: whether it meets its target beside the others, by those blocks (`targets`); None: it
            has no target. alone_qos: alone.
        chance, alone_chance: how probable it is that it does; None: fewer than two blocks.
        target: in words; "" without one.
        reasons: why something is not known.
        levels: of the study's factors under which all of that was measured; under: in words.
        by_block: (block, p99 together over alone), infinite where requests were lost beside the
            others; None: they were lost alone, too or only.
    """

    service: str
    fraction: float
    offered_rps: float
    beside: tuple[tuple[str, float], ...]
    blocks: int
    p99_ns: float | None = None
    alone_ns: float | None = None
    ratio: float | None = None
    lo: float | None = None
    hi: float | None = None
    qos: Verdict | None = None
    alone_qos: Verdict | None = None
    chance: float | None = None
    alone_chance: float | None = None
    target: str = ""
    reasons: tuple[str, ...] = ()
    levels: tuple[tuple[str, Level], ...] = ()
    under: str = ""
    by_block: tuple[tuple[int, float | None], ...] = ()

    @property
    def is_longer(self) -> bool:
        """Whether it takes longer beside the others, beyond what chance does."""
        return self.lo is not None and self.lo > 1

    @property
    def lost_target(self) -> str:
        """`p99 ≤ 1 ms`, where it misses that beside the others and meets it alone; else ""."""
        is_lost = (self.qos, self.alone_qos) == (Verdict.VIOLATED, Verdict.HOLDS)
        return self.target if is_lost else ""


def by_factor(study: Study, colocated: Sequence[Met]) -> tuple[FactorFinding, ...]:
    """What each factor does to how much longer each service takes beside the others.

    Args:
        study: with its factors.
        colocated: every service in every combination of loads and levels.
    """
    labels = plan.members(study)
    return tuple(
        _factor(study, label, key, [m for m in colocated if m.service == label])
        for label in labels
        for key in study.factors_of(*labels)
    )


def _factor(study: Study, label: str, key: str, own: Sequence[Met]) -> FactorFinding:
    labels, levels, name = plan.members(study), study.factors[key], names(study.factors)[key]
    cells = tuple(Setting.of(cell) for cell in study.combinations(*labels))
    is_fraction = study.design.kind == "fractional"
    effects: list[Effect] = []
    for level in levels[1:]:
        contrast = Contrast(cells, key, levels[0], level, is_fraction)
        effects += _numbers(Saying(contrast, name), own)
    mixed = aliases(study, study.factors_of(*labels), key)
    also = f" (confounded with the effect of {', '.join(mixed)})" if mixed else ""
    text = "; ".join(effect.sentence for effect in effects)
    return FactorFinding(
        service=label,
        key=key,
        name=name,
        levels=tuple(map(level_text, levels)),
        effects=tuple(effects),
        aliases=mixed,
        sentence=f"{label}: {text}{also}." if text else "",
    )


def _numbers(saying: Saying, own: Sequence[Met]) -> Iterator[Effect]:
    """The effect on every combination of loads."""
    for fraction, beside in dict.fromkeys((m.fraction, m.beside) for m in own):
        others = " and ".join(f"{label} at {load_share(share)}" for label, share in beside)
        number = Number(f"p99 at {load_share(fraction)} beside {others} over alone", is_time=False)
        values: dict[int, dict[Setting, float]] = {}
        for one in (m for m in own if (m.fraction, m.beside) == (fraction, beside)):
            for block, ratio in one.by_block:
                held = values.setdefault(block, {})
                held[Setting(one.levels)] = math.nan if ratio is None else ratio
        yield saying.of_blocks(number, values, unlike="")
