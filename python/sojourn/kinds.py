"""Tables of kinds: what there is of something, in reading order, found by name.

Every folder of kinds has a written one: `KINDS = table(null.KIND, local.KIND)`, a line for each.
Where a command uses few of them, it is `KINDS = late(package, "null", "local")`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from sojourn.errors import SpecFault


class Named(Protocol):
    """Whatever describes itself, its name first."""

    @property
    def name(self) -> str:
        """As it is asked for."""


K = TypeVar("K", bound=Named)


def table(*kinds: K) -> Mapping[str, K]:
    """The kinds by name, in their order; it cannot be changed.

    Raises:
        ValueError: two have one name.
    """
    results = {kind.name: kind for kind in kinds}
    if len(results) < len(kinds):
        raise ValueError(f"a name comes twice: {', '.join(kind.name for kind in kinds)}")
    return MappingProxyType(results)


class _Late(Mapping[str, K]):
    """Kinds that are made when they are first asked for; their names are known before."""

    def __init__(self, names: Iterable[str], make: Callable[[str], K]) -> None:
        self._names, self._make = tuple(names), make
        self._made: dict[str, K] = {}

    def __getitem__(self, name: str) -> K:
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def late(package: str, *homes: str, each: str = "KIND") -> Mapping[str, Any]:
    """What each of these modules calls `KIND`, by name, in order; loaded when it is asked for.

    Args:
        package: of these modules.
        homes: `null` or `own.command`, if the kind has the last name of the module, or
            `osml as osml-gates`.
        each: another name than `KIND`.

    Raises:
        ValueError: two have one name.

    >>> list(late("sojourn.services", "null", "own.command", "silo as db"))
    ['null', 'command', 'db']
    """
    pairs = [(text.partition(" as ")[2] or text.rpartition(".")[2], text) for text in homes]
    home_of = {name: f"{package}.{text.partition(' as ')[0]}" for name, text in pairs}
    if len(home_of) < len(pairs):
        raise ValueError(f"a name comes twice: {', '.join(name for name, _ in pairs)}")

    def load(name: str) -> Any:
        kind: Any = getattr(import_module(home_of[name]), each)
        if kind.name != name:
            raise ValueError(f"{home_of[name]} has the kind {kind.name}, not {name}")
        return kind

    return _Late(home_of, load)


def made(kinds: Mapping[str, Any], make: Callable[[Any], K]) -> Mapping[str, K]:
    """What is made of each kind of a table, by the same names, when it is asked for."""
    return _Late(kinds, lambda name: make(kinds[name]))


def find(kinds: Mapping[str, K], name: str, what: str) -> K:
    """The kind of that name.

    Args:
        kinds: a table of them.
        name: as it was asked for.
        what: the name of one kind in an error message, such as "service".

    Raises:
        SpecFault: there is none of that name.
    """
    if name in kinds:
        return kinds[name]
    raise SpecFault(
        f"there is no {what} {name}",
        at=f"{what} {name}",
        fix=meant(name, kinds) or f"known: {', '.join(kinds)}",
    )


def meant(name: str, known: Iterable[str]) -> str:
    """Which of the known names was meant, as a question; "" if none is like it."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}?" if near else ""
