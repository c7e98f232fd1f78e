"""Rule and window source of a configuration: opened and closed together."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from sojourn.controllers.named import rule
from sojourn.controllers.rule import OfKind, Rule
from sojourn.errors import SpecFault
from sojourn.manage import feed
from sojourn.manage.config import Config
from sojourn.manage.feed import Feed
from sojourn.manage.groups import Managed


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Open until `stack` is closed.

    Attributes:
        since_s: when they were opened; a source is silent from then on at the earliest.
    """

    rule: Rule
    source: Feed | None
    stack: ExitStack
    since_s: float = field(default_factory=time.monotonic)


def opened(config: Config, groups: Mapping[str, Managed]) -> Parts:
    """All or nothing; HostFault where the source, or what the rule needs, is not there.

    SpecFault where the source's windows are too long for the rule, or a level is none here.

    Args:
        config: that names rule and source.
        groups: by name, those that may come back as well.
    """
    with ExitStack() as stack:
        source = feed.of(config, groups)
        if source is not None:
            source.open()
            stack.callback(source.close)
        ready = rule(config.controller, config.constants)
        if isinstance(ready, OfKind):
            if config.windows.url:
                ready.check_windows(config.windows.every_ms / 1000)
            ready.check(_present(config, groups, source), _reasons(groups))
            _check_levels(ready, groups)
        return Parts(rule=stack.enter_context(ready), source=source, stack=stack.pop_all())


def _check_levels(ready: OfKind, groups: Mapping[str, Managed]) -> None:
    """SpecFault where a group has no such level, which the manager would end by later."""
    for knob, level in ready.levels:
        for one in groups.values():
            if one.is_best_effort and (why := one.refuses(knob, level)):
                raise SpecFault(
                    f"controller {ready.name} would give {one.name} {knob} {level}: {why}",
                    at=f"constants, {knob}",
                    fix="see docs/howto/manage.md, What it can move",
                )


def _present(config: Config, groups: Mapping[str, Managed], source: Feed | None) -> set[str]:
    """What controllers may need and is here."""
    best_effort = [one.can() for one in groups.values() if one.is_best_effort]
    services = [one for one in groups.values() if not one.is_best_effort]
    present = {"cpu"} | set.intersection(*best_effort)
    if len(best_effort) > 1:  # a CPU has one bound, and all share the last CPUs
        present.discard("frequency")
    if source is not None:
        present.add("tail")
        if all(config.groups[one.name].peak_rps for one in services):
            present.add("load")
    if Path(f"/proc/{os.getpid()}/schedstat").exists():
        present.add("runq_delay")
    if all(one.cpu is not None for one in services):
        present.add("throttled")
    if any(spec.traits for spec in config.groups.values()):
        present.add("traits")
    return present


def _reasons(groups: Mapping[str, Managed]) -> dict[str, tuple[str, str]]:
    """Of knobs that a best-effort group has not: what is missing, and how to get it."""
    ones = [one for one in groups.values() if one.is_best_effort]
    reasons = {
        str(knob): (f"{one.name} lacks {lack.missing}", lack.fix)
        for one in ones
        for knob, lack in one.lacks().items()
    }
    if len(ones) > 1:
        only = ("there are several", "name one control group for all best-effort work")
        reasons["frequency"] = reasons.get("frequency", only)
    return reasons
