"""The QoS target of a service, `[services.qos]`: which quantile has which bound.

Every field's description is what `schema/study.json` and the reference say about the key.
"""

from __future__ import annotations

import math
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from sojourn import units
from sojourn.spec.base import Model, Table

Ratio = Annotated[float, Field(gt=0, lt=1)]


class QosRule(StrEnum):
    """Where the bound of a QoS target comes from."""

    GIVEN = "given"  # `bound`
    LQOS = "lqos"  # P8, from outside: factor x mean sojourn time at a low load
    SERVICE_TIME = "service_time"  # P8: factor x mean service time of one thread at a low load
    LOW_LOAD = "low_load"  # L19: factor x the same quantile at a low load


LOW_LOAD_QUANTILES = (0.5, 0.95, 0.99)
WITH_UNIT = "write a time such as 5ms or 0.5s"


class Qos(Model):
    """The QoS target: quantile and bound on the sojourn time."""

    q: Ratio
    """Quantile in (0, 1); 0.99 is p99."""
    bound: str = ""
    """Longest sojourn time at that quantile, such as "1ms"; only with rule "given"."""
    rule: QosRule = Field(default=QosRule.GIVEN, strict=False)
    """Where the bound comes from: "given", or what is measured at a low load: "service_time", the
    mean service time of one thread (P8), "lqos", the mean sojourn time, or "low_load", the same
    quantile (L19)."""
    factor: Annotated[float, Field(gt=1, le=1000)] = 5.0
    """Of a bound that is measured: multiple of the time at the low load."""
    at_fraction: Ratio = 0.2
    """Of a bound that is measured: the low load as a share of the closed-loop peak."""
    under: Table = Field(default_factory=lambda: MappingProxyType({}))
    """Of a bound that is measured: levels of factors under which it is; it holds under all others
    too. P8 measures on one thread: under = { "services.each.cores" = "1" }."""

    @field_validator("bound")
    @classmethod
    def _a_time(cls, bound: str) -> str:
        if bound and units.parse_ns(bound) == 0:
            raise ValueError("a bound of 0 can never be met; give a time such as 1ms")
        return bound

    @model_validator(mode="after")
    def _bound_fits_rule(self) -> Qos:
        if self.rule is QosRule.GIVEN:
            if not self.bound:
                raise ValueError('bound is missing; add bound = "1ms", or rule = "lqos"')
            if self.under:
                raise ValueError('under is of a bound that is measured; add rule = "service_time"')
        elif self.bound:
            raise ValueError(f'bound is measured under rule = "{self.rule}"; leave bound out')
        elif self.rule is QosRule.LOW_LOAD and self.q not in LOW_LOAD_QUANTILES:
            known = ", ".join(map(str, LOW_LOAD_QUANTILES))
            raise ValueError(f'rule = "low_load" knows no quantile {self.q}; use one of {known}')
        return self

    @property
    def bound_ns(self) -> int | None:
        """The bound, ns; None until it is measured."""
        return units.parse_ns(self.bound) if self.bound else None


def lacks_unit(bound: str) -> bool:
    """Whether it is a plain number, which would be seconds: a bound of 500 is hardly 500 s.

    Records may have such, so the model takes it; what people write today may not.

    >>> lacks_unit("500"), lacks_unit("500us"), lacks_unit("soon"), lacks_unit("")
    (True, False, False, False)
    """
    try:
        return math.isfinite(float(bound))
    except ValueError:
        return False


class TypedQos(Qos):
    """The QoS target as people write one."""

    @field_validator("bound")
    @classmethod
    def _has_unit(cls, bound: str) -> str:
        if lacks_unit(bound):
            raise ValueError(f"the bound '{bound}' has no unit; {WITH_UNIT}")
        return bound
