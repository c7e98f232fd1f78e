"""What an experiment brings back: curves, matrices, and checks with both numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from sojourn.models.simulator import Simulator

Label = Literal["simulated", "computed"]


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
        achieved: throughput at each x, same unit as x; empty if nobody asks.
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
    """

    what: str
    paper: str
    ours: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        """The same in the lab's words."""
        return "unknown" if self.holds is None else "holds" if self.holds else "violated"


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
    def verdict(self) -> str:
        """`violated` if a check fails, `unknown` if one cannot tell; unknown beats the others."""
        found = [check.holds for check in self.checks]
        if None in found or not found:
            return "unknown"
        return "holds" if all(found) else "violated"


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
