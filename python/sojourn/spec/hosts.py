"""Hosts of a study, `[hosts]`: a cluster, and which nodes are clients.

Every field's description is what `schema/study.json` and the reference say about the key.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from pydantic import Field, field_validator, model_validator

from sojourn.spec.base import Model

SERVER = "hosts.server"  # as a key of the study, such as of a factor
LOCAL = "local:"  # a cluster of this machine alone, which the lab starts and ends
CLIENTS_MAX = 1000
ROLE_MAX = 64  # hosts of any other role
QUOTA_LEAST = 1  # %, in each 100 ms; a kernel takes no less
Feature: TypeAlias = Literal["root", "groups", "pressure", "btf", "sched_ext"]
Role: TypeAlias = Literal["server", "neighbours", "observers"]
_AT = re.compile(r"(ray://)?[A-Za-z0-9._-]{1,253}:[0-9]{1,5}|auto")
_LOCAL = re.compile(r"local:([1-9][0-9]{0,2})")
_QUOTA = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?%")
_NAME = re.compile(r"[A-Za-z0-9._:/-]{1,253}(=[A-Za-z0-9._-]{1,63})?")


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"'{_plain(name)}' is no name of a node; write a name, address or label"
            )
    return names


def _plain(text: str) -> str:
    """A text of the file within a message, whose parts a semicolon separates."""
    return text.replace(";", ",")[:80]


class NeedsSpec(Model):
    """What a role needs of its host, checked before the first run."""

    cpus: int = Field(default=1, ge=1, le=4096)
    """CPUs that it must have at the least."""
    features: tuple[Feature, ...] = ()
    """What it must have, as in `hosts.features`."""

    @field_validator("features", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value


class PlatformSpec(Model):
    """What is known of a server's machine beside what is measured there."""

    price_usd: float | None = Field(default=None, ge=0, le=1e12)
    """Price of the machine, US dollars, for what 1,000 requests/s cost."""
    peak_watts: float | None = Field(default=None, ge=0.01, le=1e9)
    """Power that it draws when busy, by a meter or its data sheet, for requests/s of each watt."""
    cpu_quota: str = ""
    """CPU time that each service may use there, such as "150%" of one CPU: the knob `cpu_quota` of
    its services. So a part of a machine can stand for a smaller one; price and power are then that
    one's."""

    @field_validator("cpu_quota")
    @classmethod
    def _a_quota(cls, quota: str) -> str:
        if quota and (not _QUOTA.fullmatch(quota) or float(quota[:-1]) < QUOTA_LEAST):
            raise ValueError(
                f"'{_plain(quota)}' is no quota of at least {QUOTA_LEAST} %; "
                'write "150%" for one and a half CPUs'
            )
        return quota


class HostsSpec(Model):
    """Which machines take part, by Ray."""

    at: str
    """The cluster, as Ray names it: "ray://HOST:10001", or where this machine is one of its nodes
    "HOST:6379" or "auto". "local:N": N clients on this machine, with a Ray of the lab's own."""
    clients: tuple[str, ...] | None = None
    """Nodes that are clients, each by name, address or id, or by a label such as "zone=a". Without
    it all nodes are but the lab's own. A node that is named twice has two clients."""
    address: str = ""
    """Address at which a service that the lab starts listens, so that clients on other machines
    reach it. Whoever else reaches that address can use the service meanwhile."""

    cpus: int = Field(default=1, ge=1, le=4096)
    """CPUs that each client's host must have at the least, checked before the first run."""
    features: tuple[Feature, ...] = ()
    """What each client's host must have, checked before the first run: "root", "groups" (control
    groups of version 2), "pressure", "btf" (types for eBPF), "sched_ext"."""

    server: str = ""
    """Node on which the service runs, named as a client is. Everything else of a point is there as
    well: knobs, shield, probes, neighbours. Without it that is the lab's own host."""
    alike: bool = False
    """The nodes that the factor `hosts.server` varies are equal machines: the answer says how much
    they differ, and what holds for machines like these (M15). Without it each node is a kind of
    machine by itself."""
    platforms: dict[str, PlatformSpec] = Field(default_factory=dict)
    """What is known of servers by the name that `hosts.server` gives them, such as
    `platforms."10.0.0.4".price_usd = 2000`."""
    neighbours: tuple[str, ...] = ()
    """Nodes on which neighbours run; without it the host of the service."""
    observers: tuple[str, ...] = ()
    """Nodes of which the use of the CPUs is noted while load runs, in `hosts.json`."""
    needs: dict[Role, NeedsSpec] = Field(default_factory=dict)
    """What the host of a role must have, such as `needs.server.cpus = 8`."""

    @field_validator("at")
    @classmethod
    def _a_cluster(cls, at: str) -> str:
        if at.startswith(LOCAL):
            if not _LOCAL.fullmatch(at):
                raise ValueError(
                    f"'{_plain(at)}' is not local:N; give the number of clients, as local:4"
                )
        elif not _AT.fullmatch(at):
            raise ValueError(
                f"'{_plain(at)}' is no cluster; write ray://HOST:10001, HOST:6379 or local:4"
            )
        return at

    @field_validator("clients", "features", "neighbours", "observers", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("clients")
    @classmethod
    def _has_hosts(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if names is None:
            return None
        if not names:
            raise ValueError("the role clients has no host; name one, or leave the key out")
        if len(names) > CLIENTS_MAX:
            raise ValueError(f"{len(names)} clients are more than {CLIENTS_MAX}; name fewer")
        return _names(names)

    @field_validator("neighbours", "observers")
    @classmethod
    def _of_roles(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(names) > ROLE_MAX:
            raise ValueError(f"{len(names)} hosts of one role are more than {ROLE_MAX}; name fewer")
        if len(set(names)) < len(names):
            raise ValueError("a host is named twice; name it once")
        return _names(names)

    @field_validator("platforms")
    @classmethod
    def _of_servers(cls, platforms: dict[str, PlatformSpec]) -> dict[str, PlatformSpec]:
        if len(platforms) > ROLE_MAX:
            raise ValueError(f"{len(platforms)} platforms are more than {ROLE_MAX}; name fewer")
        _names(tuple(platforms))
        return platforms

    @field_validator("server")
    @classmethod
    def _one_server(cls, name: str) -> str:
        return _names((name,))[0] if name else name

    @field_validator("address")
    @classmethod
    def _an_address(cls, address: str) -> str:
        try:
            ipaddress.IPv4Address(address or "127.0.0.1")
        except ValueError:
            raise ValueError(
                f"'{_plain(address)}' is no IPv4 address; write one, as 10.0.0.1"
            ) from None
        return address

    @model_validator(mode="after")
    def _of_one_kind(self) -> HostsSpec:
        if self.local and self.clients is not None:
            raise ValueError("local:N says how many clients there are; leave clients out")
        if self.local and (self.server or self.neighbours or self.observers):
            raise ValueError("local:N is this machine alone; leave its roles out")
        lacks = [role for role in self.needs if not getattr(self, role)]
        if lacks:
            raise ValueError(f"the role {lacks[0]} has needs and no host; name one in hosts")
        return self

    @property
    def cpu_quota(self) -> str:
        """What services may use on their server, as a level of that knob; "": all."""
        one = self.platforms.get(self.server)
        return one.cpu_quota if one else ""

    def machines(self, servers: Sequence[str]) -> int | None:
        """How many machines take part, the lab's own included; None: the cluster knows.

        Args:
            servers: all that the study has under its levels; "": the lab's own host.
        """
        if self.local:
            return 1
        names = {*(self.clients or ()), *servers, *self.neighbours, *self.observers} - {""}
        if self.clients is None or any("=" in name for name in names):
            return None
        return 1 + len(names)

    @property
    def local(self) -> int:
        """How many clients on this machine alone; 0: a cluster has them."""
        match = _LOCAL.fullmatch(self.at)
        return int(match[1]) if match else 0
