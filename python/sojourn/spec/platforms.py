"""What `hosts.platforms` says of servers: a quota there is a knob of each service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sojourn.spec.hosts import SERVER

if TYPE_CHECKING:
    from sojourn.spec.models import Study

KNOB = "cpu_quota"


def limit(table: dict[str, Any]) -> None:
    """Let a table have the platform of its own server alone, and its services the quota of that.

    Args:
        table: of one combination of levels; its hosts and services are changed.
    """
    hosts = table.get("hosts")
    every = hosts.get("platforms") if isinstance(hosts, dict) else None
    if not isinstance(hosts, dict) or not isinstance(every, dict) or not every:
        return  # there are none, or a level is in their place, which the model refuses
    server = hosts.get("server")
    hosts["platforms"] = {name: one for name, one in every.items() if name == server}
    own = every.get(server)
    if quota := own.get(KNOB) if isinstance(own, dict) else None:
        for service in table["services"]:
            service["knobs"] = {**(service.get("knobs") or {}), KNOB: quota}


def refuse(study: Study) -> None:
    """Raise what is wrong with the platforms of a study.

    Raises:
        ValueError: no service runs on one, a quota is there twice or has no effect, or machines
            that are called equal have unlike quotas.
    """
    if study.hosts is None or not study.hosts.platforms:
        return
    known = study.hosts.platforms
    levels = tuple(map(str, study.factors.get(SERVER, ())))
    servers = levels or (study.hosts.server,)
    if other := next((name for name in known if name not in servers), ""):
        raise ValueError(
            f"hosts.platforms has {other}, and no service runs there; name a level of {SERVER}"
        )
    if not levels:
        _refuse_alone(study, study.hosts.cpu_quota)
        return
    quotas = {name: known[name].cpu_quota if name in known else "" for name in levels}
    if study.hosts.alike and len(set(quotas.values())) > 1:
        raise ValueError(
            "machines with unlike quotas are not equal; leave hosts.alike out, or give each of "
            f"hosts.platforms the same {KNOB}"
        )
    both = [f"services.{one.label}.knobs.{KNOB}" for one in study.services if KNOB in one.knobs]
    both += [key for key in study.factors if key.endswith(f".knobs.{KNOB}")]
    if both and (own := next((name for name, quota in quotas.items() if quota), "")):
        raise ValueError(f"{both[0]} is there, and hosts.platforms.{own} has one; give one")


def _refuse_alone(study: Study, quota: str) -> None:
    """A quota is set where `hosts.server` is varied; a single server's is a knob by itself."""
    for service in study.services:
        if quota and service.knobs.get(KNOB) != quota:
            raise ValueError(
                f"hosts.platforms has a {KNOB}, and {SERVER} is no factor; write "
                f"services.{service.label}.knobs.{KNOB} instead"
            )
