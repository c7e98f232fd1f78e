"""A connection to a server, TLS on it, and HTTP/2 on both."""

from __future__ import annotations

import contextlib
import errno
import http.client
import socket
import ssl
from collections.abc import Iterator, Sequence

from sojourn.services.clients import http2
from sojourn.services.clients.where import SECURED, Where

CONNECT_S = 2.0
#: Of several addresses that cannot be reached, which error says most: nothing listens there, no
#: port of this machine is free, it did not answer in time; others say only that there is no way.
_TELLING = {errno.ECONNREFUSED: 0, errno.EADDRNOTAVAIL: 1, errno.EMFILE: 2, 0: 3}


def connected(where: Where, within_s: float = CONNECT_S) -> socket.socket:
    """A connection to it, by the first of its addresses that takes one.

    Raises:
        OSError: nothing listens there, or the name represents no address.
    """
    if where.socket is not None:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(within_s)
        try:
            made.connect(str(where.socket))
        except OSError:
            made.close()
            raise
        return made
    try:
        return socket.create_connection((where.host, where.port), timeout=within_s, all_errors=True)
    except ExceptionGroup as group:  # one for each address of the name
        each = [error for error in group.exceptions if isinstance(error, OSError)]
        raise min(each, key=lambda error: _TELLING.get(error.errno or 0, len(_TELLING))) from None


def tls_context(*protocols: str, identity: Sequence[str] = ()) -> ssl.SSLContext:
    """One that trusts everybody: what is asked is whether it answers; the generator is strict."""
    context = ssl.create_default_context()
    if identity:
        key = identity[1] if len(identity) > 1 else None
        context.load_cert_chain(identity[0], key, password=_no_password)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def identity_doubt(identity: Sequence[str]) -> str:
    """Why a certificate and its key are of no use; "" if they are, or none is used."""
    try:
        tls_context(identity=identity)
    except ssl.SSLError as error:
        reason = getattr(error, "reason", None) or str(error.args[-1])
        return next((words for name, words in _DOUBTS.items() if name in reason), reason)
    except OSError as error:
        return getattr(error, "strerror", None) or str(error)
    return ""


#: A part of what OpenSSL calls it → what it means.
_DOUBTS = {
    "KEY_VALUES_MISMATCH": "they do not belong together",
    "KEY_TYPE_MISMATCH": "they do not belong together",
    "PEM lib": "one of them is not in PEM, or is the other: is --cert the certificate?",
}


def _no_password() -> str:
    raise ssl.SSLError("the key is encrypted, and no password can be typed while load runs")


@contextlib.contextmanager
def connected_in_http2(where: Where, within_s: float) -> Iterator[socket.socket]:
    """A connection on which HTTP/2 may be spoken at once."""
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(connected(where, within_s))
        if where.scheme in SECURED:
            secured = tls_context(http2.ALPN, identity=where.identity).wrap_socket(
                made, server_hostname=where.server_name
            )
            made = stack.enter_context(secured)
            if secured.selected_alpn_protocol() != http2.ALPN:
                why = "it does not agree on HTTP/2 over TLS (ALPN)"
                raise http.client.HTTPException(why)
        made.settimeout(within_s)
        yield made
