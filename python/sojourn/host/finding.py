"""What doctor finds, and how it is handed on."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.host.abilities import Ability
from sojourn.host.culprits import Sight

SOME_NOISE = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that adds noise.

    Attributes:
        points: share in the score, 0 for something to know only.
        fix: a command or an action; "" if there is none.
    """

    name: str
    what: str
    effect: str
    fix: str
    points: int

    @property
    def severity(self) -> str:
        """How much noise it is, by its points: high, low or only a note."""
        return "high" if self.points >= SOME_NOISE else "low" if self.points else "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Doctor's findings, worst first.

    Attributes:
        score: 0 to 100.
        label: "quiet", "some noise" or "noisy".
        abilities: what can be measured here and what cannot.
        sight: who ran on the CPUs that a service would get; None if no one looked.
    """

    score: int
    label: str
    findings: tuple[Finding, ...]
    abilities: tuple[Ability, ...]
    sight: Sight | None = None
