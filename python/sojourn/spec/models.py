"""A study as it is written in a TOML file: frozen, checked, resolved to its profile.

The file is the question; nothing here knows the machine. Names are those of the file, units last.
Every field's description is what `schema/study.json` and the reference say about the key.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, field_validator, model_validator

from sojourn import units
from sojourn.spec import keys, platforms, rates
from sojourn.spec.base import Model
from sojourn.spec.design import Combination, Design, Factors
from sojourn.spec.hosts import HostsSpec
from sojourn.spec.levels import level_text
from sojourn.spec.run import RunSpec
from sojourn.spec.service import ServiceSpec

SCHEMA: Literal["sojourn.study/1"] = "sojourn.study/1"


class Study(Model):
    """A question, the services it is asked of, and the care that is taken."""

    in_shares: ClassVar[frozenset[str]] = frozenset()  # questions with loads of run.fractions
    in_rates: ClassVar[frozenset[str]] = frozenset()  # those that need no max RPS with run.rates

    schema_version: Literal["sojourn.study/1"] = Field(default=SCHEMA, alias="schema")
    """Version of this form."""
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)
    """Name of the study: its results folder."""
    question: str = Field(min_length=1)
    """The question in a sentence; the report opens with it."""
    papers: tuple[Annotated[str, Field(pattern=r"^[LCP][1-9][0-9]?$")], ...] = ()
    """Items of the three papers that the study measures, such as "C12"; `sojourn replicate --list`
    shows them."""
    seed: Annotated[int, Field(ge=1, le=2**53)] = 1
    """Seed of every order and every draw."""
    aa: bool = True
    """Measure one load twice in every block of a sweep: how much the two differ is the noise floor
    of this campaign, below which no effect can be shown (M16)."""
    probe: str = "auto"
    """Rate of a probe client beside the load of a sweep, requests/s, taken from that load: one
    connection in a process of its own, held against the load's client. "auto": 100 where it has a
    CPU of its own, else none; "0": none (M5)."""
    trace: bool = False
    """Take requests apart by eBPF at every load, and measure what that costs; needs root."""
    neighbour: str = "none"
    """Who runs beside every measured point: "none", or KIND or KIND:WHERE, such as "spin:server";
    `sojourn kinds neighbours` lists them. The load axis is that of the service beside it, but where
    "none" is another level of a factor."""
    groups: Literal["own", "session", "shared", "nested"] = "own"
    """How the scheduler groups service, clients and neighbours: "own", a control group each, as
    production has it; "session", by session alone; "shared", one control group for all; "nested",
    service and clients in one, each neighbour in its own. Where the machine refuses "own" a run
    goes on by session, and says so."""
    manager: str = "none"
    """Who turns knobs while load runs: "none" or a KIND; `sojourn kinds managers` lists them."""
    hosts: HostsSpec | None = None
    """Which machines take part; without it this one alone."""
    run: RunSpec
    """How long and how often."""
    services: tuple[ServiceSpec, ...]
    """The services, in the order in which they are measured."""
    factors: Factors = Field(default_factory=lambda: MappingProxyType({}))
    """What is varied: keys of this file, services by label, each with a list of levels, such as
    "services.memcached.params.threads" = [1, 2]. The load is varied by run.fractions."""
    design: Design = Field(default_factory=Design)
    """Which combinations of the levels are measured: all, unless it says otherwise."""
    _left: frozenset[tuple[str, frozenset[tuple[str, str]]]] = PrivateAttr(default=frozenset())

    @field_validator("probe", mode="before")
    @classmethod
    def _as_text(cls, rate: object) -> object:
        if isinstance(rate, int | float) and rate is not True:
            return units.number_text(rate)
        return rate

    @field_validator("probe")
    @classmethod
    def _a_probe_rate(cls, text: str) -> str:
        if text != "auto" and units.parse_count(text) < 0:
            raise ValueError(f"'{text}' is not a rate; give one of 0 or more, such as 100, or auto")
        return text

    @field_validator("services", "papers", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("services")
    @classmethod
    def _labels_differ(cls, services: tuple[ServiceSpec, ...]) -> tuple[ServiceSpec, ...]:
        if not services:
            raise ValueError("a study needs at least one [[services]] table")
        labels = [service.label for service in services]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice:
            raise ValueError(f"two services are called '{twice}'; give each a label of its own")
        return services

    @model_validator(mode="after")
    def _can_meet(self) -> Study:
        rates.refuse(self)
        platforms.refuse(self)
        many = next((one for one in self.services if one.clients > 1), None)
        if self.hosts and many:
            raise ValueError(
                f"{many.label} has clients = {many.clients}, and [hosts] gives one for each node; "
                "leave clients out, and name a node twice for two clients on it"
            )
        return self

    def peaks(self, service: ServiceSpec) -> bool:
        """Whether max RPS of a service is measured: not where its loads are rates, and suffice."""
        return rates.peaks(self, service)

    def service(self, label: str) -> ServiceSpec:
        """The service of that label; KeyError if the study has none."""
        for service in self.services:
            if service.label == label:
                return service
        raise KeyError(label)

    def factors_of(self, *labels: str) -> tuple[str, ...]:
        """The factors that any of these services feels: all but those that are keys of others."""
        return tuple(key for key in self.factors if keys.service_of(key) in {None, *labels})

    def combinations(self, *labels: str) -> tuple[Combination, ...]:
        """The combinations of levels under which these services are measured at once, or one alone.

        `({},)` without factors.
        """
        own = self.factors_of(*labels)
        results: list[Combination] = []
        for whole in self._combinations:
            part = {key: whole[key] for key in own}
            if part not in results and not self._is_left(part, labels):
                results.append(part)
        return tuple(results)

    def without(self, cells: Iterable[tuple[str, Combination]]) -> Study:
        """The same study without some combinations, which a file of it does not say.

        Args:
            cells: label of a service, and levels of all factors that it feels.
        """
        left = {(label, _texts(levels)) for label, levels in cells}
        if not left:
            return self
        study = self.model_copy()
        study._left = self._left | left  # noqa: SLF001 - its own
        return study

    @property
    def is_whole(self) -> bool:
        """Whether it has all combinations of its design."""
        return not self._left

    @property
    def lacking(self) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
        """What `without` took out, sorted: the label of a service, and levels as texts."""
        return tuple(sorted((label, tuple(sorted(texts))) for label, texts in self._left))

    def _is_left(self, part: Combination, labels: Iterable[str]) -> bool:
        """Whether one of these services cannot be had under the levels that it feels."""
        effect = ((label, self.factors_of(label)) for label in (labels if self._left else ()))
        own = ((label, {key: part[key] for key in keys}) for label, keys in effect)
        return any((label, _texts(levels)) in self._left for label, levels in own)

    def under(self, levels: Combination) -> Study:
        """The study of one combination of levels: these keys set, nothing left to vary.

        Raises:
            pydantic.ValidationError: a key does not take its level; `spec.load` has tried them all.
        """
        if not self.factors:
            return self
        name = repr(sorted(levels.items()))
        if name not in self._studies:
            table = self.model_dump(by_alias=True, exclude={"factors", "design"})
            for key, level in levels.items():
                keys.put(table, key, level)
            platforms.limit(table)
            self._studies[name] = type(self).model_validate(table)
        return self._studies[name]

    def of(self, label: str) -> Study:
        """The study as one service is asked: what lasts, lasts as long as that one needs."""
        times = self.service(label).stretch
        if times == 1:
            return self
        name = f"of {label}"
        if name not in self._studies:
            self._studies[name] = self.model_copy(update={"run": self.run.stretched(times)})
        return self._studies[name]

    @cached_property
    def _combinations(self) -> tuple[Combination, ...]:
        return self.design.of_profile(self.run.profile).combinations_of(self.factors)

    @cached_property
    def _studies(self) -> dict[str, Study]:
        return {}

    def __copy__(self) -> Self:
        """Without what was computed of the original, which may differ in the copy."""
        copied = super().__copy__()
        for name in ("_combinations", "_studies"):
            copied.__dict__.pop(name, None)
        return copied


def _texts(levels: Combination) -> frozenset[tuple[str, str]]:
    return frozenset((key, level_text(level)) for key, level in levels.items())
