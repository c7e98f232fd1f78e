"""What the first replies of a service say, and why it is refused."""

from __future__ import annotations

import http.client

from sojourn.services.clients import http_get, queried, talk
from sojourn.services.clients.reach import UNREACHED, RefusedError, unreached
from sojourn.services.clients.where import HTTP2, PORTS, SECURED, Where, shown
from sojourn.services.own.first_tries import Tries
from sojourn.services.own.proof import Proof

REPLY_S = http_get.USUAL_S
NUMBERS = (0, 10, 100)  # of the items that are asked for first, because their lengths may differ
REDIRECTS = (301, 302, 303, 307, 308)
PLACES = ("{}", "{item}")  # of the item's number in a path

LOG = "see the server's own log: it must answer one request before it gets many"
UNSUPPORTED_TYPE = 415  # what gRPC answers to a plain GET ("gRPC over HTTP2", responses)
PROXY_AUTHENTICATION = 407  # for the next hop: `Authorization` does not count there (RFC 9110)
CERTIFICATE = "certificate required"  # in the alert, RFC 8446, 6.2
_CALL = "if it speaks gRPC, name a call: grpc://HOST:PORT/PACKAGE.SERVICE/METHOD"
_NO_PAGE = "give the path of a page that is there"
_OTHERWISE = (
    "say what it is to be asked: --method POST --header 'Content-Type: application/json' "
    "--body '{…}', in a study's [services.load] method, header and body"
)
#: What helps against a status; LOG against any other.
_FIXES = {
    **dict.fromkeys((404, 410), _NO_PAGE),
    **dict.fromkeys((400, 405, 411, 415, 422), _OTHERWISE),
    426: "it wants another protocol: try h2c:// or https://, or serve this path in HTTP/1.1",
    503: "it takes no requests now: see its log, and what limits requests or connections before it",
    429: "it limits requests: raise its limit for this client, and wait until it answers again",
}

#: What helps where a server speaks what the generator does not.
OTHERS = {
    talk.MEMCACHE_BINARY: "let it speak text: start memcached without -B binary and without -S",
}


def of_length(length: int, why: str) -> Proof:
    """A proof that a right reply is so long."""
    return Proof(bytes=length, facts=(("replies", f"must have {length} bytes, {why}"),))


def span_text(lengths: list[int]) -> str:
    """The lengths of the first replies, for people."""
    return f"{lengths[0]} bytes" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]} bytes"


def check_status(where: Where, got: http_get.Got) -> None:
    """Refuse a status that the generator would count as an error."""
    at = where.url
    if got.status == 401 and got.wants and not any(map(_is_spoken, got.wants.split(","))):
        scheme = got.wants.split(maxsplit=1)[0]
        raise RefusedError(
            f"{at} needs credentials: status 401, and takes only {scheme}",
            "let it take Basic or Bearer (--auth basic:env:NAME or bearer:file:PATH); or serve "
            "this path without",
        )
    if got.status == PROXY_AUTHENTICATION:
        raise RefusedError(
            f"{at} is behind a proxy that needs credentials: status {got.status}",
            "give them: --header 'Proxy-Authorization: env:NAME', in a study's [services.load] "
            'header = ["Proxy-Authorization: env:NAME"]; or measure the service itself',
        )
    if got.status in {401, 403}:
        wants = f" ({got.wants})" if got.wants else ""
        raise RefusedError(
            f"{at} needs credentials: status {got.status}{wants}",
            "say who asks: --auth basic:env:NAME or bearer:file:PATH, in a study's [services.load] "
            'auth = "basic:env:NAME" or header = ["NAME: VALUE"]; or serve this path without',
        )
    if got.status in REDIRECTS and got.location:
        to = queried.shown(got.location)
        raise RefusedError(f"{at} redirects: status {got.status} to {to}", f"ask for {to} itself")
    if not 200 <= got.status < 300:
        fix = _FIXES.get(got.status, LOG)
        if got.status == UNSUPPORTED_TYPE and where.scheme in HTTP2:
            fix = f"{_CALL}; else {fix}"
        raise RefusedError(f"{at} answers with status {got.status}", fix)


def _is_spoken(challenge: str) -> bool:
    """Whether the generator can answer a challenge, or a part of one."""
    return challenge.strip().lower().startswith(("basic", "bearer"))


def lacks_certificate(where: Where, why: str = "") -> bool:
    """Whether a server of TLS ends connections for want of the client's certificate.

    Args:
        where: the server.
        why: how it ended one already.
    """
    return where.scheme in SECURED and CERTIFICATE in f"{why} {talk.refusal(where)}"


def of_certificate(where: Where) -> RefusedError:
    """It asks for the client's certificate."""
    return RefusedError(
        f"{where.url} asks for the client's certificate",
        "give one: --cert FILE --key FILE, in a study's [services.load] cert and key",
    )


def of_grpc(where: Where, tries: Tries) -> Proof:
    """Whether it speaks what gRPC is carried by; only a right call says more, and that is load."""
    try:
        is_there = tries.again(lambda: talk.greets_in_http2(where, REPLY_S))
    except (http.client.HTTPException, OSError) as error:
        if lacks_certificate(where, str(error)):
            raise of_certificate(where) from None
        raise not_spoken(where, str(error) or type(error).__name__) from None
    if not is_there:
        raise not_spoken(where, "it does not greet in HTTP/2")
    return Proof(facts=(("calls", "status and message of each are checked by the generator"),))


def of_memcache(where: Where, tries: Tries) -> Proof:
    """What it answers to `version`; RefusedError if it wants a password, or is no memcached."""
    heard = tries.heard(lambda: talk.say(where, talk.VERSION))
    if b"unauthenticated" in heard:
        raise RefusedError(
            f"{where.url} needs a password: {text_of(heard)}",
            "the generator does not log in: measure one without -Y and -S, on a port of its own",
        )
    if not heard.startswith(b"VERSION "):
        raise not_spoken(where, f"version is answered with {text_of(heard)}")
    version = heard.decode("ascii", "replace").removeprefix("VERSION ").strip()
    return Proof(facts=(("version", version.partition(" ")[0] or "unknown"),))


def of_postgres(where: Where, tries: Tries) -> Proof:
    """Who may come in and what it answers is reported by the generator, which logs in."""
    heard = tries.heard(lambda: talk.say(where, talk.SSL_REQUEST))
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
    return shown(scheme) if scheme in PORTS else ""


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
            LOG,
        )
    known = scheme_of(name, where)
    fix = f"try {where.speaking(known).url}" if known else OTHERS.get(name, "give another port")
    return RefusedError(
        f"{where.authority} does not speak {asked}, it looks like {talk.NAMES[name]}", fix
    )


def unanswered(where: Where, error: Exception, within_s: float, often: str = "") -> RefusedError:
    """It took a connection, and no reply came; `often`: how often it was tried."""
    if isinstance(error, OSError) and error.errno in UNREACHED:
        return unreached(where, error)
    is_cut = where.scheme in SECURED and not isinstance(error, TimeoutError)
    if is_cut and lacks_certificate(where, str(error)):
        return of_certificate(where)
    if not isinstance(error, TimeoutError):
        return not_spoken(where, f"{str(error) or type(error).__name__}{often}")
    return late(where, str(error), within_s)


def late(where: Where, why: str, within_s: float) -> RefusedError:
    """It took a connection, and no whole reply came in time."""
    name, heard = talk.recognise(where)
    if heard and name != spoken_in(where):
        return not_spoken(where, "it gives no reply")
    if why.startswith(http_get.ENDLESS):
        return RefusedError(
            f"{where.url} {why}",
            "give the path of a page: a stream of events has no end, so it has no time",
        )
    return RefusedError(
        f"{where.url} has not answered within {within_s:g} s",
        'if it takes so long, say how long it may: --bound 30s, in a study bound = "30s"; '
        "else see the server's own log",
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
