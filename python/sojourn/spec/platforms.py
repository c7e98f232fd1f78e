"""What `hosts.platforms` says of servers: a quota there is a knob of each service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sojourn.spec.hosts import SERVER
from sojourn.spec.levels import level_text

if TYPE_CHECKING:
    from sojourn.spec.models import Study

KNOB = "cpu_quota"


def limit(table: dict[str, Any]) -> None:
    """Give the services of a study's table the quota of the server that is in it.

    Args:
        table: of one combination of levels; its services are changed.
    """
    hosts = table.get("hosts") or {}
    quota = ((hosts.get("platforms") or {}).get(hosts.get("server")) or {}).get(KNOB)
    if quota:
        for service in table["services"]:
            service["knobs"] = {**(service.get("knobs") or {}), KNOB: quota}


def refuse(study: Study) -> None:
    """Raise what is wrong with the platforms of a study.

    Raises:
        ValueError: no service runs on one, or a quota is there twice or has no effect.
    """
    if study.hosts is None or not study.hosts.platforms:
        return
    levels = tuple(map(level_text, study.factors.get(SERVER, ())))
    quotas = [name for name, one in study.hosts.platforms.items() if one.cpu_quota]
    if not levels:
        _refuse_alone(study, study.hosts.cpu_quota)
        return
    other = next((name for name in study.hosts.platforms if name not in levels), "")
    if other:
        raise ValueError(
            f"hosts.platforms has {other}, and no service runs there; name a level of {SERVER}"
        )
    both = [f"services.{one.label}.knobs.{KNOB}" for one in study.services if KNOB in one.knobs]
    both += [key for key in study.factors if key.endswith(f".knobs.{KNOB}")]
    if quotas and both:
        raise ValueError(f"{both[0]} is there, and hosts.platforms.{quotas[0]} has one; give one")


def _refuse_alone(study: Study, quota: str) -> None:
    """A quota is set where `hosts.server` is varied; a single server's is a knob by itself."""
    knobs: Mapping[str, Any]
    for service in study.services:
        knobs = service.knobs
        if quota and knobs.get(KNOB) != quota:
            raise ValueError(
                f"hosts.platforms has a {KNOB}, and {SERVER} is no factor; write "
                f"services.{service.label}.knobs.{KNOB} instead"
            )
