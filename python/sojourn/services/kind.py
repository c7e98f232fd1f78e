"""What a kind of service is, and the three methods that every started service has.

A service is a value: its parameters, settled for one machine. It starts nothing itself; it says how
it is started, whether it is ready, and what is asked of it. `run` does that. So all of it can be
tested without a process, and the life of a process is written once.

What only some services do is one small protocol each, in `capabilities`.
"""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from sojourn.places.ports import Address
from sojourn.services.params import Param, Value

RUNS_ON = "runs on"  # the fact of a service that the lab does not start, for the report's doubts

Json: TypeAlias = str | int | float | bool | list[str] | dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a service may take of this machine.

    Attributes:
        cpus: CPUs the server has.
        memory_bytes: memory that is free, and allowed by the control group.
        open_files: most files and connections that a process may have open.
        disk_bytes, disk_files: what the folder for working files can still hold; None: unknown.
        scale: share of the paper's data set that the profile asks for, in (0, 1].
        profile: its name, for the text that states the scaling.
    """

    cpus: int
    memory_bytes: int
    open_files: int = 1024
    disk_bytes: int | None = None
    disk_files: int | None = None
    scale: float = 1.0
    profile: str = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a service is started, and what is known of that start.

    Attributes:
        program: by its full path.
        words: arguments after the program's name.
        variables: beside those that each program has; their values are no one else's to see.
        secrets: values among them that no record may have.
        open_files: files and connections that a process of it may have open; 0: as the lab.
        ready_s: how long it may take to be ready, s, if that is longer than its place allows.
        stop: the signal that asks it to end.
        stop_s: how long it may take to end when asked to, before it is killed, s.
        reports: files in its working folder that it writes when it ends, to be stored.
        carries: files and folders of this machine that it opens by itself, which a guest lacks.
    """

    program: Path
    words: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    open_files: int = 0
    ready_s: float = 0.0
    stop: signal.Signals = signal.SIGTERM
    stop_s: float = 5.0
    reports: tuple[str, ...] = ()
    carries: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """What the generator sends to.

    Attributes:
        target: where, as in the generator's job.
        job: keys of that job that follow from the service.
    """

    target: str
    job: Mapping[str, Json] = field(default_factory=dict)


class Service(ABC):
    """One service that load is sent to, its parameters settled."""

    @abstractmethod
    def ready(self, address: Address, within_s: float) -> bool:
        """Whether it answers a request now; refused, silent and wrong are all False."""

    @abstractmethod
    def endpoint(self, address: Address) -> Endpoint:
        """Where load is sent, and what each request and reply is."""


class Program(Service):
    """A service that the lab starts and ends."""

    @abstractmethod
    def start(self, work: Path, address: Address) -> Start:
        """How it is started: in `work`, its folder, to listen at `address`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceKind:
    """One kind of service, as `sojourn kinds` shows it.

    Attributes:
        needs: programs and rights it needs of the host, as people install them.
        source: where its defaults come from.
        width: the parameter that says how many CPUs it would like; None: one.
        times: a parameter by which that is multiplied; None: there is none.
        is_foreign: it runs already, see `capabilities.Running`.
        cpus: parameters to the CPUs on which one that runs already may run; () where that cannot be
            seen.
        build: parameters and allowance to a settled service; raises SpecFault or HostFault.
    """

    name: str
    about: str
    params: tuple[Param, ...]
    needs: tuple[str, ...]
    source: str
    width: str | None = "threads"
    times: str | None = None
    is_foreign: bool = False
    cpus: Callable[[Mapping[str, Any]], tuple[int, ...]] = lambda _: ()
    build: Callable[[Mapping[str, Value], Allowance], Service]
