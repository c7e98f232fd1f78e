"""Where a service listens, as people type it: a URL, `host:port`, or the path of a unix socket.

The scheme says what is spoken there, by the names of the generator's targets. Without one it is not
told yet: `recognise` asks the server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from sojourn.errors import SpecFault

#: Other names of the generator's schemes, as people know them.
ALIASES = {
    "redis": "resp", "valkey": "resp", "memcached": "memcache", "postgresql": "postgres",
}  # fmt: skip
#: Ports where none is given.
PORTS = {
    "http": 80, "https": 443, "h2c": 80, "h2": 443, "grpc": 50051, "grpcs": 443, "memcache": 11211,
    "memcache+udp": 11211, "resp": 6379, "postgres": 5432,
}  # fmt: skip
#: What pages are asked in; the second half in HTTP/2.
HTTP = ("http", "https", "h2c", "h2")
GRPC = ("grpc", "grpcs")
HTTP2 = (*HTTP[2:], *GRPC)
#: What is carried by TLS.
SECURED = ("https", "h2", "grpcs")
POSTGRES = "postgres"
EXAMPLES = "http://localhost:8080/, redis://localhost:6379, localhost:8080 or unix:/run/app.sock"
PORT_MAX = 65_535
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)")
_UNIX = re.compile(r"unix:(?://)?(/.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """One server.

    Attributes:
        scheme: of the generator's target; "": not told.
        host: name or address, without brackets; "" for a unix socket.
        port: 0 for a unix socket.
        path: what follows, for HTTP and gRPC, or names a database.
        socket: the unix socket; None: it listens on a port.
        others: further servers that share the keys, as they were typed: `,host:port`.
        user: who asks a database; "": the generator's own choice.
    """

    scheme: str
    host: str = ""
    port: int = 0
    path: str = "/"
    socket: Path | None = None
    others: str = ""
    user: str = ""

    @property
    def authority(self) -> str:
        """`localhost:8080`, `[::1]:80`, or the socket's path."""
        if self.socket is not None:
            return str(self.socket)
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}{self.others}"

    @property
    def url(self) -> str:
        """As the generator's target has it."""
        path = self.path if self.scheme in (*HTTP, *GRPC, POSTGRES) else ""
        user = f"{self.user}@" if self.user else ""
        if self.socket is not None:
            return f"{self.scheme}://{user}unix:{self.socket}{f':{path}' if path else ''}"
        return f"{self.scheme}://{user}{self.authority}{path}"

    def speaking(self, scheme: str) -> Self:
        """The same where this is spoken."""
        return replace(self, scheme=scheme)

    def at(self, host: str) -> Self:
        """The same under another name or address."""
        return replace(self, host=host)


def parse(text: str, *, at: str) -> Where:
    """Read what was typed; nothing is looked up, and nobody is asked.

    Args:
        text: the target.
        at: where it stands, for the message.

    Raises:
        SpecFault: it is no target; what is wrong with it, and one that is right.

    >>> parse("redis://cache", at="").url, parse("localhost:8080", at="").authority
    ('resp://cache:6379', 'localhost:8080')
    >>> parse("http://[::1]:8080/a?b=c", at="").url
    'http://[::1]:8080/a?b=c'
    >>> parse("http://unix:/run/app.sock:/a", at="").url
    'http://unix:/run/app.sock:/a'
    >>> parse("postgresql://me@db/shop", at="").url
    'postgres://me@db:5432/shop'
    >>> parse("grpc://h/pkg.Service/Method", at="").url
    'grpc://h:50051/pkg.Service/Method'
    """
    text = text.strip()
    if not text or any(not c.isprintable() or c.isspace() for c in text):
        raise _wrong(text, "it is empty" if not text else "it has a space in it", at)
    if found := _UNIX.fullmatch(text) or re.fullmatch(r"(/.+)", text):
        return Where(scheme="", socket=Path(found[1]))
    scheme, rest = "", text
    if found := _URL.fullmatch(text):
        scheme, rest = found[1].lower(), found[2]
    scheme = ALIASES.get(scheme, scheme)
    user, rest = _who(text, rest, at) if scheme == POSTGRES else ("", rest)
    if scheme and (found := _UNIX.fullmatch(rest)):
        socket, _, path = found[1].partition(":")
        return Where(scheme=scheme, socket=Path(socket), path=path or "/", user=user)
    cut = min((rest.find(mark) for mark in "/?#" if mark in rest), default=len(rest))
    authority, path = rest[:cut], rest[cut:].partition("#")[0]
    if "@" in authority:
        why = "a name and password do not stand in it"
        raise _wrong(text, why, at, fix="leave them out; what the server wants is said by load")
    first, comma, others = authority.partition(",")
    host, port = _split(first, PORTS.get(scheme, 0), text, at)
    path = path if path.startswith("/") else f"/{path}"
    others = f"{comma}{others}"
    return Where(scheme=scheme, host=host, port=port, path=path, others=others, user=user)


def _who(text: str, rest: str, at: str) -> tuple[str, str]:
    """Who asks, and the rest, of `USER@HOST…`; a password there is refused, and not shown."""
    before, mark, behind = rest.partition("@")
    if not mark or "/" in before:
        return "", rest
    if ":" in before:
        text = text.replace(before, before.partition(":")[0] + ":…", 1)
        fix = 'leave it out, and say in [services.load]: auth = "password:file:PATH"'
        raise _wrong(text, "a password does not stand in it", at, fix=fix)
    return before, behind


def _split(authority: str, default: int, text: str, at: str) -> tuple[str, int]:
    """Host and port of `host:port`, `host`, `[::1]:port`."""
    found = re.fullmatch(r"\[([^\]]*)\](?::(.*))?|([^:]*)(?::([^:]*))?", authority)
    if not found:
        raise _wrong(text, f"'{authority}' is no HOST:PORT; an IPv6 address has brackets", at)
    host, port = found[1] or found[3] or "", found[2] if found[1] else found[4]
    if not host:
        raise _wrong(text, "it names no host", at)
    if port is None and not default:
        raise _wrong(text, "it names no port", at)
    if port is not None and not (port.isascii() and port.isdigit() and 0 < int(port) <= PORT_MAX):
        raise _wrong(text, f"'{port}' is no port from 1 to {PORT_MAX}", at)
    return host, int(port) if port else default


def _wrong(text: str, why: str, at: str, fix: str = "") -> SpecFault:
    return SpecFault(f"'{text}' is no target: {why}", at=at, fix=fix or f"write {EXAMPLES}")
