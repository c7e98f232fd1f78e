"""How many CPUs a service would like, before it is known how many there are."""

from __future__ import annotations

from sojourn import services
from sojourn.host import Facts
from sojourn.spec import ServiceSpec

THREADS_PAPER = 7  # C4
CLIENT_PER_SERVER = 3  # CPUs of the server that one CPU of the client can load


def width(spec: ServiceSpec, facts: Facts) -> int:
    """How many CPUs a service would like: one a worker.

    Workers that follow the CPUs have all beside the lab's core and a client that can load them.
    """
    kind = services.kind(spec.kind)
    asked = spec.params.get(kind.width) if kind.width else 1
    if isinstance(asked, str):
        cores = len({cpu.core for cpu in facts.topology.usable})
        return max(1, (cores - 1) * CLIENT_PER_SERVER // (CLIENT_PER_SERVER + 1))
    own = next((param.default for param in kind.params if param.name == kind.width), None)
    usual = whole(own, THREADS_PAPER)
    return whole(asked, usual) * whole(spec.params.get(kind.times or ""), 1)


def whole(value: object, default: int) -> int:
    """A number that was typed; the default where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default
