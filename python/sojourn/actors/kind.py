"""What a kind of actor says of itself: for `sojourn kinds`, for spec checks and for whoever reads.

A study names neighbours and managers by a text (`spec.words`): `KIND`, `KIND:WHERE`, or
`KIND:NAME=VALUE,NAME=VALUE`. Probes are on the stage where a point asks for what they see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sojourn.actors.actor import Actor
from sojourn.errors import SpecFault
from sojourn.host import Facts
from sojourn.kinds import find
from sojourn.plan import Point
from sojourn.services.params import Param, settle
from sojourn.spec import ServiceSpec, words

NO_NEIGHBOUR = "none"  # as a study says it
WHERE = words.WHERE
_AMOUNT = re.compile(r"(\d)([A-Za-zµ%])")
ALL = "100%"
_ALL = ("", ALL, "0MB/s")  # as much as it can get


def anywhere(facts: Facts) -> None:
    """The `check` of a kind that can be had on every machine."""
    del facts


def of_any(spec: ServiceSpec) -> None:
    """The `check_service` of a kind that can be had beside every service."""
    del spec


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
        lead: the parameter that needs no name in a study, if it comes first.
        at: the one after an `@` behind it; "": there is none.
        label: of its parameters what it is to people, in a few words; None: its name.
    """

    build: Callable[[Mapping[str, str]], Actor]
    lead: str = WHERE
    at: str = ""
    label: Callable[[Mapping[str, str]], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeKind(ActorKind):
    """A kind that watches.

    Attributes:
        build: for a point of a service; None: this point asks for nothing that it sees.
        bare: for other points too, where the study has no shield; None: not there either.
        place: in the order of entering, ascending; who enters last frames the load.
        check_service: raises a fault where a service asks for what it cannot do here.
    """

    build: Callable[[ServiceSpec, Point], Actor | None]
    bare: Callable[[Point], Actor | None] | None = None
    place: int
    check_service: Callable[[ServiceSpec], None] = of_any


def spaced(amount: str) -> str:
    """An amount of a study as people read it.

    >>> spaced("75%"), spaced("50MB/s"), spaced("6ms"), spaced("2GB/s")
    ('75 %', '50 MB/s', '6 ms', '2 GB/s')
    """
    return _AMOUNT.sub(r"\1 \2", amount)


def much(name: str, amount: str) -> str:
    """A neighbour with its amount, if it is held to one.

    >>> much("cpu", "75%"), much("xz", "100%"), much("fio write", "")
    ('cpu at 75 %', 'xz', 'fio write')
    """
    return f"{name} at {spaced(amount)}" if amount not in _ALL else name


def settled(
    kinds: Mapping[str, NamedKind], text: str, *, key: str
) -> tuple[NamedKind, dict[str, str]] | None:
    """The kind and all parameters of a study's text, as `spec.words` has it; None of "none".

    Args:
        kinds: to choose from.
        text: as the study has it.
        key: of the study, for messages.

    Raises:
        SpecFault: there is no such kind, or it cannot be there.
    """
    name = text.partition(":")[0]
    if name == NO_NEIGHBOUR:
        return None
    kind = find(kinds, name, key)
    result = words.read(text, lead=kind.lead, at=kind.at)
    if result.problem:
        fix = f"write {name}:NAME=VALUE,NAME=VALUE"
        raise SpecFault(f"{key} '{text}': {result.problem}", at=key, fix=fix)
    params = settle(f"{key} {name}", kind.params, result.params)
    return kind, {param: str(value) for param, value in params.items()}


def named(kinds: Mapping[str, NamedKind], text: str, *, key: str) -> tuple[NamedKind, Actor] | None:
    """Who is meant by a study's text, ready to run; as `settled`, with its arguments and faults."""
    known = settled(kinds, text, key=key)
    return known and (known[0], known[0].build(known[1]))
