"""Doses: levels of `neighbour` that take a known share of one resource."""

from __future__ import annotations

import re
from dataclasses import dataclass

NONE = "none"
_NOISE = re.compile(
    r"noise:(?:kind=)?(?P<resource>[a-z0-9]+)(?:@(?P<share>\d{1,3}(?:\.\d+)?)%)?(?:,.*)?"
)
_PLACES = ("server", "one", "free", "apart", "core", "pair")


@dataclass(frozen=True, slots=True, order=True)
class Dose:
    """One resource, and how much of it is taken: a share of the pace alone, 0 to 1."""

    resource: str
    share: float

    def __str__(self) -> str:
        return f"{self.resource} at {self.share:.0%}"


def dose_of(level: str) -> Dose | None:
    """The dose that a level is; None for a neighbour.

    >>> dose_of("noise:llc@50%,where=server"), dose_of("noise:cpu"), dose_of("batch:xz@50%")
    (Dose(resource='llc', share=0.5), Dose(resource='cpu', share=1.0), None)
    """
    match = _NOISE.fullmatch(level)
    if match is None:
        return None
    share = float(match["share"] or 100) / 100
    return Dose(match["resource"], share) if 0 < share <= 1 else None


def short(level: str) -> str:
    """A neighbour without where it ran, as people ask for it.

    >>> short("batch:xz,where=server"), short("rival:server"), short("fio:randwrite@5MB/s,nice=3")
    ('batch:xz', 'rival', 'fio:randwrite@5MB/s,nice=3')
    """
    rest = ",".join(part for part in level.split(",") if not part.startswith("where="))
    name, _, place = rest.partition(":")
    return name if place in _PLACES else rest


def is_meant(asked: str, level: str) -> bool:
    """Whether a level is the neighbour that somebody asked for."""
    return asked == level or asked == short(level)
