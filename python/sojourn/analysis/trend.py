"""How a number goes with a factor of ordered levels: flat, a cliff, a knee, steps, or unclear.

Each block gives the logarithm of the number at every level of which it has a believed run. The
steps between neighbouring levels (`steps`) are tested by Student's t, all together at 5 % (Holm):
of twenty studies in which nothing changes one names a step, by chance. It is `flat` if all levels
are *shown* to be within 10 % of the lowest: intervals that hold for all levels at once (Bonferroni)
lie within that. Nothing shown is not flat.

A step that makes two thirds of all change is a `cliff` if it is a factor of two, else a `knee`. Its
interval holds for all steps at once. Holm's test names a step a little sooner than such an interval
excludes no change; such a step is neither cliff nor knee.

Where a block is infinite, ranks decide: by the median of blocks it rises or falls in all, or that
is unknown. Where it breaks, and whether it is flat, stays unknown then.

Source: Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6
(1979); Schuirmann (1987) for equivalence; METHOD M15 to M17.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sojourn.findings.effects import INFINITE_IN, LOST_OR_GREW, Trend
from sojourn.half_width import COVERAGE
from sojourn.stats import successive_differences
from sojourn.stats.interval import Interval, around, raised
from sojourn.stats.log_ratio_contrasts import blocks_for_middle, middle
from sojourn.stats.method import Method
from sojourn.stats.successive_differences import BLOCKS_MIN, Step, Steps

METHOD = Method(
    name="trend",
    about="a number against a factor of ordered levels: flat, cliff, knee, steps",
    ids=("M15", "M16", "M17"),
    source="Holm (1979); Schuirmann (1987)",
)

LEVELS_MIN = 3
UNKNOWN = "unknown"  # too few blocks, or requests were lost
UNCLEAR = "unclear"  # no step is sure
FLAT = math.log(1.1)
CLIFF = math.log(2)
MOST = 2 / 3  # of all change, that one step makes


@dataclass(frozen=True, slots=True)
class Ladder:
    """A number at ordered levels, block by block.

    Attributes:
        what: the number: "p99 at 70 % load".
        name: of the factor, for people.
        levels: their texts, lowest first.
        logs: blocks × levels: the number's logarithm, but for what a whole block has in common; nan
            where no run was believed, inf where so many requests were lost that it is infinite, or
            where the queue grew.
        doubt: what to keep in mind beside it; "" if nothing.
    """

    what: str
    name: str
    levels: tuple[str, ...]
    logs: NDArray[np.float64]
    doubt: str = ""


def of(ladder: Ladder) -> Trend:
    """What can be reported about it.

    >>> logs = np.array([[0, 0.01, 1.2, 1.2], [0, -0.01, 1.25, 1.26], [0, 0.0, 1.22, 1.2]])
    >>> of(Ladder("p99", "size", ("1", "2", "4", "8"), logs)).kind
    'cliff'
    """
    lost = int(np.isinf(ladder.logs).any(axis=1).sum())
    if lost:
        return _by_ranks(ladder, INFINITE_IN.format(lost, len(ladder.logs)))
    result = successive_differences.fitted(ladder.logs)
    if result is None:
        return _trend(ladder, UNKNOWN, f"what {ladder.name} does to {ladder.what}: {_few(ladder)}")
    return replace(_shape(ladder, result), curve=_curve(result))


def _by_ranks(ladder: Ladder, where: str) -> Trend:
    """From the lowest level to the highest by the median of blocks.

    Steps are means of logarithms, which an infinite one has not; ranks have a place for it. Where a
    block is infinite at both levels, their ratio may lie anywhere.
    """
    logs = ladder.logs[~np.isnan(ladder.logs[:, [0, -1]]).any(axis=1)]
    with np.errstate(invalid="ignore"):
        ratios = logs[:, -1] - logs[:, 0]
    ends, endless = middle(ratios.tolist()), int((~np.isfinite(ratios)).sum())
    if ends and not ends[1].lo <= 1 <= ends[1].hi:
        word = "rises" if ends[1].lo > 1 else "falls"
        text = f"{ladder.what} {word} from {_span(ladder, 0, -1)}: in all × {_text(ends)}"
        return _trend(ladder, word, f"{text}, by the median, for {where}", ends)
    why = f"{where}: {LOST_OR_GREW}"
    if ends:
        why = f"{why}; by the median it is in all × {_text(ends)}, which shows no change"
    elif 2 * endless < len(ratios):
        why = f"{why}; with {blocks_for_middle(endless)} blocks the median has an interval"
    return _trend(ladder, UNKNOWN, f"what {ladder.name} does to {ladder.what}: {why}")


def _shape(ladder: Ladder, steps: Steps) -> Trend:
    """Flat, one step, several, or nothing that is sure."""
    if _is_flat(steps):
        text = f"{ladder.what} is flat: within 10 % from {_span(ladder, 0, -1)}"
        return _trend(ladder, "flat", text)
    sure = _sure(steps)
    if not sure:
        ends = _ratio(steps.between(0, steps.levels - 1), 1)
        text = f"no step of {ladder.what} from {_span(ladder, 0, -1)} is sure"
        text = f"{text}: in all × {_text(ends)}"
        return replace(_trend(ladder, UNCLEAR, text, ends), span=_widest(steps))
    at = _main(steps, sure)
    if at is None:
        return _gradual(ladder, steps, sure)
    step = steps.between(at, at + 1)
    ends = _ratio(step, steps.levels - 1)
    kind = "cliff" if abs(step.mean) >= CLIFF else "knee"
    text = f"{ladder.what} has a {kind} between {_span(ladder, at, at + 1)}: × {_text(ends)}"
    between = (ladder.levels[at], ladder.levels[at + 1])
    return replace(_trend(ladder, kind, text, ends), between=between)


def _curve(steps: Steps) -> tuple[tuple[float, float, float], ...]:
    """(ratio, lo, hi) of each level to the lowest, all at once."""
    each = [_ratio(steps.between(0, level), steps.levels - 1) for level in range(1, steps.levels)]
    return ((1.0, 1.0, 1.0), *((value, ends.lo, ends.hi) for value, ends in each))


def _few(ladder: Ladder) -> str:
    """Why nothing can be reported about it."""
    seen = (~np.isnan(ladder.logs)).sum(axis=0)
    poor = [level for level, n in zip(ladder.levels, seen, strict=True) if n < BLOCKS_MIN]
    if not poor:
        return "the levels that blocks have valid runs of do not overlap (see run.repeats)"
    return f"{BLOCKS_MIN} blocks need valid runs of {', '.join(poor)} (see run.repeats)"


def _gradual(ladder: Ladder, steps: Steps, sure: Sequence[int]) -> Trend:
    """Of several steps, none of which makes most of the change."""
    ends, first = _ratio(steps.between(0, steps.levels - 1), 1), ladder.levels[sure[0]]
    in_all = f"to {ladder.levels[-1]} × {_text(ends)}"
    ups = {steps.between(nth, nth + 1).mean > 0 for nth in sure}
    is_reported = ends[1].lo > 1 if ups == {True} else ends[1].hi < 1
    if len(ups) > 1 or not is_reported:
        is_both = len(ups) > 1 or not ends[1].lo <= 1 <= ends[1].hi  # in all it goes the other way
        way = "goes up and down" if is_both else f"goes {'up' if ups == {True} else 'down'}"
        here = _span(ladder, sure[0], sure[0] + 1)
        text = f"{ladder.what} {way} with {ladder.name}, first between {here}: {in_all}"
        return _trend(ladder, "mixed", text, ends)
    word = "rises" if ups == {True} else "falls"
    text = f"{ladder.what} {word} from {ladder.name} = {first} on: {in_all}"
    return _trend(ladder, word, text, ends)


def _is_flat(steps: Steps) -> bool:
    """Whether all levels are shown to be within 10 % of the lowest, all at once."""
    each = [steps.between(0, level) for level in range(1, steps.levels)]
    return all(abs(one.mean) + one.half(COVERAGE, len(each)) <= FLAT for one in each)


def _widest(steps: Steps) -> float:
    """The widest interval of any level beside the lowest, all at once, from end to end."""
    levels = range(1, steps.levels)
    halves = (steps.between(0, level).half(COVERAGE, len(levels)) for level in levels)
    return raised(2 * max(halves))


def _sure(steps: Steps) -> list[int]:
    """Steps that are there: `i` is the one from level i to i + 1."""
    chances = [steps.between(nth, nth + 1).chance for nth in range(steps.levels - 1)]
    left, sure = len(chances), []
    for nth in np.argsort(chances, kind="stable"):
        if chances[nth] > (1 - COVERAGE) / left:
            break
        sure.append(int(nth))
        left -= 1
    return sorted(sure)


def _main(steps: Steps, sure: Sequence[int]) -> int | None:
    """The step that makes most of all change, by an interval without 1 in it, or None."""
    sizes = [abs(steps.between(nth, nth + 1).mean) for nth in range(steps.levels - 1)]
    at = max(sure, key=lambda nth: sizes[nth])
    half = steps.between(at, at + 1).half(COVERAGE, steps.levels - 1)
    return at if sizes[at] >= MOST * sum(sizes) and sizes[at] > half else None


def _ratio(step: Step, at_once: int) -> tuple[float, Interval]:
    mean, half = step.mean, step.half(COVERAGE, at_once)
    return raised(mean), around(mean, half)


def _text(ends: tuple[float, Interval]) -> str:
    value, interval = ends
    return f"{value:.3g} ({interval.lo:.3g} to {interval.hi:.3g})"


def _span(ladder: Ladder, base: int, level: int) -> str:
    joined = "and" if level > 0 else "to"
    return f"{ladder.name} = {ladder.levels[base]} {joined} {ladder.levels[level]}"


def _trend(
    ladder: Ladder, kind: str, sentence: str, ends: tuple[float, Interval] | None = None
) -> Trend:
    return Trend(
        what=ladder.what,
        kind=kind,
        levels=ladder.levels,
        blocks=ladder.logs.shape[0],
        ratio=ends[0] if ends else None,
        interval=ends[1] if ends else None,
        sentence=f"{sentence}, but {ladder.doubt}" if ladder.doubt else sentence,
    )
