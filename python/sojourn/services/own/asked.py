"""What is asked of a service of the user's own, and the proof that it is answered rightly.

Three requests are made before any load. They say whether it is there at all, what it speaks,
whether it wants a password, and how long a right reply is. A reply of another length is not counted
as a success later: an empty page is answered fastest of all.
"""

from __future__ import annotations

import http.client
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Self

from sojourn.services.clients import talk
from sojourn.services.clients.reach import UNREACHED, RefusedError, is_here, reach, unreached
from sojourn.services.clients.where import GRPC, HTTP, HTTP2, PORTS, POSTGRES, SECURED, Where
from sojourn.services.kind import Json
from sojourn.services.params import Param, Value
from sojourn.units import NS_PER_S, show_ns

LEARN = -1  # of `expect_bytes`: as long as the first replies
TRIES = 3
REPLY_S = talk.USUAL_S
PATIENCE = 10.0  # of a request under load: so many times as long as a reply of a service at rest
BOUNDS = 2.0  # of a first reply: so many times as long as the study's bound
UNSTRETCHED_S = 0.3  # replies that take longer need points that last longer
STRETCH_MAX = 20.0
WANTS_PASSWORD = (b"-NOAUTH", b"-DENIED", b"-NOPERM", b"-WRONGPASS")  # of RESP
#: Keys of the generator's job that ask for something else than one GET of one path.
OTHERWISE = ("paths", "paths_file", "method", "body", "body_file", "header", "auth", "allow_empty")
KEYS = ("memcache", "memcache+udp", "resp")  # schemes that have items

__all__ = ["PARAMS", "Asked", "Proof", "RefusedError", "is_here", "is_plain", "of"]

PARAMS = (
    Param(
        name="expect_bytes",
        unit="bytes",
        about="required length of an HTTP reply; -1: that of the first replies, if "
        "they agree; 0: any, an empty one too",
        default=LEARN,
        lo=LEARN,
        hi=1 << 40,
    ),
    Param(name="items", about="memcache, RESP: number of keys", default=10_000, lo=1, hi=1 << 31),
    Param(
        name="key_bytes", unit="bytes", about="memcache, RESP: key size", default=30, lo=4, hi=250
    ),
    Param(
        name="value_bytes",
        unit="bytes",
        about="memcache, RESP: value size",
        default=200,
        lo=1,
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
)


#: What is said to a server to see whether it answers, and how its reply begins.
FIRST_WORDS: Mapping[str, tuple[bytes, tuple[bytes, ...]]] = {
    "resp": (talk.PING, (b"+PONG",)),
    "memcache": (talk.VERSION, (b"VERSION ",)),
    POSTGRES: (talk.SSL_REQUEST, talk.SSL_REPLIES),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What the first replies showed.

    Attributes:
        bytes: length of a right reply; 0: any length is.
        typical_s: how long a reply took, s: the middle one; 0: nothing that takes time was asked.
        facts: for people.
    """

    bytes: int = 0
    typical_s: float = 0.0
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def reply_s(self) -> float:
        """How long a request may take under load, s; 0: no longer than those of others."""
        return PATIENCE * self.typical_s

    @property
    def stretch(self) -> float:
        """How many times as long as usual a point must last for some replies to come in it.

        >>> [Proof(typical_s=s).stretch for s in (0.01, 3.0, 100.0)]
        [1.0, 10.0, 20.0]
        """
        return min(STRETCH_MAX, max(1.0, float(math.ceil(self.typical_s / UNSTRETCHED_S))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for.

    Attributes:
        expect_bytes: as the study has it.
        is_preloaded: the items are set first.
        is_plain: HTTP: nothing but GETs of one path, whose replies can be compared.
        bound_s: of the QoS target, s; 0: there is none, or it is measured.
        identity: files with the client's certificate and its key; (): it has none.
    """

    expect_bytes: int = LEARN
    items: int = 10_000
    key_bytes: int = 30
    value_bytes: int = 200
    is_preloaded: bool = False
    is_plain: bool = True
    bound_s: float = 0.0
    identity: tuple[str, ...] = ()

    @property
    def within_s(self) -> float:
        """How long the first replies may take, s."""
        return max(REPLY_S, BOUNDS * self.bound_s)

    def examined(self, load: Mapping[str, Any], bound_s: float) -> Self:
        """The same, knowing what the study asks for otherwise, and its bound."""
        identity = tuple(str(load[name]) for name in ("cert", "key") if load.get(name))
        return replace(self, is_plain=is_plain(load), bound_s=bound_s, identity=identity)

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
        where = replace(where, identity=self.identity)
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
        where = replace(where, identity=self.identity)
        if where.scheme == "memcache+udp":
            return Proof()
        reach(where)
        judge: Callable[[Where], Proof] | None = {
            **dict.fromkeys(HTTP, self._http),
            **dict.fromkeys(GRPC, _grpc),
            "resp": self._resp,
            "memcache": _memcache,
            POSTGRES: _postgres,
        }.get(where.scheme)
        return judge(where) if judge else Proof()

    def _http(self, where: Where) -> Proof:
        replies = [self._reply(where) for _ in range(TRIES)]
        typical_s = median(one.took_s for one in replies)
        slow = f"take about {show_ns(typical_s * NS_PER_S)} each"
        facts = (("replies", slow),) if typical_s > UNSTRETCHED_S else ()
        proof = self._judged(where, replies)
        return replace(proof, typical_s=typical_s, facts=(*proof.facts, *facts))

    def _judged(self, where: Where, replies: Sequence[talk.Got]) -> Proof:
        """What the lengths of the first replies say; RefusedError where they are not right."""
        if not self.is_plain:
            spoken = "HTTP/2" if where.scheme in HTTP2 else "HTTP/1"
            return Proof(
                facts=(("replies", f"{spoken}, status {replies[-1].status} to a plain GET"),)
            )
        lengths = sorted({one.body_bytes for one in replies})
        if self.expect_bytes == 0:
            return Proof(facts=(("replies", "of any length count, empty ones too"),))
        if self.expect_bytes > 0:
            if lengths != [self.expect_bytes]:
                raise RefusedError(
                    f"{where.url} answers with {_span(lengths)}, not {self.expect_bytes} bytes",
                    "look at what it serves, or correct expect_bytes",
                )
            return _exactly(self.expect_bytes, "as the study says")
        if lengths == [0]:
            raise RefusedError(
                f"{where.url} answers {replies[0].status} with an empty reply, "
                "which is not a success",
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
                f"{where.url} needs a password: {_shown(heard)}",
                'say where it is in [services.load]: auth = "password:file:PATH" or '
                '"password:env:NAME"; or measure one without requirepass, on a port of its own',
            )
        if not heard.startswith(b"+PONG"):
            raise _other(where, f"PING is answered with {_shown(heard)}")
        return Proof()

    def _reply(self, where: Where) -> talk.Got:
        try:
            got = talk.get(where, where.path, self.within_s)
        except (http.client.HTTPException, OSError) as error:
            raise self._unanswered(where, error) from None
        if self.is_plain:
            _judge(where, got)
        return got

    def _unanswered(self, where: Where, error: Exception) -> RefusedError:
        """It took a connection, and no reply came."""
        if isinstance(error, OSError) and error.errno in UNREACHED:
            return unreached(where, error)
        is_cut = where.scheme in SECURED and not isinstance(error, TimeoutError)
        if is_cut and "certificate required" in f"{error} {talk.refusal(where)}":
            return RefusedError(
                f"{where.url} asks for the client's certificate",
                "give one: --cert FILE --key FILE, in a study's [services.load] cert and key",
            )
        if not isinstance(error, TimeoutError):
            return _other(where, str(error) or type(error).__name__)
        name, heard = talk.recognise(where)
        if heard and name != _wanted(where):
            return _other(where, "it gives no reply")
        why = str(error)
        late = why if "does not end" in why else f"has not answered within {self.within_s:g} s"
        return RefusedError(
            f"{where.url} {late}",
            'if it takes so long, say how long it may: --bound 30s, in a study bound = "30s"; '
            "else see the server's own log",
        )


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
            f"{at} needs credentials: status {got.status}{wants}",
            "say who asks: --auth basic:env:NAME or bearer:file:PATH, in a study's [services.load] "
            'auth = "basic:env:NAME" or header = ["NAME: VALUE"]; or serve this path without',
        )
    if 300 <= got.status < 400:
        raise RefusedError(
            f"{at} redirects: status {got.status} to {got.location or 'nowhere'}",
            f"ask for {got.location} itself" if got.location else "ask for another path",
        )
    if not 200 <= got.status < 300:
        raise RefusedError(
            f"{at} answers with status {got.status}",
            "give the path of a page that is there"
            if got.status in {404, 410}
            else "see the server's own log: it must answer one request before it gets many",
        )


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
            f"{where.url} needs a password: {_shown(heard)}",
            "the generator does not log in: measure one without -Y and -S, on a port of its own",
        )
    if not heard.startswith(b"VERSION "):
        raise _other(where, f"version is answered with {_shown(heard)}")
    version = heard.decode("ascii", "replace").removeprefix("VERSION ").strip()
    return Proof(facts=(("version", version.partition(" ")[0] or "unknown"),))


def _postgres(where: Where) -> Proof:
    """Who may come in and what it answers is reported by the generator, which logs in."""
    heard = talk.say(where, talk.SSL_REQUEST)
    if heard not in talk.SSL_REPLIES:
        raise _other(where, f"a first word is answered with {_shown(heard)}")
    return Proof()


def _wanted(where: Where) -> str:
    """What a target is asked in, as `talk` names it."""
    plain = {"http": talk.HTTP, **dict.fromkeys(HTTP2, "http2")}.get(where.scheme, where.scheme)
    return talk.TLS if where.scheme in SECURED else plain


def _other(where: Where, why: str) -> RefusedError:
    """It is there, and does not speak what it should: say what it looks like."""
    name, heard = talk.recognise(where)
    is_new, wanted = where.scheme in HTTP2, _wanted(where)
    asked = "HTTP/2 over TLS" if is_new and wanted == talk.TLS else talk.NAMES.get(wanted, wanted)
    if not name:
        text = f"begins with {_shown(heard)}" if heard else "is silence"
        return RefusedError(
            f"{where.authority} does not speak {asked}: {why}; what it says {text}",
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
