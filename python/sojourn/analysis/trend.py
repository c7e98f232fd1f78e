"""How a number goes with a factor of ordered levels: flat, a cliff, a knee, steps, or unclear.

Each block gives the logarithm of the number at every level over that at the lowest. The steps
between neighbouring levels are tested by Student's t over blocks, all together at 5 % (Holm): of
twenty studies in which nothing changes one names a step, by chance. It is `flat` if all levels are
*shown* to be within 10 % of the lowest: intervals that hold for all levels at once (Bonferroni) lie
within that. Nothing shown is not flat.

A step that makes two thirds of all change is a `cliff` if it is a factor of two, else a `knee`.

Source: Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6
(1979); Schuirmann (1987) for equivalence; METHOD M15 to M17.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sojourn.analysis.contrasts import BLOCKS_MIN, COVERAGE
from sojourn.analysis.findings import Interval, Trend
from sojourn.analysis.method import Method

METHOD = Method(
    name="trend",
    about="a number against a factor of ordered levels: flat, cliff, knee, steps",
    ids=("M15", "M16", "M17"),
    source="Holm (1979); Schuirmann (1987)",
)

LEVELS_MIN = 3
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
        logs: blocks × levels: log ratios to the lowest level, whose column is 0; nan in a block
            with an infinite number.
        doubt: what to keep in mind beside it; "" if nothing.
    """

    what: str
    name: str
    levels: tuple[str, ...]
    logs: NDArray[np.float64]
    doubt: str = ""


def of(ladder: Ladder) -> Trend:
    """What can be said of it.

    >>> steps = np.array([[0, 0.01, 1.2, 1.2], [0, -0.01, 1.25, 1.26], [0, 0.0, 1.22, 1.2]])
    >>> of(Ladder("p99", "size", ("1", "2", "4", "8"), steps)).kind
    'cliff'
    """
    blocks = ladder.logs.shape[0]
    if blocks < BLOCKS_MIN:
        why = f"{blocks or 'no'} block has believed runs of all levels (see run.repeats)"
        return _trend(ladder, "unknown", f"what {ladder.name} does to {ladder.what}: {why}")
    if lost := int(np.isnan(ladder.logs).any(axis=1).sum()):
        why = f"it is infinite in {lost} of {blocks} blocks: requests were lost"
        return _trend(ladder, "unknown", f"what {ladder.name} does to {ladder.what}: {why}")
    if _is_flat(ladder.logs):
        text = f"{ladder.what} is flat: within 10 % from {_span(ladder, 0, -1)}"
        return _trend(ladder, "flat", text)
    sure = _sure(ladder.logs)
    if not sure:
        ends = _ratio(ladder.logs[:, -1], 1)
        text = f"no step of {ladder.what} from {_span(ladder, 0, -1)} is sure"
        return _trend(ladder, "unclear", f"{text}: in all × {_text(ends)}", ends)
    at = _main(ladder.logs, sure)
    if at is None:
        return _gradual(ladder, sure)
    step = ladder.logs[:, at + 1] - ladder.logs[:, at]
    ends = _ratio(step, ladder.logs.shape[1] - 1)
    kind = "cliff" if abs(float(step.mean())) >= CLIFF else "knee"
    text = f"{ladder.what} has a {kind} between {_span(ladder, at, at + 1)}: × {_text(ends)}"
    return _trend(ladder, kind, text, ends)


def _gradual(ladder: Ladder, sure: Sequence[int]) -> Trend:
    """Of several steps, none of which makes most of the change."""
    ends, first = _ratio(ladder.logs[:, -1], 1), ladder.levels[sure[0]]
    in_all = f"to {ladder.levels[-1]} × {_text(ends)}"
    steps = np.diff(ladder.logs, axis=1).mean(axis=0)
    ups = {bool(steps[nth] > 0) for nth in sure}
    is_told = ends[1].lo > 1 if ups == {True} else ends[1].hi < 1
    if len(ups) > 1 or not is_told:
        way = "goes up and down" if len(ups) > 1 else f"goes {'up' if ups == {True} else 'down'}"
        here = _span(ladder, sure[0], sure[0] + 1)
        text = f"{ladder.what} {way} with {ladder.name}, first between {here}: {in_all}"
        return _trend(ladder, "mixed", text, ends)
    word = "rises" if ups == {True} else "falls"
    text = f"{ladder.what} {word} from {ladder.name} = {first} on: {in_all}"
    return _trend(ladder, word, text, ends)


def _is_flat(logs: NDArray[np.float64]) -> bool:
    """Whether all levels are shown to be within 10 % of the lowest, all at once."""
    each = [_half(column, logs.shape[1] - 1) for column in logs[:, 1:].T]
    means = logs[:, 1:].mean(axis=0)
    return all(abs(m) + half <= FLAT for m, half in zip(means, each, strict=True))


def _sure(logs: NDArray[np.float64]) -> list[int]:
    """Steps that are there: `i` is the one from level i to i + 1."""
    steps = np.diff(logs, axis=1)
    chances = [_chance(step) for step in steps.T]
    left, found = len(chances), []
    for nth in np.argsort(chances, kind="stable"):
        if chances[nth] > (1 - COVERAGE) / left:
            break
        found.append(int(nth))
        left -= 1
    return sorted(found)


def _chance(step: NDArray[np.float64]) -> float:
    """The probability of a mean so far from 0 by chance, by Student's t."""
    spread = float(step.std(ddof=1))
    if not spread:
        return 1.0 if not step.mean() else 0.0
    t = abs(float(step.mean())) / (spread / math.sqrt(len(step)))
    return float(2 * stats.t.sf(t, len(step) - 1))


def _main(logs: NDArray[np.float64], sure: Sequence[int]) -> int | None:
    """The step that makes most of all change, or None."""
    sizes = np.abs(np.diff(logs, axis=1).mean(axis=0))
    at = max(sure, key=lambda nth: sizes[nth])
    return at if sizes[at] >= MOST * sizes.sum() else None


def _half(values: NDArray[np.float64], at_once: int) -> float:
    """Half the interval of the mean, of which so many hold at once."""
    level = 1 - (1 - COVERAGE) / at_once / 2
    spread = float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(stats.t.ppf(level, len(values) - 1)) * spread


def _ratio(logs: NDArray[np.float64], at_once: int) -> tuple[float, Interval]:
    mean, half = float(logs.mean()), _half(logs, at_once)
    return math.exp(mean), Interval(lo=math.exp(mean - half), hi=math.exp(mean + half))


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
