"""Scale-up against scale-out: n instances of one thread beside one instance of n (C11).

What both carry is compared as any two levels are: highest load within QoS where it was looked for,
else max RPS block by block.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn.analysis.effect_sentences import (
    LIMIT,
    OPEN_BORDER,
    PEAK,
    Number,
    Saying,
    unlike_shields,
)
from sojourn.findings.effects import Effect, FactorFinding
from sojourn.plan.setting import Setting
from sojourn.spec import Study
from sojourn.stats.interval import Interval
from sojourn.stats.log_ratio_contrasts import Blocks, Contrast, combined
from sojourn.stats.method import Method

METHOD = Method(
    name="scaling",
    about="scale-up against scale-out: n instances of one thread beside one of n",
    ids=("C11", "P10"),
    source="Chen et al., ISPASS 2017, Fig. 2",
)

NAME = "scale-out"
BORDER_LEVEL = 0.9  # of the intervals of how much load fits, as in `factors`


@dataclass(frozen=True, slots=True)
class _Outward(Contrast):
    """Many small beside one large, which differ in two factors at once."""

    couples: tuple[tuple[Setting, Setting], ...] = ()

    def pairs(self) -> tuple[tuple[Setting, Setting], ...]:
        """(one instance of n threads, n instances of one thread)."""
        return self.couples


def finding(
    study: Study,
    label: str,
    cells: Sequence[Setting],
    limits: Mapping[Setting, tuple[float, Interval]],
    peaks: Blocks,
    *,
    shields: Mapping[Setting, Collection[str]] | None = None,
) -> FactorFinding | None:
    """What n instances carry beside one of n threads; None where the study does not vary both.

    Args:
        study: with its factors.
        label: of the service.
        cells: the combinations that are measured.
        limits: highest load within QoS and its interval, by combination, where it is known.
        peaks: max RPS by block and combination.
        shields: that the runs of each combination had; None: not known.
    """
    threads, instances = (f"services.{label}.params.{name}" for name in ("threads", "instances"))
    if not {threads, instances} <= set(study.factors):
        return None
    many = [n for n in study.factors[instances] if n in study.factors[threads] and n != 1]
    couples = {n: _couples(cells, threads, instances, n) for n in many if isinstance(n, int)}
    effects = [
        _effect(n, of, tuple(cells), limits, peaks, unlike=_unlike(of, shields or {}))
        for n, of in couples.items()
    ]
    if not effects:
        return None
    sentences = [one.sentence for one in effects if one.interval] or [
        one.sentence for one in effects[:1]
    ]
    return FactorFinding(
        service=label,
        key=NAME,
        name=NAME,
        levels=tuple(one.level for one in effects),
        effects=tuple(e for e, of in zip(effects, couples.values(), strict=True) if of),
        aliases=(),
        sentence=f"{label}: {'; '.join(sentences)}.",
    )


def _couples(
    cells: Sequence[Setting], threads: str, instances: str, n: int
) -> tuple[tuple[Setting, Setting], ...]:
    known = set(cells)
    ups = (cell for cell in cells if cell[threads] == n and cell[instances] == 1)
    both = ((cell, Setting.of({**cell, threads: 1, instances: n})) for cell in ups)
    return tuple((up, out) for up, out in both if out in known)


def _unlike(
    couples: Sequence[tuple[Setting, Setting]], shields: Mapping[Setting, Collection[str]]
) -> str:
    """Why what is up and what is out do not compare, or ""."""
    ups, outs = ([shields.get(pair[side], ()) for pair in couples] for side in (0, 1))
    return unlike_shields(ups, outs)


def _effect(
    n: int,
    couples: tuple[tuple[Setting, Setting], ...],
    cells: tuple[Setting, ...],
    limits: Mapping[Setting, tuple[float, Interval]],
    peaks: Blocks,
    *,
    unlike: str,
) -> Effect:
    contrast = _Outward(cells, "", "up", "out", is_fraction=False, couples=couples)
    saying = Saying(contrast, NAME)
    border = Number(LIMIT, is_time=False, coverage=BORDER_LEVEL)
    value, interval = combined(contrast, limits)
    if value is not None:
        reason = "" if interval else OPEN_BORDER
        effect = saying.effect(border, value, interval, reason=reason, unlike=unlike)
    else:
        effect = saying.of_blocks(Number(PEAK, is_time=False), peaks, unlike=unlike)
    return replace(
        effect,
        base=f"one of {n} threads",
        level=f"{n} of one thread",
        sentence=_words(n, effect, is_here=bool(couples)),
    )


def _words(n: int, effect: Effect, *, is_here: bool) -> str:
    """`4 instances of one thread carry 1.3 times (1.1 to 1.5) what one of 4 threads does`."""
    who = f"{n} instances of one thread"
    if effect.ratio is None:
        why = effect.reason if is_here else "they are not both measured here"
        return f"{who} cannot be compared with one of {n} threads: {why}"
    ends = effect.interval
    sure = f"({ends.lo:.3g} to {ends.hi:.3g})" if ends else f"(no interval: {effect.reason})"
    same = ", which may be no difference" if ends and ends.lo <= 1 <= ends.hi else ""
    what = "" if effect.what != "max RPS" else " at their peak"
    return f"{who} carry {effect.ratio:.3g} times {sure} what one of {n} threads does{what}{same}"
