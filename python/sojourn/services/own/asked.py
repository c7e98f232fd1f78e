"""What is asked of a service of the user's own before any load, and in what order.

Three requests are made before any load. They say whether it is there at all, what it speaks,
whether it wants a password, and how long a right reply is. A reply of another length is not counted
as a success later: an empty page is answered fastest of all.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Self

from sojourn.errors import SpecFault
from sojourn.services.clients import connect, http_get, talk
from sojourn.services.clients.reach import RefusedError, is_here, reach
from sojourn.services.clients.where import GRPC, HTTP, HTTP2, POSTGRES, RESP, SECURED, Where
from sojourn.services.kind import Json
from sojourn.services.own.first_replies import (
    NUMBERS,
    REPLY_S,
    another_protocol,
    check_status,
    lacks_certificate,
    not_spoken,
    numbered,
    of_certificate,
    of_grpc,
    of_length,
    of_memcache,
    of_postgres,
    span_text,
    text_of,
    unanswered,
)
from sojourn.services.own.first_tries import Tries
from sojourn.services.own.proof import UNSTRETCHED_S, Proof
from sojourn.services.params import Param, Value
from sojourn.units import NS_PER_S, show_ns

BAD_REQUEST = 400  # what servers of TLS answer to a request without it
LEARN = -1  # of `expect_bytes`: as long as the first replies
BOUNDS = 2.0  # of a first reply: so many times as long as the study's bound
WANTS_PASSWORD = (b"-NOAUTH", b"-DENIED", b"-NOPERM", b"-WRONGPASS")  # of RESP
#: Keys of the generator's job that ask for something else than one GET of one path.
OTHERWISE = ("paths", "paths_file", "method", "body", "body_file", "header", "auth", "allow_empty")
KEYS = ("memcache", "memcache+udp", *RESP)  # schemes that have items

__all__ = ["PARAMS", "Asked", "RefusedError", "is_here", "is_plain", "of"]

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
    **dict.fromkeys(RESP, (talk.PING, (b"+PONG",))),
    "memcache": (talk.VERSION, (b"VERSION ",)),
    POSTGRES: (talk.SSL_REQUEST, talk.SSL_REPLIES),
}


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
        """The same, knowing what the study asks for otherwise, and its bound.

        Raises:
            SpecFault: the client's certificate and its key are of no use.
        """
        identity = tuple(str(load[name]) for name in ("cert", "key") if load.get(name))
        if why := connect.identity_doubt(identity):
            what = f"the certificate {identity[0]} with the key {identity[-1]}: {why}"
            fix = "give a certificate and its key, both in PEM: --cert FILE --key FILE"
            raise SpecFault(what, at="load.cert, load.key", fix=fix)
        return replace(self, is_plain=is_plain(load), bound_s=bound_s, identity=identity)

    def job(self, scheme: str, proof: Proof) -> Mapping[str, Json]:
        """Keys of the generator's job."""
        if scheme in HTTP:
            length = max(proof.bytes, self.expect_bytes)  # what the study says needs no proof
            own: dict[str, Json] = {"expect_bytes": length} if length > 0 else {}
            return {**own, "allow_empty": True} if self.expect_bytes == 0 else own
        if scheme not in KEYS:
            return {}
        sizes: dict[str, Json] = {"key_size": str(self.key_bytes)}
        return {**sizes, "value_size": str(self.value_bytes), "items": self.items}

    def status_not_taken(self, where: Where, within_s: float) -> str:
        """The status by which an HTTP server counts as not ready; "" if it has none."""
        try:
            if where.scheme not in HTTP or self.answers(where, within_s):
                return ""
            at = replace(where, identity=self.identity)
            got = http_get.get(at, numbered(where.path), within_s)
        except (OSError, http.client.HTTPException):
            return ""
        wanted = "from 200 to 299" if self.is_plain else "below 500"
        path = where.path.partition("?")[0]  # a query may hold a secret
        return f"GET {path} has status {got.status}, and one {wanted} is ready"

    def answers(self, where: Where, within_s: float) -> bool:
        """Whether it answers a request now."""
        where = replace(where, identity=self.identity)
        try:
            if where.scheme in HTTP:
                got = http_get.get(where, numbered(where.path), within_s)
                return got.status < 500 and (not self.is_plain or 200 <= got.status < 300)
            if where.scheme in GRPC:
                return talk.greets_in_http2(where, within_s)
            if where.scheme in FIRST_WORDS:
                words, replies = FIRST_WORDS[where.scheme]
                locked = () if self.is_plain else WANTS_PASSWORD  # the generator has it
                heard = talk.say(where, words, within_s, is_secured=where.scheme in SECURED)
                return heard.startswith((*replies, *locked))
            if where.scheme == "memcache+udp":
                return True  # the generator alone tells
            connect.connected(where, within_s).close()
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
        judge: Callable[[Where, Tries], Proof] | None = {
            **dict.fromkeys(HTTP, self._http),
            **dict.fromkeys(GRPC, of_grpc),
            **dict.fromkeys(RESP, self._resp),
            "memcache": of_memcache,
            POSTGRES: of_postgres,
        }.get(where.scheme)
        if judge is None:
            return Proof()
        proof = judge(where, tries := Tries())
        return replace(proof, facts=(*proof.facts, *tries.facts))

    def _http(self, where: Where, tries: Tries) -> Proof:
        replies = [self._reply(where, number, tries) for number in NUMBERS]
        typical_s = median(one.took_s for one in replies)
        slow = f"take about {show_ns(typical_s * NS_PER_S)} each"
        facts = (("replies", slow),) if typical_s > UNSTRETCHED_S else ()
        proof = self._judged(where, replies)
        return replace(proof, typical_s=typical_s, facts=(*proof.facts, *facts))

    def _judged(self, where: Where, replies: Sequence[http_get.Got]) -> Proof:
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
                    f"{where.url} answers with {span_text(lengths)}, not {self.expect_bytes} bytes",
                    "look at what it serves, or correct expect_bytes",
                )
            return of_length(self.expect_bytes, "as the study says")
        if lengths == [0]:
            raise RefusedError(
                f"{where.url} answers {replies[0].status} with an empty reply, "
                "which is not a success",
                "give a path that has a body; if empty is right, say so: expect_bytes = 0",
            )
        if len(lengths) == 1:
            return of_length(lengths[0], f"as the first {len(NUMBERS)} had")
        text = f"{span_text(lengths)}: they differ, so any length counts"
        return Proof(facts=(("replies", text),))

    def _resp(self, where: Where, tries: Tries) -> Proof:
        is_secured = where.scheme in SECURED
        heard = tries.heard(lambda: talk.say(where, talk.PING, is_secured=is_secured))
        if heard.startswith(WANTS_PASSWORD):
            if not self.is_plain:
                return Proof(facts=(("password", "asked for, and given by the generator"),))
            raise RefusedError(
                f"{where.url} needs a password: {text_of(heard)}",
                "say where it is: --auth password:file:PATH or password:env:NAME, in a study's "
                '[services.load] auth = "password:file:PATH"; or measure one without requirepass, '
                "on a port of its own",
            )
        if not heard and lacks_certificate(where):
            raise of_certificate(where)
        if not heard.startswith(b"+PONG"):
            raise not_spoken(where, f"PING is answered with {text_of(heard)}")
        return Proof()

    def _reply(self, where: Where, number: int, tries: Tries) -> http_get.Got:
        path = numbered(where.path, number)
        try:
            got = tries.again(lambda: http_get.get(where, path, self.within_s))
        except (http.client.HTTPException, OSError) as error:
            raise unanswered(where, error, self.within_s, tries.in_a_row) from None
        if got.status == BAD_REQUEST and another_protocol(where) == talk.TLS:
            raise not_spoken(where, f"status {got.status}")
        if self.is_plain:
            check_status(where, got)
        return got


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
