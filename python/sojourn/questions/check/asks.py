"""`[services.check]`: a known truth that the instrument is held against (M20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from sojourn import units
from sojourn.spec import ServiceSpec
from sojourn.spec.base import Model
from sojourn.spec.form import Asks
from sojourn.spec.qos import Ratio


class Check(Model):
    """A known truth to hold the instrument against (M20)."""

    system: Literal["M/M/1", "M/D/1", "M/M/n", "null"]
    """Closed form to compare with; "null": what the instrument itself costs."""
    service_time: str = "1ms"
    """Mean service time S of the synthetic service."""
    servers: Annotated[int, Field(ge=1, le=64)] = 1
    """Its threads, n."""
    rho: tuple[Ratio, ...] = (0.5, 0.7, 0.8, 0.9)
    """Utilisations to check at; the offered load is rho x n / S."""
    rates: tuple[str, ...] = ()
    """For "null": offered loads, such as "20k"."""

    @field_validator("rho", "rates", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("service_time")
    @classmethod
    def _time(cls, text: str) -> str:
        if units.parse_ns(text) == 0:
            raise ValueError("a service time of 0 has no queue to check; use the null service")
        return text

    @field_validator("rates")
    @classmethod
    def _rates(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            if units.parse_count(text) <= 0:
                raise ValueError(f"'{text}' is not an offered load; give a rate above 0")
        return texts

    @property
    def service_s(self) -> float:
        """Mean service time of one request, s."""
        return units.parse_ns(self.service_time) / units.NS_PER_S

    def refuse_other_service(self, params: Mapping[str, object]) -> None:
        """ValueError if the service's parameters describe another queue than this one."""
        text = str(params.get("service", ""))
        if self.system == "null" or not text:
            return
        name, _, mean = text.partition(":")
        wanted = "fixed" if self.system == "M/D/1" else "exponential"
        if name != wanted:
            raise ValueError(f"{self.system} has {wanted} service times, params.service is {text}")
        if units.parse_ns(mean) != units.parse_ns(self.service_time):
            raise ValueError(f"service_time is {self.service_time}, params.service is {text}")
        if params.get("servers", 1) != self.servers:
            raise ValueError(f"servers is {self.servers}, params has {params.get('servers', 1)}")

    @model_validator(mode="after")
    def _fits_system(self) -> Check:
        if self.system == "null" and not self.rates:
            raise ValueError('system = "null" needs rates, such as rates = ["1k", "20k"]')
        if self.system != "null" and not self.rho:
            raise ValueError("rho is empty; give utilisations to check at, such as rho = [0.5]")
        if self.system in {"M/M/1", "M/D/1"} and self.servers != 1:
            raise ValueError(f'servers = {self.servers}, but {self.system} has one; use "M/M/n"')
        return self


class OfService(ServiceSpec):
    """What a service may have of it."""

    check: Check | None = None
    """Known truth; needed for "check"."""

    @model_validator(mode="after")
    def _is_the_queue_asked_for(self) -> Self:
        if self.check is not None:
            self.check.refuse_other_service(self.params)
        return self


def of(service: ServiceSpec) -> Check | None:
    """What is asked of a service; None if nothing is."""
    return service.check if isinstance(service, OfService) else None


def _no_effect(key: str, label: str | None, services: Sequence[ServiceSpec]) -> str:
    goals = {goal for service in services for goal in service.measure}
    is_own = key == "run.check_s" or (label and key.startswith(f"services.{label}.check."))
    if is_own and services and "check" not in goals:
        return 'nothing is checked; measure = ["check"] would'
    if key == "trace" and goals and goals <= {"check"}:
        return "checks are not traced; leave the factor out"
    return ""


ASKS = Asks(service=OfService, in_rates=True, no_effect=_no_effect)
