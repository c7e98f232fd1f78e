"""`[services.attribution]`: the load at which factors are compared (M17)."""

from __future__ import annotations

from pydantic import field_validator

from sojourn import units
from sojourn.spec import ServiceSpec
from sojourn.spec.base import Model
from sojourn.spec.form import Asks


class Attribution(Model):
    """At which load it is asked which factor moves the tail (M17)."""

    rate: str
    """Offered load, requests/s, such as "10k": the same under every combination of levels."""

    @field_validator("rate")
    @classmethod
    def _rate(cls, text: str) -> str:
        if units.parse_count(text) <= 0:
            raise ValueError(f"'{text}' is not an offered load; give a rate above 0")
        return text


class OfService(ServiceSpec):
    """What a service may have of it."""

    attribution: Attribution | None = None
    """The load at which factors are compared; needed for "attribution"."""


def of(service: ServiceSpec) -> Attribution | None:
    """What is asked of a service; None if nothing is."""
    return service.attribution if isinstance(service, OfService) else None


ASKS = Asks(service=OfService, in_rates=True)
