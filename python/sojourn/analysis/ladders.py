"""A number at ordered levels of a factor, block by block, as logarithms to the lowest level.

All levels of a block are compared under the same levels of the other factors: those under which
every level was measured, in this block and in all others that are used. Where a level is missing
under some of them (skipped, or not believed) the average over the rest would differ from level to
level by what is in it, in every block alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sojourn.analysis.saying import Blocks
from sojourn.plan.setting import Level, Setting


def logs(key: str, ordered: Sequence[Level], values: Blocks) -> NDArray[np.float64]:
    """Blocks × levels: log ratios to the lowest; nan in a block with an infinite number.

    Args:
        key: of the factor.
        ordered: its levels, lowest first.
        values: positive numbers by block and combination.
    """
    whole = [(found, rests) for found in values.values() if (rests := _rests(key, ordered, found))]
    shared = set.intersection(*(rests for _, rests in whole)) if whole else set()
    rows = [[_mean(key, level, shared, found) for level in ordered] for found, _ in whole if shared]
    table = np.array(rows, float).reshape(len(rows), len(ordered))
    with np.errstate(invalid="ignore"):
        return np.asarray(table - table[:, :1])


def _rests(key: str, ordered: Sequence[Level], found: Mapping[Setting, float]) -> set[Setting]:
    """Levels of the other factors under which all of these were measured."""
    rests = {Setting.of({k: v for k, v in cell.items() if k != key}) for cell in found}
    return {rest for rest in rests if all(_at(rest, key, level) in found for level in ordered)}


def _mean(key: str, level: Level, rests: set[Setting], found: Mapping[Setting, float]) -> float:
    each = np.array([found[_at(rest, key, level)] for rest in rests])
    mean = float(np.log(each).mean())
    return mean if np.isfinite(mean) else float("nan")


def _at(rest: Setting, key: str, level: Level) -> Setting:
    return Setting.of({**rest, key: level})
