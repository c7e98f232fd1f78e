"""Where a service listens, as people type it: a URL, `host:port`, or the path of a unix socket.

The scheme says what is spoken there, by the names of the generator's targets. Without one it is not
told yet: `recognise` asks the server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from string import punctuation
from typing import Self
from urllib.parse import quote

from sojourn.errors import SpecFault
from sojourn.services.clients import queried

#: Other names of the generator's schemes, as people know them.
ALIASES = {
    "redis": "resp",
    "valkey": "resp",
    "valkeys": "rediss",
    "memcached": "memcache",
    "postgresql": "postgres",
}
SHOWN = {"resp": "redis"}  # protocols under the name that people know
#: Ports where none is given.
PORTS = {
    "http": 80,
    "https": 443,
    "h2c": 80,
    "h2": 443,
    "grpc": 50051,
    "grpcs": 443,
    "memcache": 11211,
    "memcache+udp": 11211,
    "resp": 6379,
    "rediss": 6379,
    "postgres": 5432,
}
ECHO = "echo"  # of `sojourn-serve`, which has no usual port
#: Ports that a URL may leave out, and that no Host names (RFC 9110, 4.2 and 7.2).
USUAL = {"http": 80, "h2c": 80, "https": 443, "h2": 443, "grpcs": 443}
#: What pages are asked in; the second half in HTTP/2.
HTTP = ("http", "https", "h2c", "h2")
GRPC = ("grpc", "grpcs")
HTTP2 = (*HTTP[2:], *GRPC)
#: What Redis and Valkey speak; the second over TLS.
RESP = ("resp", "rediss")
#: What is carried by TLS.
SECURED = ("https", "h2", "grpcs", "rediss")
POSTGRES = "postgres"
#: Whose URLs may name a user.
WITH_USER = (POSTGRES, *RESP)
EXAMPLES = "http://localhost:8080/, redis://localhost:6379, localhost:8080 or unix:/run/app.sock"
PORT_MAX = 65_535
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)")
_SINGLE = re.compile(
    rf"({'|'.join([*PORTS, *ALIASES]).replace('+', '[+]')}):/?(?![0-9/])", re.IGNORECASE
)
_UNIX = re.compile(r"unix:(?://)?(/.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """One server.

    Attributes:
        scheme: of the generator's target; "": not told.
        host: name or address, without brackets; "" for a unix socket.
        port: 0 for a unix socket.
        path: what follows; it names a database, or a page; "/": nothing was said.
        socket: the unix socket; None: it listens on a port.
        others: further servers that share the keys, as they were typed: `,host:port`; commas in a
            path are the path's own.
        user: who asks a database or a store; "": the generator's own choice.
        identity: files with the client's certificate and its key, for TLS; (): it has none.
    """

    scheme: str
    host: str = ""
    port: int = 0
    path: str = "/"
    socket: Path | None = None
    others: str = ""
    user: str = ""
    identity: tuple[str, ...] = ()

    @property
    def authority(self) -> str:
        """`localhost:8080`, `[::1]:80`, or the socket's path."""
        if self.socket is not None:
            return str(self.socket)
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}{self.others}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names or addresses of all its servers; none for a unix socket."""
        others = (_split(one, 1, one, "target")[0] for one in self.others.split(",") if one)
        return (self.host, *others) if self.host else ()

    @property
    def server_name(self) -> str:
        """As TLS names it: a socket has no name in the DNS."""
        return self.host or "localhost"

    @property
    def named(self) -> str:
        """What a request says whom it asks: `Host`, `:authority`; without zone and usual port."""
        if self.socket is not None:
            return "localhost"
        host = self.host.partition("%")[0] if ":" in self.host else self.host
        host = f"[{host}]" if ":" in host else host
        return host if self.port == USUAL.get(self.scheme) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """As the generator's target has it."""
        is_reported = self.path != "/" or self.scheme in (*HTTP, *GRPC, POSTGRES)
        path = self.path if is_reported else ""
        user = f"{self.user}@" if self.user else ""
        if self.socket is not None:
            return f"{shown(self.scheme)}://{user}unix:{self.socket}{f':{path}' if path else ''}"
        return f"{shown(self.scheme)}://{user}{self.authority}{path}"

    def speaking(self, scheme: str) -> Self:
        """The same where this is spoken."""
        return replace(self, scheme=scheme)

    def at(self, host: str) -> Self:
        """The same under another name or address."""
        return replace(self, host=host)


def parse(text: str, *, at: str) -> Where:
    """Read what was typed; nothing is looked up, and no one is asked.

    Args:
        text: the target.
        at: where it is, for the message.

    Raises:
        SpecFault: it is not a target; what is wrong with it, and one that is right.

    >>> parse("redis://cache", at="").url, parse("localhost:8080", at="").authority
    ('redis://cache:6379', 'localhost:8080')
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
    queried.check_query(text, at=at)  # first, because the other messages repeat the target
    if not text or any(not c.isprintable() or c.isspace() for c in text):
        raise _wrong(text, "it is empty" if not text else "it has a space in it", at)
    if match := _UNIX.fullmatch(text) or re.fullmatch(r"(/.+)", text):
        return Where(scheme="", socket=Path(match[1]))
    text = text.partition("#")[0]  # a fragment is for who reads the page: RFC 9110, 4.2.5
    scheme, rest = "", text
    if match := _URL.fullmatch(text):
        scheme, rest = match[1].lower(), match[2]
    elif _SINGLE.match(text):
        raise _wrong(text, "two slashes are missing behind its scheme", at)
    scheme = ALIASES.get(scheme, scheme)
    user, rest = _who(text, scheme, rest, at) if scheme in WITH_USER else ("", rest)
    if scheme and (match := _UNIX.fullmatch(rest)):
        socket, _, path = match[1].partition(":")
        return Where(scheme=scheme, socket=Path(socket), path=path or "/", user=user)
    cut = min((rest.find(mark) for mark in "/?" if mark in rest), default=len(rest))
    authority, path = rest[:cut], rest[cut:]
    if "@" in authority:
        raise _with_password(text, scheme, at)
    _, comma, others = authority.partition(",")
    if scheme and scheme not in {*PORTS, ECHO}:
        fix = f"name one of {', '.join(PORTS)}"
        raise _wrong(text, f"no protocol is called '{scheme}' here", at, fix=fix)
    try:
        host, port = _first(authority, PORTS.get(scheme, 0), text, at)
    except SpecFault:
        if "@" in path:  # a password with a slash: the message would repeat it
            raise _with_password(text, scheme, at) from None
        raise
    path = path if path.startswith("/") else f"/{path}"
    path = path if path.isascii() else quote(path, safe=punctuation)  # as browsers send it
    others = f"{comma}{others}"
    return Where(scheme=scheme, host=host, port=port, path=path, others=others, user=user)


def _who(text: str, scheme: str, rest: str, at: str) -> tuple[str, str]:
    """Who asks, and the rest, of `USER@HOST…`; a password there is refused, and not shown."""
    before, mark, behind = rest.partition("@")
    if not mark or "/" in before:
        return "", rest
    if ":" in before:
        raise _with_password(text, scheme, at)
    return before, behind


def shown(scheme: str) -> str:
    """A scheme as people type it.

    >>> shown("resp"), shown("rediss")
    ('redis', 'rediss')
    """
    return SHOWN.get(scheme, scheme)


def _with_password(text: str, scheme: str, at: str) -> SpecFault:
    """A password before the host, which no message repeats, or a name where none may be."""
    if scheme and scheme not in PORTS:
        fix = f"name one of {', '.join(PORTS)}, without a name or password"
        return _wrong(text, f"no protocol is called '{scheme}' here", at, fix=fix)
    has_user = scheme in WITH_USER
    where = "password:file:PATH" if has_user else "basic:env:NAME"
    what = "a password" if has_user else "a name or password"
    own = f"write {shown(scheme)}://USER@HOST" if has_user else "leave it out"
    fix = f"{own}, and say where it is: --auth {where}, in a study's [services.load] auth = …"
    return _wrong(text, f"{what} does not belong in it", at, fix=fix)


def _first(authority: str, default: int, text: str, at: str) -> tuple[str, int]:
    """Host and port of the first server; each of the others is looked at too."""
    first, *_ = [_split(one, default, text, at) for one in authority.split(",")]
    return first


def _split(authority: str, default: int, text: str, at: str) -> tuple[str, int]:
    """Host and port of `host:port`, `host`, `[::1]:port`."""
    match = re.fullmatch(r"\[([^\]]*)\](?::(.*))?|([^:]*)(?::([^:]*))?", authority)
    if not match:
        raise _wrong(text, f"'{authority}' is no HOST:PORT; an IPv6 address has brackets", at)
    host, port = match[1] or match[3] or "", match[2] if match[1] else match[4]
    host = host.replace("%25", "%", 1) if match[1] else host  # a zone in a URL: RFC 6874
    if not host:
        raise _wrong(text, "it names no host", at)
    host = _ascii(host, text, at)  # an empty label, or one of 64 letters, is no name
    port = port or None  # an empty one is the usual one: RFC 3986, 3.2.3
    if port is None and not default:
        raise _wrong(text, "it names no port", at)
    if port is not None and not (port.isascii() and port.isdigit() and 0 < int(port) <= PORT_MAX):
        raise _wrong(text, f"'{port}' is not a port from 1 to {PORT_MAX}", at)
    return host, int(port) if port else default


def _ascii(host: str, text: str, at: str) -> str:
    """A name as the network knows it.

    >>> _ascii("bücher.example", "", "")
    'xn--bcher-kva.example'
    """
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise _wrong(text, f"'{host}' is not a name of a host", at) from None


def _wrong(text: str, why: str, at: str, fix: str = "") -> SpecFault:
    return SpecFault(
        f"'{queried.hidden(text)}' is not a target: {why}", at=at, fix=fix or f"write {EXAMPLES}"
    )
