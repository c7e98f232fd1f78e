"""A number at ordered levels of a factor, block by block, as logarithms.

All levels are compared under the same levels of the other factors: those under which every level
was measured, in one block or another. Where a level is missing under some of them (skipped) the
average over the rest would differ from level to level by what is in it, in every block alike. Where
a run was not believed its cell is missing in its block alone; levels of other factors under which
too many are missing are left out for all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sojourn.plan.setting import Level, Setting
from sojourn.stats.log_ratio_contrasts import Blocks
from sojourn.stats.successive_differences import BLOCKS_MIN


def logs(key: str, ordered: Sequence[Level], values: Blocks) -> NDArray[np.float64]:
    """Blocks × levels: logarithms; nan where a run is missing, inf where the number is infinite.

    Args:
        key: of the factor.
        ordered: its levels, lowest first.
        values: positive numbers by block and combination.
    """
    shared = _rests(key, ordered, values)
    table = _table(key, ordered, values, shared)
    while len(shared) > 1 and (np.sum(~np.isnan(table), axis=0) < BLOCKS_MIN).any():
        gaps = {rest: np.isnan(_table(key, ordered, values, [rest])).sum() for rest in shared}
        shared.remove(max(shared, key=lambda rest: gaps[rest]))
        table = _table(key, ordered, values, shared)
    return table


def _table(
    key: str, ordered: Sequence[Level], values: Blocks, rests: Sequence[Setting]
) -> NDArray[np.float64]:
    rows = [[_mean(key, level, rests, result) for level in ordered] for result in values.values()]
    return np.array(rows, float).reshape(len(rows), len(ordered))


def _rests(key: str, ordered: Sequence[Level], values: Blocks) -> list[Setting]:
    """Levels of the other factors under which all of these were measured in some block."""
    cells = dict.fromkeys(cell for result in values.values() for cell in result)
    rests = dict.fromkeys(Setting.of({k: v for k, v in c.items() if k != key}) for c in cells)
    return [rest for rest in rests if all(_at(rest, key, level) in cells for level in ordered)]


def _mean(
    key: str, level: Level, rests: Sequence[Setting], results: Mapping[Setting, float]
) -> float:
    cells = [_at(rest, key, level) for rest in rests]
    if not cells or any(cell not in results for cell in cells):
        return math.nan
    return float(np.log([results[cell] for cell in cells]).mean())


def _at(rest: Setting, key: str, level: Level) -> Setting:
    return Setting.of({**rest, key: level})
