"""A restored guest beside one that booted: times, and whether it measures alike.

After each block on the idle host the guest that was started last runs a loop a few times (A/A). The
medians of blocks are compared on a logarithmic scale by Welch's interval: a restored guest is
doubted only where it is shown to be apart by more than a tenth.

Source: Welch, Biometrika 34 (1947); METHOD M16, equivalence within a margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from sojourn import units
from sojourn.half_width import student
from sojourn.questions.isolation_cost.plan import IDLE
from sojourn.stats.interval import Interval

if TYPE_CHECKING:
    from sojourn.questions.isolation_cost.costs import Cost
    from sojourn.questions.isolation_cost.judge import Row

BOOTED, RESTORED = "restart_vm", "restart_vm_restored"
MARGIN = 1.1
BLOCKS_MIN = 3  # of each


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """Time of the same work in a restored guest over that in a booted one; `blocks` of each."""

    ratio: float
    interval: Interval
    blocks: tuple[int, int]

    @property
    def is_apart(self) -> bool:
        """Whether it is shown to be slower or quicker by more than the margin."""
        return self.interval.lo > MARGIN or self.interval.hi < 1 / MARGIN

    @property
    def is_alike(self) -> bool:
        """Whether it is shown to be within the margin."""
        return self.interval.lo >= 1 / MARGIN and self.interval.hi <= MARGIN

    @property
    def text(self) -> str:
        """The ratio with its interval, in words."""
        return f"{self.ratio:.2f} times ({self.interval.lo:.2f} to {self.interval.hi:.2f})"


def medians(points: Iterable[Sequence[Sequence[int]]]) -> tuple[float, ...]:
    """The median of each block of all points, ns."""
    return tuple(float(median(block)) for point in points for block in point if block)


def alike(booted_ns: Sequence[float], restored_ns: Sequence[float]) -> Alike | None:
    """Compare the medians of blocks; None of too few, or of such as cannot be told apart."""
    if min(len(booted_ns), len(restored_ns)) < BLOCKS_MIN:
        return None
    logs = [np.log(np.array(each, np.float64)) for each in (booted_ns, restored_ns)]
    parts = [float(each.var(ddof=1)) / each.size for each in logs]
    whole = sum(parts)
    if not whole > 0:
        return None
    freedom = whole**2 / sum(
        part**2 / (each.size - 1) for part, each in zip(parts, logs, strict=True)
    )
    middle = float(logs[1].mean() - logs[0].mean())
    half = student(freedom) * math.sqrt(whole)
    return Alike(
        ratio=math.exp(middle),
        interval=Interval(lo=math.exp(middle - half), hi=math.exp(middle + half)),
        blocks=(len(booted_ns), len(restored_ns)),
    )


def judged(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """The rows, a restored guest doubted where it does not measure like a booted one."""
    result = _compared({row.name: row for row in rows})
    if result is None or not result.is_apart:
        return rows
    doubt = f"a restored guest takes {result.text} as long as a booted one for the same work"
    return tuple(
        replace(row, doubts=(*row.doubts, doubt)) if row.name == RESTORED else row for row in rows
    )


def _compared(rows: Mapping[str, Row]) -> Alike | None:
    both = [rows.get(BOOTED), rows.get(RESTORED)]
    booted, own = (row.work_ns if row is not None else () for row in both)
    return alike(booted, own)


def sentence(rows: Sequence[Row]) -> str:
    """What a restored guest takes beside a full boot; "" where one of them was not measured."""
    by_name = {row.name: row for row in rows}
    costs = [by_name[n].costs.get(IDLE) for n in (BOOTED, RESTORED) if n in by_name]
    known = [cost for cost in costs if cost is not None and cost.mean.value]
    if len(known) < 2:
        return ""
    boot, back = known
    text = (
        f"Ending and starting a virtual machine takes {_time(boot)} with a full boot and "
        f"{_time(back)} restored from its state{_shorter(boot, back)}."
    )
    result = _compared(by_name)
    if result is None:
        return f"{text} Whether a restored guest measures like a booted one was not judged."
    shown = "alike" if result.is_alike else "neither alike nor a tenth apart is shown"
    return f"{text} The same work in a restored guest takes {result.text} as long: {shown}."


def _time(cost: Cost) -> str:
    return units.show_ns(cost.mean.value or 0.0)


def _shorter(boot: Cost, back: Cost) -> str:
    """How many times as quick, by the ends of both intervals."""
    both = boot.mean.interval, back.mean.interval
    if both[0] is None or both[1] is None or not both[1].lo > 0:
        return ""
    lo, hi = both[0].lo / both[1].hi, both[0].hi / both[1].lo
    ends = " to ".join(f"{float(f'{end:.2g}'):g}" for end in (lo, hi))
    return f", {ends} times as quick" if lo > 1 else ""
