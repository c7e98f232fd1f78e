"""`[together]`: services that are measured at once, and the loads of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from sojourn.spec import Study
from sojourn.spec.form import Asks

Share = Annotated[float, Field(gt=0, le=2)]  # of max RPS


def _listed(value: object) -> object:
    """A TOML array as the tuple that strict models want."""
    return tuple(value) if isinstance(value, list) else value


Together = Annotated[
    Mapping[str, Annotated[tuple[Share, ...], BeforeValidator(_listed)]],
    AfterValidator(lambda table: MappingProxyType(dict(table))),
    PlainSerializer(dict),
]


class UnfitError(ValueError):
    """Services that cannot be measured at once; `key`: its place in the study."""

    def __init__(self, what: str, *key: str) -> None:
        super().__init__(what)
        self.key = key


def refuse(together: Mapping[str, Sequence[float]], labels: Sequence[str]) -> None:
    """`UnfitError` if these services of a study cannot be measured at once."""
    for label, loads in together.items():
        if label not in labels:
            what = f"there is no service '{label}'; the services are {', '.join(labels)}"
            raise UnfitError(what, "together", label)
        if not loads:
            raise UnfitError("it is empty; give a load, such as [0.3]", "together", label)
        if len(set(loads)) < len(loads):
            raise UnfitError("a load comes twice; leave one out", "together", label)
    if len(together) == 1:
        raise UnfitError("it names one service; a second one is to run beside it", "together")


class OfStudy(Study):
    """What a study may have of it."""

    together: Together = Field(default_factory=lambda: MappingProxyType({}))
    """Services that are also measured at once: label = loads, as shares of max RPS. Every
    combination, and every load alone, once per block."""

    @model_validator(mode="after")
    def _can_run_at_once(self) -> Self:
        refuse(self.together, [service.label for service in self.services])
        return self


def of(study: Study) -> Together:
    """Loads of the services that are measured at once, by label."""
    return study.together if isinstance(study, OfStudy) else {}


ASKS = Asks(study=OfStudy)
