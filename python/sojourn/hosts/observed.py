"""How busy observed hosts were while load ran, by its lines of progress."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.hosts import answers
from sojourn.hosts.engine import Pending
from sojourn.hosts.station import Station
from sojourn.places.process import Process
from sojourn.run.generator import Watcher

APART_S_MIN = 1.0  # a look counts hundredths of a second


class Looks(Watcher):
    """Asks observed hosts for their CPU time at lines of progress, and does not wait for answers.

    What comes before the load and after it, such as clocks and results, would dilute a share.
    """

    def __init__(self, stations: Sequence[Station], inner: Watcher) -> None:
        """Ask all of them once; `inner` hears what this one hears."""
        self._stations, self._inner = stations, inner
        self._before = self._asked()
        self._first: list[Pending] = []
        self._last: list[Pending] = []
        self._first_s = self._last_s = 0.0

    def _asked(self) -> list[Pending]:
        return [one.asked("ticks") for one in self._stations]

    @property
    def every_s(self) -> float:
        """As often as the inner one."""
        return self._inner.every_s

    def sources(self) -> list[int]:
        """Those of the inner one."""
        return self._inner.sources()

    def look(self) -> None:
        """Let the inner one look."""
        self._inner.look()

    def of_load(self, nth: int, line: Mapping[str, Any]) -> None:
        """Pass it on to the inner one."""
        self._inner.of_load(nth, line)

    def groups(self, nth: int) -> Sequence[Path]:
        """Those of the inner one."""
        return self._inner.groups(nth)

    def started(self, nth: int, generator: Process) -> None:
        """Pass it on to the inner one."""
        self._inner.started(nth, generator)

    def second(self, line: Mapping[str, Any]) -> None:
        """Ask once more, and pass the line on."""
        self._last, self._last_s = self._asked(), time.monotonic()
        if not self._first:
            self._first, self._first_s = self._last, self._last_s
        self._inner.second(line)

    def rows(self) -> list[dict[str, Any]]:
        """How busy each was; of a load with lines too near each other, since before it."""
        last = self._last or self._asked()
        first = self._first if self._last_s - self._first_s >= APART_S_MIN else self._before
        return [_row(*each) for each in zip(self._stations, first, last, strict=True)]


def _row(station: Station, old: Pending, new: Pending) -> dict[str, Any]:
    looks = station.answer(old), station.answer(new)
    with station.understood(), answers.sensible():
        return use(station, *looks)


def use(station: Station, old: Mapping[str, float], new: Mapping[str, float]) -> dict[str, Any]:
    """How busy an observed host was between two looks."""
    whole = float(new["all_s"]) - float(old["all_s"])

    def share(key: str) -> float | None:
        return round((float(new[key]) - float(old[key])) / whole, 4) if whole > 0 else None

    return {
        "host": station.node.name,
        "address": station.node.address,
        "cpus": len(station.facts.get("cpus") or ()),
        "used_share": share("used_s"),
        "stolen_share": share("stolen_s"),
    }
