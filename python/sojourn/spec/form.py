"""The form of a study file: the core's keys and those of each question.

A question describes its keys by models that derive from the core's (`Asks`). Here they become one
model of a service, of a run and of a study, so that a file is checked and documented as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel, create_model

from sojourn import handed
from sojourn.spec.models import Study
from sojourn.spec.profiles import PROFILES
from sojourn.spec.run import RunSpec
from sojourn.spec.service import ServiceSpec

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """What a question adds to the form.

    Attributes:
        study: keys of the whole study.
        service: keys of a service.
        run: keys of `run`.
        profiles: values of these by profile, where they differ from their defaults.
        in_shares: its loads are those of `run.fractions`.
        in_rates: it needs no max RPS where loads are rates.
        neighbours: keys of the text in a service's tables that names neighbours.
        no_effect: what would have to be asked for a factor to matter; "" if it may matter as it is.
            It is given the factor's key, its label and the services that have the factor.
    """

    study: type[Study] | None = None
    service: type[ServiceSpec] | None = None
    run: type[RunSpec] | None = None
    profiles: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    in_shares: bool = False
    in_rates: bool = False
    neighbours: tuple[str, str] | None = None
    no_effect: Callable[[str, str | None, Sequence[ServiceSpec]], str] | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """How a study file is read.

    Attributes:
        study: the model of the file.
        service: of one of its services.
        profiles: values of `run`, by profile.
        asks: what each question added, by its name.
    """

    study: type[Study]
    service: type[ServiceSpec]
    profiles: Mapping[str, RunSpec]
    asks: Mapping[str, Asks]

    @property
    def neighbours(self) -> tuple[tuple[str, str], ...]:
        """Keys of the texts in a service's tables that name neighbours."""
        return tuple(one.neighbours for one in self.asks.values() if one.neighbours)


def made(asks: Mapping[str, Asks]) -> Form:
    """One form of what each question adds, in the order of the questions."""
    every = list(asks.values())
    service = _joined(ServiceSpec, [one.service for one in every if one.service])
    run = _joined(RunSpec, [one.run for one in every if one.run])
    study = _joined(
        Study,
        [one.study for one in every if one.study],
        services=(tuple[service, ...], _field(Study, "services")),  # type: ignore[valid-type]
        run=(run, _field(Study, "run")),
    )
    study.in_shares = frozenset(name for name, one in asks.items() if one.in_shares)
    study.in_rates = frozenset(name for name, one in asks.items() if one.in_rates)
    profiles = {
        name: run.model_validate({**_values(common), **_of_profile(every, name)})
        for name, common in PROFILES.items()
    }
    return Form(study, service, MappingProxyType(profiles), MappingProxyType(dict(asks)))


def current() -> Form:
    """The form that was handed in; the core's alone if none was."""
    source = handed.source(handed.STUDY_FORM)
    form = source() if source else _core()
    if not isinstance(form, Form):
        raise TypeError(f"no form of a study was handed in, but {form!r}")
    return form


@cache
def _core() -> Form:
    return made({})


def _joined(core: type[Model], parts: Sequence[type[Model]], **fields: Any) -> type[Model]:
    """A model with the keys of all parts, in their order; each part derives from the core's."""
    bases = tuple(reversed(parts)) or (core,)
    return create_model(
        core.__name__, __base__=bases, __doc__=core.__doc__, __module__=core.__module__, **fields
    )


def _field(model: type[BaseModel], name: str) -> Any:
    return copy(model.model_fields[name])


def _values(model: BaseModel) -> dict[str, Any]:
    """Values as they are, so that what was not set is not taken for set."""
    return {name: getattr(model, name) for name in model.model_fields_set}


def _of_profile(every: Iterable[Asks], profile: str) -> dict[str, int]:
    return {key: v for one in every for key, v in one.profiles.get(profile, {}).items()}
