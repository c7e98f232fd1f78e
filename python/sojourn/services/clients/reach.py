"""The way to a server: whether a connection can be made, why not, and on which machine it ends."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Mapping
from ipaddress import ip_address

from sojourn.places import ports
from sojourn.services.clients import connect
from sojourn.services.clients.where import Where

NAMED_MAX = 8


class RefusedError(Exception):
    """It is not as it must be: what is wrong, and how to fix it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


def reach(where: Where) -> None:
    """Connect once; RefusedError says why that is not possible."""
    try:
        connect.connected(where).close()
    except socket.gaierror:
        what, fix = f"the name '{where.host}' has no address", "check the spelling"
        raise RefusedError(what, fix) from None
    except TimeoutError:
        raise RefusedError(
            f"{where.authority} does not take a connection within {connect.CONNECT_S:g} s",
            "does a firewall stand before it? Is it the right machine?",
        ) from None
    except OSError as error:
        raise unreached(where, error) from None


_MORE_PORTS = (
    "wait a minute, until closed connections let theirs go, or give the machine more: "
    "sysctl -w net.ipv4.ip_local_port_range='1024 65535'"
)
#: Why no connection was made, by the kernel's number: what it means, and how to fix it.
UNREACHED: Mapping[int | None, tuple[str, str]] = {
    errno.EADDRNOTAVAIL: ("no local port is left to connect from", _MORE_PORTS),
    errno.EMFILE: ("too many files are open here", "allow more: ulimit -n 65536"),
    errno.ENFILE: ("too many files are open on this machine", "raise sysctl fs.file-max"),
    errno.ENETUNREACH: ("no route leads there", "check the address: ip route get ADDRESS"),
    errno.EHOSTUNREACH: ("no route leads there", "check the address; is the machine up?"),
    errno.EACCES: ("it may not be opened", "run as its user, or as root"),
}


def unreached(where: Where, error: OSError) -> RefusedError:
    """Why no connection was made, as a fault for people."""
    if error.errno in UNREACHED and not _has_no_address(where, error):
        what, fix = UNREACHED[error.errno]
        return RefusedError(f"{where.authority}: {what}", fix)
    is_refused = isinstance(error, ConnectionRefusedError)
    why = "nothing listens" if is_refused else error.strerror or str(error)
    return RefusedError(f"{where.authority}: {why}", _listening(where))


def _has_no_address(where: Where, error: OSError) -> bool:
    """Whether it is the address that this machine has not, such as ::1 without IPv6."""
    return error.errno == errno.EADDRNOTAVAIL and not any(_sources(where.host).values())


def _listening(where: Where) -> str:
    """How to fix a port at which no one is."""
    if where.socket is not None:
        return "start the server, or give the path of its socket"
    here = ports.listening()
    named = ", ".join(map(str, here[:NAMED_MAX])) + (", …" if len(here) > NAMED_MAX else "")
    more = f"; ports that listen here: {named}" if here and is_here(where) else ""
    return f"start the server, or give its port{more}"


def is_here(where: Where) -> bool:
    """Whether it is on this machine: a unix socket, or all addresses with a route are ours."""
    if where.socket is not None:
        return True
    return all(map(_is_of_here, where.hosts))


def _is_of_here(host: str) -> bool:
    reached = [pair for pair in _sources(host).items() if pair[1]]
    return bool(reached) and all(map(_is_own, reached))


def _sources(host: str) -> dict[str, str]:
    """Addresses of a host, each with that from which this machine would send to it.

    Nothing is sent. "": no way leads there.
    """
    results: dict[str, str] = {}
    try:
        infos = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)
    except OSError:
        return {}
    for family, kind, number, _, address in infos:
        with contextlib.suppress(OSError), socket.socket(family, kind, number) as probe:
            results[str(address[0])] = ""
            probe.connect(address)
            results[str(address[0])] = str(probe.getsockname()[0])
    return results


def _is_own(pair: tuple[str, str]) -> bool:
    """Whether an address is this machine's: it sends to its own ones from there, or by loopback."""
    address, source = pair
    return address == source or ip_address(source.partition("%")[0]).is_loopback
