"""Combinations that were not measured, each reason once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from sojourn.plan.left_out import LeftOut
from sojourn.report import labels

NAMED = 4  # combinations that a line names


def lines(every: Iterable[LeftOut]) -> Iterator[str]:
    """Each reason once, with the combinations that it is about.

    >>> alike = [LeftOut(state="skipped", service=name, reason="no docker") for name in "ab"]
    >>> list(lines(alike))
    ['skipped: 2 combinations (a; b): no docker']
    """
    groups: dict[tuple[str, str], list[LeftOut]] = {}
    for one in every:
        groups.setdefault((one.state, one.why), []).append(one)
    for (state, why), alike in groups.items():
        names = list(dict.fromkeys(filter(None, map(_name, alike))))
        who = "; ".join(names[:NAMED])
        if len(names) > NAMED:
            who += f"; {len(names) - NAMED} more"
        if len(alike) > 1:
            who = f"{len(alike)} combinations ({who})" if who else f"{len(alike)} combinations"
        yield ": ".join(filter(None, (state, who, why)))


def of_entry(every: Collection[LeftOut]) -> dict[str, Any]:
    """What the page of many studies has of them: each reason once, and how many there are."""
    return {"left_out": tuple(lines(every)), "left_count": len(every)}


def _name(one: LeftOut) -> str:
    """Service and levels by their labels, such as `memcached, CPU hog at 25 %`."""
    return ", ".join(filter(None, (one.service, *labels.map_labels(one.levels.items()))))
