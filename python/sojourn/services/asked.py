"""What is asked of a service of the user's own, and the proof that it is answered rightly.

Three requests are made before any load. They say whether it is there at all, what it speaks,
whether it wants a password, and how long a right reply is. A reply of another length is not counted
as a success later: an empty page is answered fastest of all.
"""

from __future__ import annotations

import errno
import http.client
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.places import ports
from sojourn.services import talk
from sojourn.services.kind import Json
from sojourn.services.params import Param, Value
from sojourn.services.where import GRPC, HTTP, HTTP2, PORTS, POSTGRES, SECURED, Where

LEARN = -1  # of `expect_bytes`: as long as the first replies
TRIES = 3
REPLY_S = 5.0
NAMED_MAX = 8
WANTS_PASSWORD = (b"-NOAUTH", b"-DENIED", b"-NOPERM", b"-WRONGPASS")  # of RESP
#: Keys of the generator's job that ask for something else than one GET of one path.
OTHERWISE = ("paths", "paths_file", "method", "body", "body_file", "header", "auth", "allow_empty")
KEYS = ("memcache", "memcache+udp", "resp")  # schemes that have items

PARAMS = (
    Param(
        name="expect_bytes",
        unit="bytes",
        about="length that an HTTP reply must have to count; -1: that of the first replies, if "
        "they agree; 0: any, an empty one too",
        default=LEARN,
        lo=LEARN,
        hi=1 << 40,
    ),
    Param(name="items", about="memcache, RESP: keys asked for", default=10_000, lo=1, hi=1 << 31),
    Param(
        name="key_bytes", unit="bytes", about="memcache, RESP: key size", default=30, lo=4, hi=250
    ),
    Param(
        name="value_bytes", unit="bytes", about="memcache, RESP: value size", default=200, lo=1,
        hi=1_000_000,
    ),
    Param(
        name="warm_requests",
        about="requests as fast as it answers before anything is measured, for caches and "
        "compilers that warm up",
        default=0,
        lo=0,
        hi=100_000_000,
    ),
)  # fmt: skip


#: What is said to a server to see whether it answers, and how its reply begins.
FIRST_WORDS: Mapping[str, tuple[bytes, tuple[bytes, ...]]] = {
    "resp": (talk.PING, (b"+PONG",)),
    "memcache": (talk.VERSION, (b"VERSION ",)),
    POSTGRES: (talk.SSL_REQUEST, talk.SSL_REPLIES),
}


class RefusedError(Exception):
    """It is not as it must be: what is wrong, and how to mend it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What the first replies showed.

    Attributes:
        bytes: length of a right reply; 0: any length is.
        facts: for people.
    """

    bytes: int = 0
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for.

    Attributes:
        expect_bytes: as the study has it.
        is_preloaded: the items are set first.
        is_plain: HTTP: nothing but GETs of one path, whose replies can be compared.
    """

    expect_bytes: int = LEARN
    items: int = 10_000
    key_bytes: int = 30
    value_bytes: int = 200
    is_preloaded: bool = False
    is_plain: bool = True

    def job(self, scheme: str, proof: Proof) -> Mapping[str, Json]:
        """Keys of the generator's job."""
        if scheme in HTTP:
            own: dict[str, Json] = {"expect_bytes": proof.bytes} if proof.bytes else {}
            return {**own, "allow_empty": True} if self.expect_bytes == 0 else own
        if scheme not in KEYS:
            return {}
        sizes: dict[str, Json] = {"key_size": str(self.key_bytes)}
        return {**sizes, "value_size": str(self.value_bytes), "items": self.items}

    def answers(self, where: Where, within_s: float) -> bool:
        """Whether it answers a request now."""
        try:
            if where.scheme in HTTP:
                got = talk.get(where, where.path, within_s)
                return got.status < 500 and (not self.is_plain or 200 <= got.status < 300)
            if where.scheme in GRPC:
                return talk.greets_in_http2(where, within_s)
            if where.scheme in FIRST_WORDS:
                words, replies = FIRST_WORDS[where.scheme]
                locked = () if self.is_plain else WANTS_PASSWORD  # the generator has it
                return talk.say(where, words, within_s).startswith((*replies, *locked))
            if where.scheme == "memcache+udp":
                return True  # the generator alone tells
            talk.connected(where, within_s).close()
        except (OSError, http.client.HTTPException):
            return False
        return True

    def prove(self, where: Where) -> Proof:
        """Ask a few times, and look at what comes back.

        Raises:
            RefusedError: it is not there, speaks something else, wants a password, or answers with
                an error or with nothing.
        """
        if where.scheme == "memcache+udp":
            return Proof()
        _reach(where)
        judge: Callable[[Where], Proof] | None = {
            **dict.fromkeys(HTTP, self._http), **dict.fromkeys(GRPC, _grpc), "resp": self._resp,
            "memcache": _memcache, POSTGRES: _postgres,
        }.get(where.scheme)  # fmt: skip
        return judge(where) if judge else Proof()

    def _http(self, where: Where) -> Proof:
        found = [self._reply(where) for _ in range(TRIES)]
        if not self.is_plain:
            spoken = "HTTP/2" if where.scheme in HTTP2 else "HTTP/1"
            return Proof(
                facts=(("replies", f"{spoken}, status {found[-1].status} to a plain GET"),)
            )
        lengths = sorted({one.body_bytes for one in found})
        if self.expect_bytes == 0:
            return Proof(facts=(("replies", "of any length count, empty ones too"),))
        if self.expect_bytes > 0:
            if lengths != [self.expect_bytes]:
                raise RefusedError(
                    f"{where.url} answers with {_span(lengths)}, not {self.expect_bytes} bytes",
                    "look at what it serves, or mend expect_bytes",
                )
            return _exactly(self.expect_bytes, "as the study says")
        if lengths == [0]:
            raise RefusedError(
                f"{where.url} answers {found[0].status} with nothing: an empty reply is no success",
                "give a path that has a body; if empty is right, say so: expect_bytes = 0",
            )
        if len(lengths) == 1:
            return _exactly(lengths[0], f"as the first {TRIES} had")
        text = f"{_span(lengths)}: they differ, so any length counts"
        return Proof(facts=(("replies", text),))

    def _resp(self, where: Where) -> Proof:
        heard = talk.say(where, talk.PING)
        if heard.startswith(WANTS_PASSWORD):
            if not self.is_plain:
                return Proof(facts=(("password", "asked for, and given by the generator"),))
            raise RefusedError(
                f"{where.url} wants a password: {_shown(heard)}",
                'say where it is in [services.load]: auth = "password:file:PATH" or '
                '"password:env:NAME"; or measure one without requirepass, on a port of its own',
            )
        if not heard.startswith(b"+PONG"):
            raise _other(where, f"PING is answered with {_shown(heard)}")
        return Proof()

    def _reply(self, where: Where) -> talk.Got:
        try:
            got = talk.get(where, where.path, REPLY_S)
        except (http.client.HTTPException, OSError) as error:
            raise _other(where, str(error) or type(error).__name__) from None
        if self.is_plain:
            _judge(where, got)
        return got


def _exactly(length: int, why: str) -> Proof:
    return Proof(bytes=length, facts=(("replies", f"must have {length} bytes, {why}"),))


def _span(lengths: list[int]) -> str:
    return f"{lengths[0]} bytes" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]} bytes"


def _judge(where: Where, got: talk.Got) -> None:
    """Refuse a status that the generator would count as an error."""
    at = where.url
    if got.status in {401, 403, 407}:
        wants = f" ({got.wants})" if got.wants else ""
        raise RefusedError(
            f"{at} wants to know who asks: status {got.status}{wants}",
            'say what it wants in [services.load]: auth = "basic:env:NAME", "bearer:file:PATH", '
            'or header = ["NAME: VALUE"]; or let it serve this path without',
        )
    if 300 <= got.status < 400:
        raise RefusedError(
            f"{at} sends elsewhere: status {got.status} to {got.location or 'nowhere'}",
            f"ask for {got.location} itself" if got.location else "ask for another path",
        )
    if not 200 <= got.status < 300:
        raise RefusedError(
            f"{at} answers with status {got.status}",
            "give the path of a page that is there" if got.status in {404, 410}
            else "see the server's own log: it must answer one request before it gets many",
        )  # fmt: skip


def _grpc(where: Where) -> Proof:
    """Whether it speaks what gRPC is carried by; only a right call says more, and that is load."""
    try:
        is_there = talk.greets_in_http2(where, REPLY_S)
    except (http.client.HTTPException, OSError) as error:
        raise _other(where, str(error) or type(error).__name__) from None
    if not is_there:
        raise _other(where, "it does not greet in HTTP/2")
    return Proof(facts=(("calls", "status and message of each are checked by the generator"),))


def _memcache(where: Where) -> Proof:
    heard = talk.say(where, talk.VERSION)
    if b"unauthenticated" in heard:
        raise RefusedError(
            f"{where.url} wants a password: {_shown(heard)}",
            "the generator does not log in: measure one without -Y and -S, on a port of its own",
        )
    if not heard.startswith(b"VERSION "):
        raise _other(where, f"version is answered with {_shown(heard)}")
    version = heard.decode("ascii", "replace").removeprefix("VERSION ").strip()
    return Proof(facts=(("version", version.partition(" ")[0] or "not said"),))


def _postgres(where: Where) -> Proof:
    """Who may come in and what it answers is said by the generator, which logs in."""
    heard = talk.say(where, talk.SSL_REQUEST)
    if heard not in talk.SSL_REPLIES:
        raise _other(where, f"a first word is answered with {_shown(heard)}")
    return Proof()


def _other(where: Where, why: str) -> RefusedError:
    """It is there, and does not speak what it should: say what it looks like."""
    name, heard = talk.recognise(where)
    is_new = where.scheme in HTTP2
    plain = {"http": talk.HTTP, **dict.fromkeys(HTTP2, "http2")}.get(where.scheme, where.scheme)
    wanted = talk.TLS if where.scheme in SECURED else plain
    asked = "HTTP/2 over TLS" if is_new and wanted == talk.TLS else talk.NAMES.get(wanted, plain)
    if not name:
        said = f"begins with {_shown(heard)}" if heard else "is silence"
        return RefusedError(
            f"{where.authority} does not speak {asked}: {why}; what it says {said}",
            "give the scheme of what it speaks: " + ", ".join(PORTS),
        )
    if name == wanted:
        return RefusedError(
            f"{where.url} {'was asked in' if is_new else 'speaks'} {asked}, but does not answer as "
            f"it should: {why}",
            "see the server's own log: it must answer one request before it gets many",
        )
    secured = {"h2c": "h2", "grpc": "grpcs"}.get(where.scheme, "https")
    scheme = {talk.TLS: secured, "http2": "h2c"}.get(name, name)
    known = {"resp": "redis"}.get(scheme, scheme)  # as people type it
    fix = f"try {where.speaking(known).url}" if scheme in PORTS else "give another port"
    return RefusedError(
        f"{where.authority} does not speak {asked}, it looks like {talk.NAMES[name]}", fix
    )


def _reach(where: Where) -> None:
    """Connect once; RefusedError says why that is not possible."""
    try:
        talk.connected(where).close()
    except socket.gaierror:
        what, fix = f"the name '{where.host}' stands for no address", "check the spelling"
        raise RefusedError(what, fix) from None
    except TimeoutError:
        raise RefusedError(
            f"{where.authority} does not take a connection within {talk.CONNECT_S:g} s",
            "does a firewall stand before it? Is it the right machine?",
        ) from None
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise RefusedError(
                f"{where.authority}: this machine has no local port left for a connection to it",
                "wait a minute for closed ones (TIME_WAIT, `ss -tan state time-wait`), or widen "
                "net.ipv4.ip_local_port_range",
            ) from None
        why = "nothing listens" if isinstance(error, ConnectionRefusedError) else error.strerror
        raise RefusedError(f"{where.authority}: {why}", _listening(where)) from None


def _listening(where: Where) -> str:
    """How to mend a port at which nobody is."""
    if where.socket is not None:
        return "start the server, or give the path of its socket"
    here = ports.listening()
    named = ", ".join(map(str, here[:NAMED_MAX])) + (", …" if len(here) > NAMED_MAX else "")
    more = f"; ports that listen here: {named}" if here and is_here(where) else ""
    return f"start the server, or give its port{more}"


def is_here(where: Where) -> bool:
    """Whether it is on this machine: a unix socket, or an address that one can bind to."""
    if where.socket is not None:
        return True
    try:
        found = socket.getaddrinfo(where.host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, number, _, address in found:
        try:
            with socket.socket(family, kind, number) as probe:
                probe.bind(address)
        except OSError:
            continue
        return True
    return False


def reachable(where: Where) -> Where:
    """The same under the address that answers, where the first that its name stands for does not.

    `localhost` is often `::1` first, and the server on 127.0.0.1 alone; the generator takes the
    first.
    """
    if where.socket is not None or where.others:
        return where
    try:
        found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM)
        with talk.connected(where) as connection:
            reached = str(connection.getpeername()[0])
    except OSError:
        return where
    return where if reached == found[0][4][0] else where.at(reached)


def of(got: Mapping[str, Value], load: Mapping[str, Any], *, is_preloaded: bool) -> Asked:
    """What settled parameters ask for.

    Args:
        got: of `PARAMS`.
        load: keys of the generator's job that the study gives.
        is_preloaded: the items are set first.
    """
    return Asked(
        expect_bytes=int(got["expect_bytes"]),
        items=int(got["items"]),
        key_bytes=int(got["key_bytes"]),
        value_bytes=int(got["value_bytes"]),
        is_preloaded=is_preloaded,
        is_plain=is_plain(load),
    )


def is_plain(load: Mapping[str, Any]) -> bool:
    """Whether nothing in a study's load asks for more than one path by GET, or checks itself."""
    return not any(key in load for key in (*OTHERWISE, "option")) and not any(
        key.startswith("expect_") for key in load
    )


def _shown(heard: bytes) -> str:
    """The first bytes, fit for a terminal."""
    return repr(heard[:40].decode("ascii", "backslashreplace")) if heard else "silence"
