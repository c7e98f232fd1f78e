"""Who may ask, and what a page may do.

The address is on loopback, which every user of the machine reaches, and every page in the user's
browser. So three things are asked of a request: a host that is this machine's own name for itself
(else a page of another site could be this one, by DNS rebinding), the key that the terminal shows
(else another user could read root's records), and, where something is written, that this site asks.

The key is the first part of each path. It is not a cookie: cookies know no ports, so a browser
would send it to each server of this machine that a link leads to, and another user may run one.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import unquote, urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sojourn.view import links

HOSTS = frozenset({"127.0.0.1", "localhost"})
KEY = "key"  # in the address that the terminal shows
SAFE = frozenset({"GET", "HEAD"})
ALWAYS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",  # the key is in the address
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


class Guard:
    """Asks every request, and puts what all replies have into its head."""

    def __init__(self, app: ASGIApp, *, key: str) -> None:
        """Around an application.

        Args:
            app: what is guarded; it sees paths without the key.
            key: that the address in the terminal bears, of letters that an address leaves as are.
        """
        self._app, self._key = app, key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As a server calls it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)  # begin and end of the server
            return

        async def with_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                head = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    head[name] = value
                head.setdefault("Content-Security-Policy", NOTHING)
            await send(message)

        asked = HTTPConnection(scope)
        if answer := self._refused(asked) or self._led(asked):
            await answer(scope, receive, with_head)
            return
        mark = links.ROOT.set(f"/{self._key}")
        try:
            await self._app({**scope, "path": _inner(asked)}, receive, with_head)
        finally:
            links.ROOT.reset(mark)

    def _refused(self, asked: HTTPConnection) -> Response | None:
        host = asked.headers.get("host", "")
        if _name(f"//{host}") not in HOSTS:
            return PlainTextResponse("This page is at 127.0.0.1 only.\n", 400)
        if asked.scope["method"] in SAFE:
            return None
        if asked.headers.get("origin", "") != f"http://{host}":
            return PlainTextResponse("Only this site may write.\n", 403)
        return None

    def _led(self, asked: HTTPConnection) -> Response | None:
        """None for a path that begins with the key; the terminal's address leads to one."""
        if self._is_key(_parts(asked)[0]):
            return None
        if self._is_key(asked.query_params.get(KEY, "").encode()):
            others = [pair for pair in asked.query_params.multi_items() if pair[0] != KEY]
            path = f"/{self._key}{asked.scope['raw_path'].decode()}"
            return RedirectResponse(f"{path}?{urlencode(others)}" if others else path, 303)
        text = "Open the address that `sojourn view` printed: it has a key.\n"
        return PlainTextResponse(text, 403)

    def _is_key(self, text: bytes) -> bool:
        return hmac.compare_digest(text, self._key.encode())


def _parts(asked: HTTPConnection) -> tuple[bytes, bytes]:
    """The first part of a path as it was sent, and what follows the stroke behind it."""
    raw: bytes = asked.scope["raw_path"]
    first, _, rest = raw.removeprefix(b"/").partition(b"/")
    return first, rest


def _inner(asked: HTTPConnection) -> str:
    """The path after the key; names of folders may be of any bytes."""
    return "/" + unquote(_parts(asked)[1], errors="surrogateescape")


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
