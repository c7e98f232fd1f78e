"""What a kind of service says of itself, and what every service can do.

A service is a value: its parameters, settled for one machine. It starts nothing itself; it says how
it is started, asked, filled, checked and pinned, and `run.session` does that. So all of it can be
tested without a process, and the life of a process is written once.
"""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

from sojourn.places.foreign import Foreign
from sojourn.places.image import Image
from sojourn.places.ports import Address
from sojourn.places.task import Task
from sojourn.services.params import Param, Value

MEMORY_BYTES = 256 << 20  # of a service that does not say
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


class Service(ABC):
    """One service, its parameters settled."""

    @property
    @abstractmethod
    def setup(self) -> tuple[tuple[str, str], ...]:
        """Facts for people: (what, how much and why that much)."""

    @property
    @abstractmethod
    def program(self) -> Path | None:
        """What is started; None if nothing is."""

    @property
    def wanted_port(self) -> int:
        """The port the user asked for; 0: any free one."""
        return 0

    @property
    def ports(self) -> int:
        """How many ports it listens on, from that of its address on."""
        return 1

    @property
    def workers(self) -> int:
        """How many threads or processes serve."""
        return 1

    @property
    def is_pinnable(self) -> bool:
        """Whether its workers can be told apart from its other threads, to be put on a CPU each."""
        return not self.is_foreign

    @property
    def is_foreign(self) -> bool:
        """Whether it runs already: nothing of it is started, pinned, shielded or ended."""
        return False

    def met(self, load: Mapping[str, Any], bound_s: float = 0.0) -> Self:
        """The same after a look at what the study asks of it, and at what runs already.

        Args:
            load: keys of the generator's job that the study gives.
            bound_s: of the study's QoS target, s; 0: there is none, or it is measured.

        Raises:
            HostFault: what runs already does not answer as it should.
        """
        del load, bound_s
        return self

    def process(self) -> Foreign | None:
        """The processes of one that runs already; None where they cannot be seen."""
        return None

    @property
    def endpoint(self) -> Address | None:
        """Where one that runs already listens; None: its place says it."""
        return None

    def prepare(self, work: Path) -> None:
        """Make the data files, once for all restarts. `work` is the lab's own until then."""
        del work

    @abstractmethod
    def command(self, work: Path, address: Address) -> Sequence[str]:
        """Arguments after the program's name."""

    @abstractmethod
    def target(self, address: Address) -> str:
        """Where the generator sends to, as in its job."""

    @abstractmethod
    def job(self) -> Mapping[str, Json]:
        """Keys of the generator's job that follow from the service."""

    @abstractmethod
    def answers(self, address: Address, within_s: float) -> bool:
        """Whether it answers a request now; refused, silent and wrong are all False."""

    @property
    def is_preloaded(self) -> bool:
        """Whether the generator has to set every item first."""
        return False

    @property
    def is_instrument(self) -> bool:
        """Whether it is there to test the instrument: its outages are the instrument's (M27)."""
        return False

    @property
    def warm_requests(self) -> int:
        """Requests after which caches are as full as they get."""
        return 0

    def is_settled(self, address: Address) -> bool:
        """Whether it has no work of its own left over from being filled."""
        del address
        return True

    def check(self, address: Address) -> tuple[tuple[str, str], ...]:
        """Prove that it holds what it should.

        Returns:
            Facts for people.

        Raises:
            RunFault: it does not.
        """
        del address
        return ()

    def audit(self, address: Address) -> tuple[tuple[str, str], ...]:
        """Prove after a run that what it holds is still sound.

        Returns:
            Facts for people.

        Raises:
            RunFault: it is not.
        """
        del address
        return ()

    def pinned(self, tasks: Sequence[Task]) -> tuple[int, ...]:
        """Which threads are to be pinned one to a CPU, in order; none: it cannot be told."""
        del tasks
        return ()

    def crew(self, tasks: Sequence[Task]) -> Mapping[int, tuple[int, ...]]:
        """Who else works for a worker: pinned where it is, and counted with it.

        Args:
            tasks: all threads of the service.

        Returns:
            By those that `pinned` names; none: each works alone.
        """
        del tasks
        return {}

    @property
    def reports(self) -> tuple[str, ...]:
        """Files in its working folder that it writes when it ends, to be kept."""
        return ()

    @property
    def open_files(self) -> int:
        """How many files and connections one of its processes may have open; 0: as the lab."""
        return 0

    @property
    def memory_bytes(self) -> int:
        """How much memory it may take beside its program and data files, for a place of its own."""
        return MEMORY_BYTES

    @property
    def image(self) -> Image | None:
        """The container that it is; None: it is a program of this machine."""
        return None

    @property
    def bears_image(self) -> bool:
        """Whether it is a container, also where that is not unpacked yet."""
        return False

    def surroundings(self, address: Address, work: Path | None = None) -> Mapping[str, str]:
        """Variables beside those that each program has; their values are nobody else's to see."""
        del address, work
        return {}

    @property
    def has_secrets(self) -> bool:
        """Whether some of its variables are secrets, which no place may show."""
        return False

    @property
    def is_own_user(self) -> bool:
        """Whether it runs as who runs the lab, and not as the user of servers."""
        return False

    @property
    def needs_account(self) -> bool:
        """Whether its program looks its user up, who must then have an account."""
        return False

    @property
    def start_s(self) -> float:
        """How long it may take to answer, s, where that is longer than its place allows."""
        return 0.0

    @property
    def reply_s(self) -> float:
        """How long a request may take, s, where the lab would give it up too early."""
        return 0.0

    @property
    def stop_signal(self) -> signal.Signals:
        """What asks it to end."""
        return signal.SIGTERM

    @property
    def patience_s(self) -> float:
        """How long it may take to end when asked to, before it is killed."""
        return 5.0

    def version(self) -> str:
        """As the program states it; "" if it does not."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceKind:
    """One kind of service, as `sojourn kinds` shows it.

    Attributes:
        needs: programs and rights it needs of the host, as people install them.
        source: where its defaults come from.
        width: the parameter that says how many CPUs it would like; None: one.
        times: a parameter by which that is multiplied; None: there is none.
        is_foreign: it runs already, see `Service.is_foreign`.
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
