"""What some services do beyond `start`, `ready` and `endpoint`.

Each question is a protocol. A service names those that it answers among its bases, and lacks the
methods of all others. `run` asks by the functions below, which know the answer for a service that
lacks the method.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

from sojourn.places.foreign import Foreign
from sojourn.places.image import Image
from sojourn.places.ports import Address
from sojourn.places.task import Task
from sojourn.services.kind import Service

MEMORY_BYTES = 256 << 20  # of a service that does not say
Rows: TypeAlias = tuple[tuple[str, str], ...]  # facts for people: (what, how much and why)


class RunsAs(Enum):
    """Who a service runs as."""

    SERVER = "the user of servers"
    ACCOUNT = "a user of servers who has an account"  # its program looks its user up
    LAB = "whoever runs the lab"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a service needs before it can be started.

    Attributes:
        workers: how many threads or processes serve.
        is_pinned: whether each of them belongs on a CPU of its own.
        port: that the user asked for; 0: any free one.
        ports: on how many it listens, from that of its address on.
        memory_bytes: beside its program and data files, for a place with memory of its own.
        runs_as: who it runs as.
        has_secrets: whether some of its variables are secrets, which no place may show.
        is_syncing: whether it waits until what it writes is on a disk.
        is_durable: whether the study asks for that by name.
    """

    workers: int = 1
    is_pinned: bool = True
    port: int = 0
    ports: int = 1
    memory_bytes: int = MEMORY_BYTES
    runs_as: RunsAs = RunsAs.SERVER
    has_secrets: bool = False
    is_syncing: bool = False
    is_durable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What a service is given before it is measured.

    Attributes:
        is_preloaded: whether the generator sets every item first.
        requests: after so many, caches are as full as they get.
    """

    is_preloaded: bool = False
    requests: int = 0


@runtime_checkable
class Describes(Protocol):
    """What is it, for people?"""

    @abstractmethod
    def setup(self) -> Rows:
        """Its settings and data, as (name, text)."""


@runtime_checkable
class Versioned(Protocol):
    """Which version of its program is it?"""

    @abstractmethod
    def version(self) -> str:
        """As the program states it; "" if it does not."""


@runtime_checkable
class Demands(Protocol):
    """What does it need before it can be started?"""

    @abstractmethod
    def needs(self) -> Needs:
        """Workers, ports, memory and user."""


@runtime_checkable
class Adapts(Protocol):
    """What is it for the load of this study?"""

    @abstractmethod
    def adapted(self, load: Mapping[str, Any], bound_s: float = 0.0) -> Self:
        """The same after a look at what the study asks of it, and at what runs already.

        Args:
            load: keys of the generator's job that the study gives.
            bound_s: of the study's QoS target, s; 0: there is none, or it is measured.

        Raises:
            SpecFault: the study asks for what it cannot do.
            HostFault: what runs already does not answer as it should.
        """


@runtime_checkable
class Running(Protocol):
    """Where does it run already?"""

    @abstractmethod
    def address(self) -> Address:
        """Where it listens. Nothing of it is started, pinned, shielded or ended."""

    @abstractmethod
    def process(self) -> Foreign | None:
        """Its processes; None where they cannot be seen."""


@runtime_checkable
class Contained(Protocol):
    """Which container is it, if it is one?"""

    @abstractmethod
    def image(self) -> Image | None:
        """Its root and configuration; None: they are not unpacked yet."""


@runtime_checkable
class Prepares(Protocol):
    """Which files does it need?"""

    @abstractmethod
    def prepare(self, work: Path) -> None:
        """Make them, once for all restarts. `work` is the lab's own until then."""


@runtime_checkable
class Fills(Protocol):
    """What is it given before it is measured?"""

    @abstractmethod
    def filling(self) -> Filling:
        """Whether items are set, and how many requests follow."""


@runtime_checkable
class Settles(Protocol):
    """Does it still work on what it was given?"""

    @abstractmethod
    def is_settled(self, address: Address) -> bool:
        """Whether it has no work of its own left over from being filled."""


@runtime_checkable
class Checks(Protocol):
    """Are its replies right before it is measured?"""

    @abstractmethod
    def check(self, address: Address) -> Rows:
        """Prove that it holds what it should; RunFault if it does not."""


@runtime_checkable
class Audits(Protocol):
    """Is what it holds still sound after a run?"""

    @abstractmethod
    def audit(self, address: Address) -> Rows:
        """Prove it; RunFault if it is not."""


@runtime_checkable
class Pins(Protocol):
    """Which threads are its workers?"""

    @abstractmethod
    def pinned(self, tasks: Sequence[Task]) -> tuple[int, ...]:
        """Those to be pinned one to a CPU, in order; none: they cannot be recognised."""


@runtime_checkable
class HasCrews(Protocol):
    """Who else works for a worker, pinned where it is and counted with it?"""

    @abstractmethod
    def crew(self, tasks: Sequence[Task]) -> Mapping[int, tuple[int, ...]]:
        """By those that `pinned` names; none: each works alone."""


@runtime_checkable
class SaysWhyNotReady(Protocol):
    """What does it answer while it is not ready?"""

    @abstractmethod
    def not_ready(self, address: Address, within_s: float) -> str:
        """A clause for people, such as "GET /health has status 403"; "": it answers nothing.

        Raises:
            SpecFault: it will never be ready, because it is asked in another protocol.
        """


@runtime_checkable
class Slow(Protocol):
    """How long may a request take?"""

    @abstractmethod
    def reply_s(self) -> float:
        """In s, where the lab would give it up too early; 0: no longer than those of others."""


@runtime_checkable
class Instrument(Protocol):
    """Is it there to test the instrument?"""

    @abstractmethod
    def is_instrument(self) -> bool:
        """Whether its outages are the instrument's (M27)."""


def setup(service: Service) -> Rows:
    """Facts for people; none where it does not describe itself."""
    return service.setup() if isinstance(service, Describes) else ()


def version(service: Service) -> str:
    """As its program states it; "" where it does not."""
    return service.version() if isinstance(service, Versioned) else ""


def needs(service: Service) -> Needs:
    """What it needs before it is started; the usual where it does not say."""
    return service.needs() if isinstance(service, Demands) else Needs()


def filling(service: Service) -> Filling:
    """What it is given before it is measured; nothing where it does not say."""
    return service.filling() if isinstance(service, Fills) else Filling()


def pinned(service: Service, tasks: Sequence[Task]) -> tuple[int, ...]:
    """Its workers among its threads, in order; none where they cannot be recognised."""
    return service.pinned(tasks) if isinstance(service, Pins) else ()


def crew(service: Service, tasks: Sequence[Task]) -> Mapping[int, tuple[int, ...]]:
    """Who else works for a worker; none where each works alone."""
    return service.crew(tasks) if isinstance(service, HasCrews) else {}


def not_ready(service: Service, address: Address, within_s: float) -> str:
    """What it answers while it is not ready; "" where that is nothing, or it does not say."""
    return service.not_ready(address, within_s) if isinstance(service, SaysWhyNotReady) else ""


def reply_s(service: Service) -> float:
    """How long a request may take, s; 0: no longer than those of others."""
    return service.reply_s() if isinstance(service, Slow) else 0.0


def is_instrument(service: Service) -> bool:
    """Whether its outages are the instrument's (M27)."""
    return isinstance(service, Instrument) and service.is_instrument()
