"""Which window source a configuration names, and what every source can do."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from sojourn.controllers.look import Window
from sojourn.manage.config import Config
from sojourn.manage.scrape import Scrape
from sojourn.manage.source import Source


class Feed(Protocol):
    """A window source. `read` never waits."""

    bad: int
    newest_s: float | None

    def open(self) -> None:
        """Begin to take windows; HostFault if it is not there."""

    def close(self) -> None:
        """End; no window comes any more."""

    def read(self, t_s: float) -> None:
        """Take what has come since the last time."""

    def windows(self, name: str, t_s: float) -> tuple[Window, ...]:
        """Of one service; empty where none came."""


def of(config: Config) -> Feed | None:
    """Not opened yet; None: it names none."""
    spec, service = config.windows, config.service()
    if spec.file:
        return Source(Path(spec.file), service)
    if spec.url:
        return Scrape(
            url=spec.url,
            metric=spec.metric,
            labels=spec.labels,
            service=service,
            target_ns=config.groups[service].target_ns,
            every_s=spec.every_ms / 1000,
        )
    return None
