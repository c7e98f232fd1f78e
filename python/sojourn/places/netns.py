"""A network namespace of the service's own; its clients are outside and reach it over a bridge.

    the machine's namespace                                 namespace sojourn-TAG
    client ── bridge sojourn-TAGb (.1) ── veth sojourn-TAGv ═══ eth0 (.2) ── service

Requests take the way that those of a container take: a veth pair and a bridge instead of loopback,
with an MTU of 1500 bytes instead of 64 KiB. The service sees no other link, and no other program's
ports. Processes, files and CPUs are those of the machine.

Every step is noted before it is done; what is set up inside or upon what the lab has made goes with
it. TAG is drawn by lot for each life.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sojourn.errors import HostFault
from sojourn.places import network, ports
from sojourn.places.ledger import Book, Made, Undone
from sojourn.places.network import Link
from sojourn.places.place import Place, PlaceKind

NAME = "netns"
PREFIX = "sojourn-"  # `restore` removes no namespace and no link without it
TAG_BYTES = 3  # names of links have 15 letters at most
INNER = "eth0"
UNKNOWN = "0.0.0.0"  # noqa: S104  # nothing listens there: it is not known yet

Answer = TypeVar("Answer")


@dataclass(slots=True)
class Netns(Place):
    """One network namespace, for one life of a service."""

    _host: str = UNKNOWN
    _path: Path | None = None
    _made: Made | None = None

    kind = NAME

    @property
    def host(self) -> str:
        """Address of the service's end of the link; 0.0.0.0 before it is entered."""
        return self._host

    @property
    def netns(self) -> Path | None:
        """Where the namespace is mounted; None before it is entered."""
        return self._path

    def enter(self, book: Book) -> None:
        """Make namespace, bridge and link; what fails on the way is unmade."""
        self._made = Made(book)
        try:
            self._make(self._made, _tag())
        except OSError as error:
            self.leave()
            raise HostFault(
                f"no network namespace with a link can be made: {error.strerror}",
                at=f'place = "{NAME}"',
                fix="run as root, on a kernel with veth and bridge; `sojourn doctor` says more",
            ) from None

    def _make(self, made: Made, tag: str) -> None:
        block = network.free_block(network.routed(), int(tag, 16))
        if block is None:
            raise OSError(0, "every private address is routed to somewhere")
        outside, inside = map(str, list(block.hosts())[:2])
        path = network.RUN / f"{PREFIX}{tag}"
        bridge, port, inner = (
            Link(name=name, mac=mac()) for name in (f"{PREFIX}{tag}b", f"{PREFIX}{tag}v", INNER)
        )
        make, unmake = partial(network.make, path), partial(network.remove, path)
        made.step("netns", {"name": path.name}, make, unmake)
        self._path = path
        for link, make in (
            (bridge, partial(network.add_bridge, bridge)),
            (port, partial(network.add_pair, port, inner, path)),
        ):
            facts = {"name": link.name, "mac": link.mac}
            made.step("link", facts, make, partial(network.delete, link))
        network.join(bridge, port)
        network.bring_up(bridge.name, outside)
        network.inside(path, partial(network.bring_up, "lo"))
        network.inside(path, partial(network.bring_up, inner.name, inside))
        self._host = inside

    def leave(self) -> None:
        """Remove link, bridge and namespace; what cannot be is left to `restore`."""
        if self._made is not None:
            self._made.unmake()
        self._path, self._host = None, UNKNOWN

    def free_port(self) -> int:
        """A port that was free a moment ago, inside."""
        return self._ask(partial(ports.free, self.host))

    def is_free(self, port: int) -> bool:
        """Whether a server could listen there; before it is entered no one can be in its way."""
        return self._path is None or self._ask(partial(ports.is_free, port, self.host))

    def holder(self, port: int) -> str:
        """Who listens on `port` inside."""
        return self._ask(partial(ports.holder, port))

    def owner(self, port: int, pids: Iterable[int]) -> int | None:
        """Which of `pids` has a socket that listens on `port` inside."""
        return self._ask(partial(ports.owner, port, tuple(pids)))

    def _ask(self, question: Callable[[], Answer]) -> Answer:
        assert self._path is not None  # noqa: S101  # it was entered
        return network.inside(self._path, question)

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """Where it runs and how it is reached, for people."""
        name = self._path.name if self._path else "not made"
        return (("place", f"network namespace {name}, reached over veth and bridge"),)


def _tag() -> str:
    """A name that no namespace has: what is removed by its name must have been made by the lab."""
    while (network.RUN / f"{PREFIX}{(tag := secrets.token_hex(TAG_BYTES))}").exists():
        pass
    return tag


def mac() -> str:
    """A hardware address drawn by lot: locally administered, of one interface."""
    return ":".join(f"{byte:02x}" for byte in (0x02, *secrets.token_bytes(5)))


def undo_namespace(facts: Mapping[str, Any]) -> Undone | None:
    """Remove a namespace that a lab noted, if it was made."""
    name = str(facts["name"])
    path = network.RUN / name
    if not name.startswith(PREFIX) or Path(name).name != name or not path.exists():
        return None
    return _undone(f"network namespace {name}", partial(network.remove, path))


def undo_link(facts: Mapping[str, Any]) -> Undone | None:
    """Delete a link that a lab noted, if there is one of that name with that hardware address."""
    link = Link(name=str(facts["name"]), mac=str(facts["mac"]))
    if not link.name.startswith(PREFIX) or not network.is_there(link):
        return None
    return _undone(f"network link {link.name}", partial(network.delete, link))


def _undone(what: str, remove: Callable[[], None]) -> Undone:
    try:
        remove()
    except OSError as error:
        return Undone(what=what, how=f"cannot be removed: {error.strerror}", is_done=False)
    return Undone(what=what, how="removed", is_done=True)


KIND = PlaceKind(
    name=NAME,
    label="network namespace",
    about="a network namespace of its own; clients reach it over a veth pair and a bridge",
    needs=("root (CAP_SYS_ADMIN, CAP_NET_ADMIN)", "a kernel with veth and bridge"),
    abilities=("network namespaces",),
    build=Netns,
    undo={"netns": undo_namespace, "link": undo_link},
)
