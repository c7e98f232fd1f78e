"""`[services.blame]`: who else is on the machine, and who of them may be stopped to see (M22)."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from sojourn import units
from sojourn.spec import ServiceSpec
from sojourn.spec.base import Model
from sojourn.spec.form import Asks
from sojourn.spec.words import AND, parted

WINDOW_NS_MIN = 500_000_000
NAMED = re.compile(r"pid:[1-9]\d*|name:[^/]{1,15}|cgroup:/.+")


class Blame(Model):
    """Which neighbour makes a service miss its QoS target: each is stopped part of the time."""

    rate: str
    """Offered load, requests/s, such as "10k": the one at which the service misses its target."""
    neighbours: str = ""
    """Neighbours that are started beside it, as `sojourn kinds neighbours` lists them: a list, or
    one text with " + " between two. All of them are suspects, as is the study's `neighbour`."""
    suspects: str = ""
    """What runs on this machine already and is suspected: "pid:4711", "name:xz" (all processes of
    that name) or "cgroup:/system.slice/backup.service"; a list, or one text with " + "."""
    consent: bool = False
    """That `suspects` may be stopped (SIGSTOP) for a window at a time, about half of the time."""
    window: str = "500ms"
    """How long a suspect is stopped, or runs, at a time: longer than its bursts, 500ms at least."""
    settle: str = "100ms"
    """The first part of each window, which does not count: what was begun before ends in it."""
    blocks: Annotated[int, Field(ge=0, le=1_000)] = 0
    """Blocks of one start of the service, each with every state once in random order; 0: by the
    profile and the number of suspects."""
    trace: bool = True
    """Also ask the tracer whom the slowest requests waited for, where it can be had; needs root."""
    matters: Annotated[float, Field(gt=1, le=100)] = 1.25
    """A suspect whose whole interval lies below this ratio is cleared."""

    @field_validator("rate", mode="before")
    @classmethod
    def _as_text(cls, rate: object) -> object:
        if isinstance(rate, int | float) and rate is not True:
            return units.number_text(rate)
        return rate

    @field_validator("rate")
    @classmethod
    def _rate(cls, text: str) -> str:
        if units.parse_count(text) <= 0:
            raise ValueError(f"'{text}' is not an offered load; give a rate above 0")
        return text

    @field_validator("neighbours", "suspects", mode="before")
    @classmethod
    def _joined(cls, value: object) -> object:
        is_list = isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
        return AND.join(value) if is_list and isinstance(value, list | tuple) else value

    @field_validator("neighbours", "suspects")
    @classmethod
    def _differ(cls, text: str) -> str:
        each = parted(text)
        if twice := next((one for one in each if each.count(one) > 1), ""):
            raise ValueError(f"'{twice}' is named twice; leave one out")
        return text

    @field_validator("suspects")
    @classmethod
    def _named(cls, text: str) -> str:
        for one in parted(text):
            if not NAMED.fullmatch(one):
                raise ValueError(
                    f"'{one}' names no process; write pid:4711, name:xz or cgroup:/system.slice/x"
                )
        return text

    @model_validator(mode="after")
    def _may(self) -> Blame:
        if self.suspects and not self.consent:
            raise ValueError(
                "suspects would be stopped, for about half of the time; if you may do that to "
                "them, add consent = true"
            )
        if self.window_ns < WINDOW_NS_MIN:
            raise ValueError(
                f"a window of {self.window} is shorter than bursts; give 500ms or more"
            )
        if 2 * self.settle_ns > self.window_ns:
            raise ValueError(f"settle = {self.settle} leaves less than half of {self.window}")
        return self

    @property
    def window_ns(self) -> int:
        """Length of a window, ns."""
        return units.parse_ns(self.window)

    @property
    def settle_ns(self) -> int:
        """The part of it that does not count, ns."""
        return units.parse_ns(self.settle)


class OfService(ServiceSpec):
    """What a service may have of it."""

    blame: Blame | None = None
    """Who may be to blame for a missed target; needed for "blame"."""


def of(service: ServiceSpec) -> Blame | None:
    """What is asked of a service; None if nothing is."""
    return service.blame if isinstance(service, OfService) else None


ASKS = Asks(service=OfService, neighbours=("blame", "neighbours"))
