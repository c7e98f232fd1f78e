"""Doses: levels of `neighbour` that take a known share of one resource.

One level may be written in several ways. Two mean the same if all their parameters agree, those
that are not written included. A dose on other CPUs is another dose.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.actors.kind import NamedKind, settled
from sojourn.actors.neighbours import KINDS
from sojourn.errors import SpecFault

NONE = "none"
_NOISE, _RESOURCE, _SHARE = "noise", "kind", "intensity"
_PLACES = ("server", "one", "free", "apart", "core", "pair")


@dataclass(frozen=True, slots=True, order=True)
class Dose:
    """One resource, and how much of it is taken: a share of the pace alone, 0 to 1.

    Attributes:
        other: parameters that are not as by default, such as "where=free"; "" without any.
    """

    resource: str
    share: float
    other: str = ""

    @property
    def name(self) -> str:
        """What is taken, and how. Doses of one name differ in their share alone."""
        return f"{self.resource}, {self.other}" if self.other else self.resource

    def __str__(self) -> str:
        return f"{self.name} at {self.share:.0%}"


@functools.lru_cache(maxsize=4096)
def dose_of(level: str) -> Dose | None:
    """The dose that a level is; None for a neighbour.

    >>> dose_of("noise:llc@50%,where=server"), dose_of("noise:cpu"), dose_of("batch:xz@50%")
    (Dose(resource='llc', share=0.5, other=''), Dose(resource='cpu', share=1.0, other=''), None)
    >>> print(dose_of("noise:kind=llc,intensity=50%,where=free"))
    llc, where=free at 50%
    """
    settled = _settled(level)
    if settled is None or settled[0].name != _NOISE:
        return None
    kind, params = settled
    amount = params[_SHARE]
    share = float(amount[:-1]) / 100 if amount.endswith("%") else 0.0
    if share <= 0:
        return None
    return Dose(params[_RESOURCE], share, _changed(kind, params, but=(_RESOURCE, _SHARE)))


@functools.lru_cache(maxsize=4096)
def meaning(level: str) -> str:
    """The same text for all levels that mean the same.

    >>> meaning("batch:xz,where=server") == meaning("batch:xz"), meaning("batch:xz,where=free")
    (True, 'batch:where=free')
    """
    settled = _settled(level)
    return level if settled is None else f"{settled[0].name}:{_changed(*settled)}"


def short(level: str) -> str:
    """A neighbour without where it ran, as people ask for it.

    >>> short("batch:xz,where=server"), short("rival:server"), short("fio:randwrite@5MB/s,nice=3")
    ('batch:xz', 'rival', 'fio:randwrite@5MB/s,nice=3')
    """
    rest = ",".join(part for part in level.split(",") if not part.startswith("where="))
    name, _, place = rest.partition(":")
    return name if place in _PLACES else rest


def is_meant(asked: str, level: str) -> bool:
    """Whether a level is the neighbour that somebody asked for, wherever it ran if that is open."""
    return meaning(asked) == meaning(level) or asked == short(level)


def _settled(level: str) -> tuple[NamedKind, Mapping[str, str]] | None:
    """A level's kind with all parameters, as texts; None: no neighbour is written so."""
    try:
        return settled(KINDS, level, key="neighbour")
    except SpecFault:
        return None


def _changed(kind: NamedKind, params: Mapping[str, str], but: tuple[str, ...] = ()) -> str:
    """The parameters that are not as by default, apart from some."""
    usual = {param.name: str(param.default) for param in kind.params}
    differ = {name: value for name, value in params.items() if value != usual[name]}
    return ",".join(f"{name}={value}" for name, value in differ.items() if name not in but)
