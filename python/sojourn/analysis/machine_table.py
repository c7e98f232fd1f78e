"""One number of equal machines as a table: machines by blocks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sojourn.analysis import noise
from sojourn.analysis.block_values import Combinations
from sojourn.plan.setting import Level, Setting
from sojourn.spec.hosts import SERVER
from sojourn.stats import equal_machines
from sojourn.stats.equal_machines import Within
from sojourn.stats.log_ratio_contrasts import Blocks, Contrast
from sojourn.stats.times import Floats

FEW = "fewer than two machines have numbers in the same two blocks"
INFINITE = "it is infinite on {}"
WINDOW_AT = {q: at for at, q in noise.NUMBERS.values()}
Of = Callable[[Mapping[Setting, float]], float | None]


@dataclass(frozen=True, slots=True)
class Table:
    """Logarithms of one number, of machines that have it in the same blocks.

    Attributes:
        machines, blocks: their levels and numbers, two of each at the least.
        values: shape (machines, blocks).
        without: machines that lack it in half of the blocks, and are left out.
    """

    machines: tuple[Level, ...]
    blocks: tuple[int, ...]
    values: Floats
    without: tuple[Level, ...]


def table(service: Combinations, values: Blocks, of: Of) -> Table | str:
    """One number by machine and block, or why there is none.

    Machines that lack half of the blocks are left out, and then blocks without all machines.

    Args:
        service: with its machines.
        values: positive numbers by block and combination.
        of: the logarithm that a machine's combinations in a block give; None: they give none.
    """
    logs: dict[Level, dict[int, float]] = {level: {} for level in service.levels(SERVER)}
    for block, cells in values.items():
        own: dict[Level, dict[Setting, float]] = defaultdict(dict)
        for cell, value in cells.items():
            own[cell[SERVER]][cell] = value
        for machine, measured in own.items():
            if (log := of(measured)) is not None:
                logs[machine][block] = log
    endless = [one for one, known in logs.items() if not all(map(math.isfinite, known.values()))]
    if endless:
        return INFINITE.format(", ".join(map(str, endless)))
    has = tuple(one for one, known in logs.items() if 2 * len(known) > len(values))
    blocks = tuple(sorted(block for block in values if all(block in logs[one] for one in has)))
    if len(has) < equal_machines.MACHINES_LEAST or len(blocks) < equal_machines.BLOCKS_LEAST:
        return FEW
    rows = np.array([[logs[one][block] for block in blocks] for one in has])
    return Table(has, blocks, rows, tuple(one for one in logs if one not in has))


def alone(cells: Mapping[Setting, float]) -> float | None:
    """The number itself: of the only combination that a machine has."""
    (value,) = cells.values()
    return math.log(value)


def ratio_of(contrast: Contrast) -> Of:
    """The log ratio of two levels of another factor, on one machine."""

    def of(cells: Mapping[Setting, float]) -> float | None:
        logs = contrast.by_block({0: cells})
        return logs[0] if logs else None

    return of


def windows(service: Combinations, made: Table, load: float, q: float) -> Within | None:
    """The scatter within the runs of a table; None where a run's windows are not known.

    Args:
        service: with its machines.
        made: of a quantile of a time.
        load: its share of max RPS.
        q: the quantile.
    """
    if q not in WINDOW_AT:
        return None
    runs = {
        (part.levels[SERVER], run.repeat): run
        for part, finding in zip(service.parts, service.findings, strict=True)
        for point in finding.points
        if point.fraction == load
        for run in point.runs
        if run.is_believed
    }
    cells = [runs.get((one, block)) for one in made.machines for block in made.blocks]
    at = WINDOW_AT[q]
    return equal_machines.within([noise.windows(run, at) if run else [] for run in cells])
