"""What the first replies of a service say, and why it is refused."""

from __future__ import annotations

import http.client

from sojourn.services.clients import http_get, talk
from sojourn.services.clients.reach import RefusedError
from sojourn.services.clients.where import HTTP2, PORTS, SECURED, Where
from sojourn.services.own.proof import Proof

REPLY_S = http_get.USUAL_S
NUMBERS = (0, 10, 100)  # of the items that are asked for first, because their lengths may differ
PLACES = ("{}", "{item}")  # of the item's number in a path


def of_length(length: int, why: str) -> Proof:
    """A proof that a right reply is so long."""
    return Proof(bytes=length, facts=(("replies", f"must have {length} bytes, {why}"),))


def span_text(lengths: list[int]) -> str:
    """The lengths of the first replies, for people."""
    return f"{lengths[0]} bytes" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]} bytes"


def check_status(where: Where, got: http_get.Got) -> None:
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


def of_grpc(where: Where) -> Proof:
    """Whether it speaks what gRPC is carried by; only a right call says more, and that is load."""
    try:
        is_there = talk.greets_in_http2(where, REPLY_S)
    except (http.client.HTTPException, OSError) as error:
        raise not_spoken(where, str(error) or type(error).__name__) from None
    if not is_there:
        raise not_spoken(where, "it does not greet in HTTP/2")
    return Proof(facts=(("calls", "status and message of each are checked by the generator"),))


def of_memcache(where: Where) -> Proof:
    """What it answers to `version`; RefusedError if it wants a password, or is no memcached."""
    heard = talk.say(where, talk.VERSION)
    if b"unauthenticated" in heard:
        raise RefusedError(
            f"{where.url} needs a password: {text_of(heard)}",
            "the generator does not log in: measure one without -Y and -S, on a port of its own",
        )
    if not heard.startswith(b"VERSION "):
        raise not_spoken(where, f"version is answered with {text_of(heard)}")
    version = heard.decode("ascii", "replace").removeprefix("VERSION ").strip()
    return Proof(facts=(("version", version.partition(" ")[0] or "unknown"),))


def of_postgres(where: Where) -> Proof:
    """Who may come in and what it answers is reported by the generator, which logs in."""
    heard = talk.say(where, talk.SSL_REQUEST)
    if heard not in talk.SSL_REPLIES:
        raise not_spoken(where, f"a first word is answered with {text_of(heard)}")
    return Proof()


def spoken_in(where: Where) -> str:
    """What a target is asked in, as `talk` names it."""
    plain = {"http": talk.HTTP, **dict.fromkeys(HTTP2, "http2")}.get(where.scheme, where.scheme)
    return talk.TLS if where.scheme in SECURED else plain


def another_protocol(where: Where) -> str:
    """The name in `talk.NAMES` of what a server speaks instead; "" if that cannot be known.

    >>> another_protocol(Where(scheme="http", host="127.0.0.1", port=0))
    ''
    """
    if "+udp" in where.scheme:
        return ""  # over TCP it may speak, and be asked, something else
    name, _ = talk.recognise(where)
    expected = {talk.HTTP, "http2"} if where.scheme in HTTP2 else {spoken_in(where)}
    return "" if name in expected else name


def scheme_of(name: str, where: Where) -> str:
    """The scheme of a protocol, as people type it; "" if the generator does not speak it."""
    secured = {"h2c": "h2", "grpc": "grpcs", "resp": "rediss"}.get(where.scheme, "https")
    scheme = {talk.TLS: secured, "http2": "h2c"}.get(name, name)
    return {"resp": "redis"}.get(scheme, scheme) if scheme in PORTS else ""


def not_spoken(where: Where, why: str) -> RefusedError:
    """It is there, and does not speak what it should: say what it looks like."""
    name, heard = talk.recognise(where)
    is_new, wanted = where.scheme in HTTP2, spoken_in(where)
    asked = "HTTP/2 over TLS" if is_new and wanted == talk.TLS else talk.NAMES.get(wanted, wanted)
    if not name:
        text = f"begins with {text_of(heard)}" if heard else "is silence"
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
    known = scheme_of(name, where)
    fix = f"try {where.speaking(known).url}" if known else "give another port"
    return RefusedError(
        f"{where.authority} does not speak {asked}, it looks like {talk.NAMES[name]}", fix
    )


def text_of(heard: bytes) -> str:
    """The first bytes, fit for a terminal."""
    return repr(heard[:40].decode("ascii", "backslashreplace")) if heard else "silence"


def numbered(path: str, number: int = 0) -> str:
    """A path as it is asked for an item: the generator puts its number where the places are.

    >>> numbered("/find?id={}", 10), numbered("/a")
    ('/find?id=10', '/a')
    """
    for place in PLACES:
        path = path.replace(place, str(number))
    return path
