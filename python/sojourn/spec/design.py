"""Which combinations of levels a study measures: all, a fraction of them, or those it lists."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from sojourn.spec import fraction
from sojourn.spec.base import Model, Scalar
from sojourn.spec.fraction import Fraction
from sojourn.spec.levels import is_factor, level_text

Combination = Mapping[str, Scalar]
COMBINATIONS_MAX = 2_000


def _listed(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _levels(levels: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    if len(levels) < 2:
        raise ValueError("a factor has two levels at least; a key with one value is not a factor")
    texts = [level_text(level) for level in levels]
    twice = next((text for text in texts if texts.count(text) > 1), None)
    if twice is not None:
        raise ValueError(f"level {twice} comes twice; run.repeats says how often each is measured")
    return levels


def _name(name: str) -> str:
    if not is_factor(name):
        raise ValueError(f"'{name}' is not a key of a study; write services.LABEL.params.NAME")
    return name


Levels = Annotated[tuple[Scalar, ...], BeforeValidator(_listed), AfterValidator(_levels)]
Factors = Annotated[
    Mapping[Annotated[str, AfterValidator(_name)], Levels],
    AfterValidator(lambda table: MappingProxyType(dict(table))),
    PlainSerializer(dict),
]
Cell = Annotated[
    Mapping[str, Scalar],
    AfterValidator(lambda table: MappingProxyType(dict(table))),
    PlainSerializer(dict),
]


class Skip(Model):
    """Combinations that are left out."""

    levels: Cell
    """Every combination that has these levels is left out."""
    reason: str = Field(min_length=1)
    """Why; the report says so."""
    profile: Literal["", "quick", "standard", "full"] = ""
    """Only in this profile; "": in all of them."""


class Design(Model):
    """Which combinations of the factors' levels are measured, each in every block."""

    kind: Literal["full", "fractional", "listed"] = "full"
    """"full": all combinations. "fractional": 2^(k-p) of them. "listed": those in combinations."""
    p: Annotated[int, Field(ge=0, le=24)] = 0
    """For "fractional": 2^p combinations share one that is measured; generators are chosen."""
    generators: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    """For "fractional", instead of p: such as "D=ABC"; A is the first factor, I is left out."""
    combinations: Annotated[tuple[Cell, ...], BeforeValidator(_listed)] = ()
    """For "listed": tables with a level for every factor."""
    skip: Annotated[tuple[Skip, ...], BeforeValidator(_listed)] = ()
    """Combinations that are left out, with the reason."""

    def of_profile(self, profile: str) -> Design:
        """The same without what is left out in other profiles only."""
        selected = tuple(skip for skip in self.skip if skip.profile in {"", profile})
        return self if selected == self.skip else self.model_copy(update={"skip": selected})

    def fraction_of(self, factors: Mapping[str, tuple[Scalar, ...]]) -> Fraction | None:
        """The fraction in use; None where the design is none.

        Raises:
            ValueError: these factors have no such fraction.
        """
        if self.kind != "fractional":
            return None
        if self.generators:
            return fraction.named(len(factors), self.generators)
        return fraction.best(len(factors), self.p)

    def combinations_of(self, factors: Mapping[str, tuple[Scalar, ...]]) -> tuple[Combination, ...]:
        """The combinations that are measured, in the design's order; `({},)` without factors."""
        return tuple(cell for cell in self._cells(factors) if self.skipped(cell) is None)

    def left_out(
        self, factors: Mapping[str, tuple[Scalar, ...]]
    ) -> tuple[tuple[Combination, str], ...]:
        """The combinations that are skipped, each with its reason."""
        results = ((cell, self.skipped(cell)) for cell in self._cells(factors))
        return tuple((cell, reason) for cell, reason in results if reason is not None)

    def skipped(self, cell: Combination) -> str | None:
        """Why a combination is left out; None if it is not."""
        for skip in self.skip:
            if all(cell.get(key) == level for key, level in skip.levels.items()):
                return skip.reason
        return None

    def _cells(self, factors: Mapping[str, tuple[Scalar, ...]]) -> Iterator[Combination]:
        part = self.fraction_of(factors)
        if self.kind == "listed":
            yield from ({key: cell[key] for key in factors} for cell in self.combinations)
        elif part is not None:
            for run in part.runs:
                pairs = zip(factors.items(), run, strict=True)
                yield {key: levels[one] for (key, levels), one in pairs}
        else:
            for levels in itertools.product(*factors.values()):
                yield dict(zip(factors, levels, strict=True))
