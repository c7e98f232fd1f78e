"""What an experiment brings back: curves, matrices, and checks with both numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from sojourn.models.simulator import Simulator

Label = Literal["simulated", "computed"]


class Word(StrEnum):
    """What is reported about a statement, and of an experiment (METHOD M31).

    `arithmetic` is no agreement: the statement follows from the parameters that went in, and no
    other parameter of the model could have broken it.
    """

    HOLDS = "holds"
    VIOLATED = "violated"
    ARITHMETIC = "arithmetic"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One input of the model.

    Attributes:
        name, value: as people write them.
        source: where it comes from; "assumed" if no paper states it.
    """

    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One line of a figure; `y` is None where the value is not finite.

    Attributes:
        achieved: throughput at each x, same unit as x; empty if no one asks.
        group: curves of one group are drawn together; those of none are drawn in every figure.
        is_paper: the paper's own numbers, not ours.
    """

    name: str
    x_label: str
    y_label: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    achieved: tuple[float, ...] = ()
    group: str = ""
    is_paper: bool = False


def breaks(curve: Curve, bound: float) -> float:
    """First load at which the curve passes the bound or is not finite; 1 where it never does."""
    return next((x for x, y in zip(curve.x, curve.y, strict=True) if y is None or y > bound), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place on the x axis that the paper names: where its curve breaks, ends or is capped.

    Attributes:
        x: on the curves' axis.
        text: what is there, in a few words.
        group: of the figure; none: all.
    """

    x: float
    text: str
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A table of verdicts; `cells[row][column]`."""

    name: str
    row_label: str
    column_label: str
    rows: tuple[float, ...]
    columns: tuple[float, ...]
    cells: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One statement of the paper against ours.

    Attributes:
        what: the statement.
        paper, ours: both numbers, as words.
        holds: whether ours agrees; None where the model cannot tell.
        tolerance: what ours may be. A test per statement feeds a neighbouring parameter that is
            outside it; empty only where the statement is arithmetic.
        is_arithmetic: no parameter could break it.
    """

    what: str
    paper: str
    ours: str
    holds: bool | None
    tolerance: str = ""
    is_arithmetic: bool = False

    @property
    def verdict(self) -> Word:
        """The same in the lab's words; arithmetic that comes out wrong is violated."""
        if self.holds is None:
            return Word.UNKNOWN
        if not self.holds:
            return Word.VIOLATED
        return Word.ARITHMETIC if self.is_arithmetic else Word.HOLDS


def within(
    value: float | None,
    low: float,
    high: float,
    *,
    what: str,
    paper: str,
    ours: str,
    form: str = "{:g}",
) -> Check:
    """A statement that holds while `value` lies from `low` to `high`; None never does.

    >>> within(13.0, 10, 15, what="a", paper="12", ours="13").tolerance
    '10 to 15'
    """
    return Check(
        what=what,
        paper=paper,
        ours=ours,
        tolerance=f"{form.format(low)} to {form.format(high)}",
        holds=value is not None and low <= value <= high,
    )


def arithmetic(what: str, paper: str, ours: str, *, is_right: bool) -> Check:
    """A statement that follows from what went in (METHOD M31)."""
    return Check(what=what, paper=paper, ours=ours, holds=is_right, is_arithmetic=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """What one experiment came to."""

    id: str
    title: str
    label: Label
    parameters: tuple[Parameter, ...]
    checks: tuple[Check, ...]
    curves: tuple[Curve, ...] = ()
    marks: tuple[Mark, ...] = ()
    matrices: tuple[Matrix, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def counts(self) -> Mapping[Word, int]:
        """Statements by verdict, all four words."""
        verdicts = [check.verdict for check in self.checks]
        return {word: verdicts.count(word) for word in Word}

    @property
    def verdict(self) -> Word:
        """Unknown beats violated beats holds; `arithmetic` if there is nothing else."""
        counts = self.counts
        order = (Word.UNKNOWN, Word.VIOLATED, Word.HOLDS, Word.ARITHMETIC)
        return next((word for word in order if counts[word]), Word.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One entry of the table.

    Attributes:
        ids: of PAPERS, the first is its name.
        title: the question.
        label: how its numbers come about.
        seconds: rough length on two CPUs.
        run: does it; the share scales the simulated time (1: as published here).
    """

    ids: tuple[str, ...]
    title: str
    label: Label
    seconds: int
    run: Callable[[Simulator, float], Replica]
