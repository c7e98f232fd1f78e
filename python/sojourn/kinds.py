"""Tables of kinds: what there is of something, in reading order, found by name.

Every folder of kinds has a written one: `KINDS = table(null.KIND, local.KIND)`, a line for each.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol, TypeVar

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
