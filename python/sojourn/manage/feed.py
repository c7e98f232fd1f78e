"""Which window source a configuration names, and what every source can do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from sojourn.controllers.look import Window
from sojourn.manage.config import Config
from sojourn.manage.followed import Followed
from sojourn.manage.groups import Managed
from sojourn.manage.scrape import Scrape
from sojourn.manage.tracer import Tracer, first
from sojourn.places import proc


class Feed(Protocol):
    """A window source. `read` never waits."""

    @property
    def bad(self) -> int:
        """Lines or answers that were no window."""

    @property
    def why(self) -> str:
        """What was wrong with the last one; "": nothing, or it is not known."""

    def open(self) -> None:
        """Begin to take windows; HostFault if it is not there."""

    def close(self) -> None:
        """End; no window comes any more."""

    def read(self, t_s: float) -> None:
        """Take what has come since the last time."""

    def windows(self, name: str, t_s: float, *, has_p99: bool = True) -> tuple[Window, ...]:
        """Of one service; empty where none came.

        Without `has_p99` a window that is a sum of others may lack its p99, which is an estimate.
        """


def of(config: Config, groups: Mapping[str, Managed]) -> Feed | None:
    """Not opened yet; None: it names none."""
    spec, service = config.windows, config.service()
    if spec.file:
        return Followed(Path(spec.file), service, groups=frozenset(config.groups))
    if spec.url:
        return Scrape(
            url=spec.url,
            metric=spec.metric,
            labels=spec.labels,
            service=service,
            target_ns=config.groups[service].target_ns,
            every_s=spec.every_ms / 1000,
        )
    if spec.tracer:
        return Tracer(
            pids=lambda: _pids(groups.get(service)),
            service=service,
            target_ns=config.groups[service].target_ns,
            cost=spec.tracer,
            ports=spec.ports,
        )
    return None


def _pids(group: Managed | None) -> tuple[int, ...]:
    """Processes of a service that is there, those that started the others first."""
    return first(group.pids(), _parent) if group is not None and group.is_there else ()


def _parent(pid: int) -> int:
    one = proc.stat(pid)
    return one.parent if one else 0
