"""`[compare]`: services in turn, and what counts as a difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from sojourn.spec import Study
from sojourn.spec.base import Model
from sojourn.spec.form import Asks

Number = Literal["mean", "p50", "p99", "p99.9", "cpu", "max_rps"]
NUMBERS: tuple[Number, ...] = ("mean", "p50", "p99", "cpu")
SIDES_MAX = 8


def _listed(value: object) -> object:
    """A TOML array as the tuple that strict models want."""
    return tuple(value) if isinstance(value, list) else value


class Compare(Model):
    """Which service is worse than the first, by numbers of equal load (M38)."""

    services: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    """Labels; the others are held against the first. Each runs alone, in turn with the others."""
    load: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Offered load of all of them, as a share of the lowest max RPS among them. Where run.rates
    gives rates, the highest of these is offered instead."""
    numbers: Annotated[tuple[Number, ...], BeforeValidator(_listed)] = NUMBERS
    """What is compared: "mean", "p50", "p99" and "p99.9" of the sojourn time, "cpu", CPU time of
    the server for each request, and "max_rps", requests/s of a closed loop, in a run of its own.
    With "p99.9" a run has 10,000 requests at least."""
    blocks: Annotated[int, Field(ge=1, le=10_000)] = 60
    """Blocks at most; in each, every service is started anew and measured once, in random order."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.01
    """Chance that a difference is reported where there is none, over all numbers together."""
    same: Annotated[float, Field(gt=0, le=10)] = 0.05
    """Differences up to this share are no difference."""
    trace: Annotated[int, Field(ge=0, le=20)] = 0
    """After an answer of worse or better, so many traced runs of each service show what moved."""
    gate: bool = False
    """Ask only whether the second is worse by more than `max_regression`; fresh blocks confirm."""
    max_regression: Annotated[float, Field(ge=0, le=10)] = 0.05
    """Of a gate: the increase that is allowed, as a share. Of max_rps, 0.05 allows a fall to 1/1.05
    of the first."""


def refuse_compare(compare: Compare, known: Sequence[str], *, has_factors: bool) -> None:
    """ValueError if these services cannot be compared.

    Args:
        compare: the table.
        known: labels of the study's services.
        has_factors: the study varies something.
    """
    labels = compare.services
    if not labels:
        return
    for label in labels:
        if label not in known:
            what = f"there is no service '{label}'; the services are {', '.join(known)}"
            raise ValueError(what)
    if len(set(labels)) < len(labels) or not 2 <= len(labels) <= SIDES_MAX:
        what = f"it names {len(set(labels))} services; two to {SIDES_MAX} can be compared"
        raise ValueError(what)
    if compare.gate and len(labels) != 2:
        raise ValueError("a gate compares two services")
    if not compare.numbers or len(set(compare.numbers)) < len(compare.numbers):
        raise ValueError("give each number once, at least one")
    if has_factors:
        what = "a comparison has no factors; give each level a service of its own"
        raise ValueError(what)


class OfStudy(Study):
    """What a study may have of it."""

    compare: Compare = Field(default_factory=Compare)
    """Services that are measured in turn, until it is clear whether one is worse than the first."""

    @model_validator(mode="after")
    def _has_sides(self) -> Self:
        labels = [service.label for service in self.services]
        refuse_compare(self.compare, labels, has_factors=bool(self.factors))
        return self

    @model_serializer(mode="wrap")
    def _as_before(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what does not apply: resuming compares texts."""
        table: dict[str, Any] = write(self)
        if not self.compare.services:
            table.pop("compare", None)
        elif not self.compare.trace:
            table["compare"].pop("trace", None)
        return table


def of(study: Study) -> Compare:
    """What is compared; without services nothing is."""
    return study.compare if isinstance(study, OfStudy) else Compare()


ASKS = Asks(study=OfStudy)
