"""Real programs that the lab measures: each one started, filled, checked and ended by the lab.

Adding one is one file and one line in `KINDS`: a `Program` with three methods (`kind`), and what
else it does (`capabilities`). The smallest is `tests/add_one_more/service/files.py`, a full one
`redis.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sojourn import kinds
from sojourn.places.task import Task
from sojourn.services.kind import Allowance, Endpoint, Program, Service, ServiceKind, Start
from sojourn.services.params import Param, Value

if TYPE_CHECKING:
    from sojourn.services import (  # noqa: F401 - for whoever follows imports
        media_streaming,
        memcached,
        nginx,
        null,
        planted,
        redis,
        synthetic,
    )
    from sojourn.services.own import command, container, external  # noqa: F401 - the same
    from sojourn.services.tailbench import (  # noqa: F401 - the same
        img_dnn,
        moses,
        ordered_map,
        sphinx,
        xapian,
    )
    from sojourn.services.tpcc import shore, silo, specjbb  # noqa: F401 - the same

#: Every kind of service, in reading order.
KINDS: Mapping[str, ServiceKind] = kinds.late(
    "sojourn.services",
    "null",
    "memcached",
    "redis",
    "nginx",
    "own.external",
    "own.command",
    "tailbench.img_dnn",
    "tailbench.ordered_map",
    "tailbench.xapian",
    "tailbench.sphinx",
    "tailbench.moses",
    "tpcc.shore",
    "tpcc.silo",
    "tpcc.specjbb",
    "media_streaming",
    "own.container",
    "planted",
    "synthetic",
)

__all__ = [
    "KINDS",
    "Allowance",
    "Endpoint",
    "Param",
    "Program",
    "Service",
    "ServiceKind",
    "Start",
    "Task",
    "Value",
    "build",
    "kind",
]


def kind(name: str) -> ServiceKind:
    """Find a kind of service by name.

    Raises:
        SpecFault: there is none of that name.
    """
    return kinds.find(KINDS, name, "service")


def build(name: str, params: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle a service for this machine.

    Raises:
        SpecFault: an unknown kind or parameter, or a value out of range.
        HostFault: its program is missing, or it does not fit this machine.
    """
    return kind(name).build(params, allowance)
