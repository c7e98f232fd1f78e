"""Real programs that the lab measures: each one started, filled, checked and ended by the lab.

Adding one is one file like `memcached.py` and one line in `KINDS`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from sojourn.errors import SpecFault
from sojourn.places.task import Task
from sojourn.services import memcached, nginx, null, synthetic
from sojourn.services.kind import Allowance, Service, ServiceKind
from sojourn.services.params import Param, Value

#: Every kind of service, in reading order.
KINDS: Mapping[str, ServiceKind] = {
    module.KIND.name: module.KIND for module in (null, memcached, nginx, synthetic)
}

__all__ = [
    "KINDS",
    "Allowance",
    "Param",
    "Service",
    "ServiceKind",
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
    if name in KINDS:
        return KINDS[name]
    near = difflib.get_close_matches(name, KINDS, n=1)
    raise SpecFault(
        f"there is no service {name}",
        at=f"service kind {name}",
        fix=f"did you mean {near[0]}?" if near else f"known: {', '.join(KINDS)}",
    )


def build(name: str, params: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle a service for this machine.

    Raises:
        SpecFault: an unknown kind or parameter, or a value out of range.
        HostFault: its program is missing, or it does not fit this machine.
    """
    return kind(name).build(params, allowance)
