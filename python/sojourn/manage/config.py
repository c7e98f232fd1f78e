"""The configuration of a manager: a TOML file → a frozen `Config`."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator, model_validator

from sojourn import disk, units
from sojourn.controllers.look import BEST_EFFORT, CPUS_MAX, CRITICAL, Part, Role, mistake
from sojourn.errors import SpecFault
from sojourn.host.tree import cpu_list

BYTES_MAX = 1 << 20
TEXT_MAX = 4095  # characters, as of a path (PATH_MAX): it is shown in faults and logs
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
TARGET_NS_MAX = 3600e9
PORTS_MAX = 64
METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,199}", re.ASCII)
COST = re.compile(r"(0\.[1-9]\d*|[1-9](\.\d+)?|[1-4]\d(\.\d+)?|50)%", re.ASCII)
SILENT_S_TRACED = (
    5.0  # windows come twice a second at most; the tracer leaves some out if it is late
)
LINK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}", re.ASCII)  # IFNAMSIZ
EVERY_TIMES = 2  # a manager counts as paused after so many of its rounds at the least
CPUS = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", re.ASCII)
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]


class GroupSpec(Part):
    """One group that the manager is given: a control group by path, or a process by number."""

    role: Role
    cgroup: str = ""
    pid: Annotated[int, Field(ge=0)] = 0
    target: str = ""
    peak_rps: Annotated[float, Field(ge=0)] = 0.0
    safe_quota: Annotated[float, Field(ge=0.01, le=CPUS_MAX)] = 0.05
    traits: tuple[str, ...] = ()
    disk: str = ""
    """A path on the disk that may be limited, such as /var/lib/batch."""
    link: str = ""
    """The link that it sends by, in a network namespace of its own, such as eth0."""

    @field_validator("traits", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _sensible(self) -> GroupSpec:
        if bool(self.cgroup) == bool(self.pid):
            raise ValueError('name either cgroup = "/PATH" or pid = NUMBER')
        path = self.cgroup
        is_plain = path.startswith("/") and not path.startswith("//") and path != "/"
        if path and not (is_plain and posixpath.normpath(path) == path):
            raise ValueError(
                "cgroup is a path below the mount, such as /batch, without .. and not /"
            )
        if self.disk and (not self.disk.startswith("/") or not path):
            raise ValueError("disk is an absolute path, of a group with cgroup")
        if self.link and (not LINK.fullmatch(self.link) or self.role == CRITICAL):
            raise ValueError("link is the name of a best-effort group's link, such as eth0")
        if self.role == CRITICAL and not self.target:
            raise ValueError('a latency-critical group needs a target, such as target = "1ms"')
        if self.target and not 0 < self.target_ns <= TARGET_NS_MAX:
            raise ValueError("the target must be above 0, and at most 1h")
        return self

    @property
    def target_ns(self) -> float:
        """Bound on p99, ns; 0: none."""
        return _ns(self.target) if self.target else 0.0


@lru_cache(64)  # a manager asks at each look
def _ns(text: str) -> float:
    return float(units.parse_ns(text))


class WindowsSpec(Part):
    """Where windows come from: a file or named pipe of JSON lines, or a Prometheus endpoint."""

    file: str = ""
    service: str = ""
    """The group that lines belong to which name none; of an endpoint, the group it is about."""
    url: str = ""
    metric: str = ""
    """The histogram, in seconds, without `_bucket`."""
    labels: Mapping[str, str] = Field(default_factory=dict)
    """What a series of it must have."""
    tracer: str = ""
    """The eBPF tracer is the source: share of the service's CPU time that it may take, such as
    "2%", or "all" to trace every request."""
    ports: Annotated[
        tuple[Annotated[int, Field(ge=1, le=65535)], ...], Field(max_length=PORTS_MAX)
    ] = ()
    """Of the tracer: local ports; none: all that the service listens on."""
    every_ms: Annotated[int, Field(ge=100, le=60_000)] = 1000

    @field_validator("ports", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _one(self) -> WindowsSpec:
        if sum(map(bool, (self.file, self.url, self.tracer))) > 1:
            raise ValueError("windows come from a file, a url or the tracer, from one of them")
        if self.tracer not in {"", "all"} and not COST.fullmatch(self.tracer):
            raise ValueError('tracer is "all", or a share from "0.1%" to "50%"')
        if self.ports and not self.tracer:
            raise ValueError("ports are of the tracer")
        if bool(self.url) != bool(self.metric):
            raise ValueError("an endpoint needs url and metric")
        if self.url:
            _check_url(self.url)
        if self.metric and not METRIC.fullmatch(self.metric):
            raise ValueError("metric is no name of a metric")
        return self


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"url: {error}") from None
    if parts.scheme != "http" or not parts.hostname or port == 0 or parts.username is not None:
        raise ValueError("url is http://HOST:PORT/PATH, without a user")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("url has a character that no url has")


class Config(Part):
    """A whole configuration, as it was checked."""

    controller: str
    every_ms: Annotated[int, Field(ge=10, le=10_000)] = 100
    paused_s: Annotated[float, Field(ge=0.2, le=60)] = 5.0
    silent_s: Annotated[float, Field(ge=0.2, le=60)] = 2.0
    check_s: Annotated[float, Field(ge=0, le=600)] = 5.0
    audit: str = ""
    record: str = ""
    cpus: str = ""
    """CPUs that are shared out, such as "0,2-3"; "": those that the manager may use."""
    windows: WindowsSpec = Field(default_factory=WindowsSpec)
    constants: Mapping[str, float] = Field(default_factory=dict)
    groups: Mapping[Name, GroupSpec]

    @field_validator("constants", mode="before")
    @classmethod
    def _as_floats(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        try:
            return {k: float(v) if type(v) is int else v for k, v in value.items()}
        except OverflowError:
            raise ValueError("a number is too large") from None

    @field_validator("cpus")
    @classmethod
    def _a_list(cls, text: str) -> str:
        if text and not (CPUS.fullmatch(text) and cpu_list(text)):  # none: a range ends too early
            raise ValueError('cpus is a list of CPUs, such as "0,2-3"')
        return text

    @model_validator(mode="after")
    def _apart(self) -> Config:
        where = [group.cgroup or group.pid for group in self.groups.values()]
        if len({*where}) < len(where):
            raise ValueError("two groups are the same control group or process")
        paths = {group.cgroup for group in self.groups.values() if group.cgroup}
        for inner in sorted(paths):
            for outer in PurePosixPath(inner).parents:
                if str(outer) in paths:
                    raise ValueError(
                        f"{inner} lies within {outer}, so what limits that one limits both"
                    )
        files = [one for one in (self.audit, self.record, self.windows.file) if one]
        if len({*files}) < len(files):
            raise ValueError("audit, record and windows.file are different files")
        return self

    @model_validator(mode="after")
    def _whole(self) -> Config:
        roles = {group.role for group in self.groups.values()}
        for role in (CRITICAL, BEST_EFFORT):
            if role not in roles:
                raise ValueError(f"no group has the role {role}")
        if self.paused_s < EVERY_TIMES * self.every_ms / 1000:
            raise ValueError(f"paused_s is at least {EVERY_TIMES} times every_ms")
        services = [group for group in self.groups.values() if group.role == CRITICAL]
        if (self.windows.url or self.windows.tracer) and len(services) > 1:
            raise ValueError(
                "windows of a url or the tracer are of one service: write those of all to a file"
            )
        if self.windows.service and self.windows.service not in self.groups:
            raise ValueError(f"windows.service: there is no group {self.windows.service}")
        if self.windows.service and self.groups[self.windows.service].role != CRITICAL:
            raise ValueError(f"windows.service: {self.windows.service} is not latency-critical")
        if self.windows.url and 2 * self.windows.every_ms > 1000 * self.silent_s:
            raise ValueError("silent_s is at least twice windows.every_ms: one answer may be late")
        if self.windows.tracer not in {"", "all"} and self.silent_s < SILENT_S_TRACED:
            raise ValueError(f"silent_s is at least {SILENT_S_TRACED:g} with a tracer at a cost")
        return self

    def service(self) -> str:
        """The group that lines without a name belong to: the named one, or the first service."""
        return self.windows.service or next(
            name for name, group in self.groups.items() if group.role == CRITICAL
        )


def read(path: Path, *, is_again: bool = False) -> Config:
    """Read a configuration; SpecFault if it is wrong, with the key.

    Args:
        path: of the file.
        is_again: by a manager that runs, which must not wait: a pipe is refused.
    """
    fix = "see docs/howto/manage.md"
    try:
        table = tomllib.loads(_bytes(path, is_again=is_again).decode())
    except OSError as error:
        raise SpecFault(
            f"the configuration cannot be read: {error.strerror}", at=str(path), fix=fix
        ) from None
    except (ValueError, RecursionError) as error:
        raise SpecFault(f"the configuration is no TOML: {error}", at=str(path), fix=fix) from None
    try:
        _check_texts(table)
        return Config.model_validate(table)
    except ValidationError as error:
        raise SpecFault(mistake(error), at=str(path), fix=fix) from None
    except ValueError as error:
        raise SpecFault(str(error), at=str(path), fix=fix) from None
    except SpecFault as fault:
        raise SpecFault(fault.what, at=str(path), fix=fault.fix) from None


def _bytes(path: Path, *, is_again: bool) -> bytes:
    if not is_again:
        return disk.read_named(path, most=BYTES_MAX)
    with disk.reader(path, most=BYTES_MAX, is_named=True) as file:
        return file.read(BYTES_MAX)


def _check_texts(table: Mapping[str, Any]) -> None:
    """ValueError where a key or text of it is too long, or would control a terminal."""
    for at, text in _texts(table):
        if len(text) > TEXT_MAX:
            raise ValueError(f"{at}: a text has at most {TEXT_MAX} characters")
        if CONTROL.search(text):
            raise ValueError(f"{at}: a text has no control character")


def _texts(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Keys and texts of all tables, each with its place; a key is checked before it is in one."""
    left: list[tuple[str, str, Any]] = [("", key, value) for key, value in table.items()]
    while left:
        at, key, value = left.pop()
        yield at or "the configuration", key
        place = ".".join(filter(None, (at, key)))
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, dict):
            left += [(place, name, one) for name, one in value.items()]
        elif isinstance(value, list):
            left += [(place, "", one) for one in value]
