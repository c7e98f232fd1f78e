"""What a kind of actor says of itself: for `sojourn kinds`, for spec checks and for whoever reads.

A study names neighbours and managers by a text, `KIND` or `KIND:WHERE`; probes are on the stage
where a point asks for what they see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sojourn.actors.actor import Actor
from sojourn.host import Facts
from sojourn.kinds import find
from sojourn.plan import Point
from sojourn.services.params import Param, settle
from sojourn.spec import ServiceSpec

NOBODY = "none"  # as a study says it
WHERE = "where"


def anywhere(facts: Facts) -> None:
    """The `check` of a kind that can be had on every machine."""
    del facts


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorKind:
    """One kind of actor.

    Attributes:
        needs: of the host, as people install it.
        source: where it comes from.
        check: raises HostFault where it cannot be had.
    """

    name: str
    about: str
    params: tuple[Param, ...] = ()
    needs: tuple[str, ...] = ()
    source: str
    check: Callable[[Facts], None] = anywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedKind(ActorKind):
    """A kind that a study names: neighbours and managers.

    Attributes:
        build: from its parameters, which are settled.
    """

    build: Callable[[Mapping[str, str]], Actor]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeKind(ActorKind):
    """A kind that watches.

    Attributes:
        build: for a point of a service; None: this point asks for nothing that it sees.
    """

    build: Callable[[ServiceSpec, Point], Actor | None]


def named(kinds: Mapping[str, NamedKind], text: str, *, key: str) -> tuple[NamedKind, Actor] | None:
    """Who is meant by a study's `KIND` or `KIND:WHERE`; None by "none".

    Args:
        kinds: to choose from.
        text: as the study has it.
        key: of the study, for messages.

    Raises:
        SpecFault: there is no such kind, or it cannot be there.
    """
    name, _, where = text.partition(":")
    if name == NOBODY:
        return None
    kind = find(kinds, name, key)
    params = settle(f"{key} {name}", kind.params, {WHERE: where} if where else {})
    return kind, kind.build({param: str(value) for param, value in params.items()})
