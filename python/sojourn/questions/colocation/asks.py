"""`[services.colocation]`: what a batch neighbour may lose (L30, L34)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sojourn.spec import ServiceSpec
from sojourn.spec.base import Model
from sojourn.spec.form import Asks


class Colocation(Model):
    """What a batch neighbour may lose beside the service, at most (L30, L34)."""

    loss_max: Annotated[float, Field(ge=0, le=1)] = 0.6
    """Largest loss of its pace alone on the service's own CPUs. There it gives up the service's
    share at least: at 50 % load it loses half, whatever the scheduler does."""
    loss_max_apart: Annotated[float, Field(ge=0, le=1)] = 0.1
    """The same on CPUs of its own (L34: 10 %)."""


class OfService(ServiceSpec):
    """What a service may have of it."""

    colocation: Colocation | None = None
    """What a neighbour may lose at most; needed for "colocation"."""


def of(service: ServiceSpec) -> Colocation | None:
    """What is asked of a service; None if nothing is."""
    return service.colocation if isinstance(service, OfService) else None


ASKS = Asks(service=OfService)
