"""A gate: whether any of several numbers became worse than allowed.

Two stages. The first alarm comes when the evidence of one number reaches the family's level alpha
(Holm). Then fresh blocks must show the same: evidence that starts anew reaches `CONFIRM`. Until
they do, there is no regression. If they show the opposite, the answer stays open. So a false alarm
has a chance of at most alpha, and of alpha * CONFIRM because the fresh blocks are independent.

No regression is reported when every number is shown to be below the limit, each at alpha.

Source: `symmetry_bets`, `holm`; Berger, Multiparameter hypothesis testing and acceptance sampling,
Technometrics 24 (1982), for *every number below the limit*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from sojourn.stats import holm, symmetry_bets
from sojourn.stats.times import Floats

CONFIRM = 0.1  # level of the fresh blocks


class Ruling(StrEnum):
    """What a gate says of all numbers together."""

    REGRESSION = "regression"
    FINE = "no regression"
    OPEN = "cannot be decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a gate says after so many blocks.

    Attributes:
        ruling: OPEN while it goes on.
        blocks: that it needed; all there are while it is open.
        numbers: those that became worse, or that alarmed and were not confirmed.
        first: block of the first alarm, counted from 1; None without one.
        is_over: no further block changes it.
    """

    ruling: Ruling
    blocks: int
    numbers: tuple[str, ...] = ()
    first: int | None = None
    is_over: bool = True

    @property
    def is_regression(self) -> bool:
        """Whether something became worse, and fresh blocks confirmed it."""
        return self.ruling is Ruling.REGRESSION


def decide(logs: Mapping[str, Sequence[float] | Floats], margin: float, alpha: float) -> Decision:
    """The decision by the blocks so far; more blocks never change one that is over.

    Args:
        logs: by number: log ratios of the blocks in order, above 0 is worse; nan without a ratio.
        margin: change that is allowed, such as 0.05.
        alpha: chance of a false alarm of the whole family, in (0, 1).
    """
    values = {name: np.asarray(each, float) for name, each in logs.items()}
    blocks = max((len(each) for each in values.values()), default=0)
    worse, fine = _p_values(values, math.log1p(margin))
    for block in range(blocks):
        sure = holm.adjusted({name: float(path[block]) for name, path in worse.items()})
        if alarmed := tuple(name for name in values if sure[name] <= alpha):
            fresh = {name: values[name][block + 1 :] for name in alarmed}
            return _confirmed(fresh, block + 1, margin, alpha)
        if all(path[block] <= alpha for path in fine.values()):
            return Decision(ruling=Ruling.FINE, blocks=block + 1)
    return Decision(ruling=Ruling.OPEN, blocks=blocks, is_over=False)


def _confirmed(fresh: Mapping[str, Floats], first: int, margin: float, alpha: float) -> Decision:
    """Whether the blocks after an alarm show the same: that of one number, or none of all."""
    worse, fine = _p_values(fresh, math.log1p(margin))
    blocks = max(map(len, fresh.values()))
    for block in range(blocks):
        used = first + block + 1
        sure = holm.adjusted({name: float(path[block]) for name, path in worse.items()})
        if results := tuple(name for name in fresh if sure[name] <= CONFIRM):
            return Decision(ruling=Ruling.REGRESSION, blocks=used, numbers=results, first=first)
        if all(path[block] <= alpha for path in fine.values()):
            return Decision(ruling=Ruling.OPEN, blocks=used, numbers=tuple(fresh), first=first)
    return Decision(
        ruling=Ruling.OPEN,
        blocks=first + blocks,
        numbers=tuple(fresh),
        first=first,
        is_over=False,
    )


def _p_values(
    values: Mapping[str, Floats], limit: float
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """After each block: that each number is `limit` at most, and that it is at least that."""
    both = {name: symmetry_bets.p_values(each, (limit, limit)) for name, each in values.items()}
    return {name: p[0] for name, p in both.items()}, {name: p[1] for name, p in both.items()}
