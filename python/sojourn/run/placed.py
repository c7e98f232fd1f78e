"""The place of a service, held against this machine before anything is made."""

from __future__ import annotations

from sojourn import places
from sojourn.errors import HostFault, SpecFault
from sojourn.host import Facts
from sojourn.host.abilities import abilities
from sojourn.places import PlaceKind
from sojourn.run.live import check_port
from sojourn.services import Service
from sojourn.spec import ServiceSpec


def check(spec: ServiceSpec, service: Service, facts: Facts) -> None:
    """Refuse a place that this service or this machine cannot have, and a port that is taken.

    Raises:
        SpecFault: there is no such place, or nothing can be started there.
        HostFault: this machine lacks what the place needs, or the port is taken.
    """
    kind = places.kind(spec.place)
    at = f"services.{spec.label}.place"
    if service.program is not None and not kind.starts:
        raise SpecFault(
            f"{spec.kind} is a program, and none can be started in place {kind.name}",
            at=at,
            fix='leave place out, or give place = "local"',
        )
    _check_needs(kind, facts, at)
    check_port(spec.label, service.wanted_port, kind.build())


def _check_needs(kind: PlaceKind, facts: Facts, at: str) -> None:
    for ability in abilities(facts):
        if ability.name in kind.abilities and not ability.can:
            raise HostFault(
                f"place {kind.name} cannot be made here: {ability.missing} is missing",
                at=at,
                fix=f"{ability.mend or 'take another machine'}; or leave place out",
            )
