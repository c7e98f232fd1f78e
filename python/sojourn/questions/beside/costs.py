"""What a neighbour costs under each setting: the values that are shown."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.findings.section import Section
from sojourn.plan.setting import Level
from sojourn.questions.beside.interference import Break, Number, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """One service beside one neighbour under one setting.

    Attributes:
        service: label.
        setting: levels of all other factors, in words; "" without others.
        levels: the same as (factor, level) pairs.
        neighbour: its level.
        q: of the tail.
        rows: by rising load.
        breaks: where the tail does.
        kept: the neighbour's pace as a share of its pace alone, over shared loads; None: not known.
        others: (task, share of the CPUs' time) of those who are neither service nor neighbour;
            None: nobody looked.
    """

    service: str
    setting: str
    levels: tuple[tuple[str, bool | int | float | str], ...]
    neighbour: str
    q: float
    rows: tuple[Row, ...]
    breaks: Break
    kept: Number | None
    others: tuple[tuple[str, float], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Two settings in the simulator's order and in the measured one.

    Attributes:
        one, other: settings; the simulator's tail breaks at a lower load under `one`.
        simulated: loads at which they break there; infinite: not up to the highest.
        measured: the same here, in words.
        verdict: "concordant", "reversed" or "undecided".
    """

    one: str
    other: str
    simulated: tuple[float, float]
    measured: tuple[str, str]
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideSection(Section):
    """All services, settings and neighbours of a study.

    Attributes:
        found: each of them.
        order: pairs of settings against the simulator; () where there is nothing to simulate.
        order_words: what they say together, or why there are none.
    """

    found: tuple[Beside, ...] = ()
    order: tuple[Simulated, ...] = ()
    order_words: str = ""


def level_of(one: Beside, end: str) -> Level | None:
    """The level of the factor whose key ends so; None: it is not varied."""
    return next((level for key, level in one.levels if key.endswith(end)), None)
