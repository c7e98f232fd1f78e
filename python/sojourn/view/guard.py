"""Who may ask, and what a page may do.

The address is on loopback, which every user of the machine reaches, and every page in the user's
browser. So three things are asked of a request: a host that is this machine's own name for itself
(else a page of another site could be this one, by DNS rebinding), the key that the terminal shows
(else another user could read root's records), and, where something is written, that this site asks.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = frozenset({"127.0.0.1", "localhost"})
KEY = "key"  # in the address that the terminal shows
SAFE = frozenset({"GET", "HEAD"})
ALWAYS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
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
            app: what is guarded.
            key: that the address in the terminal bears.
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
        answer = self._refused(asked) or self._admitted(asked)
        await (answer or self._app)(scope, receive, with_head)

    def _refused(self, asked: HTTPConnection) -> Response | None:
        host = asked.headers.get("host", "")
        if _name(f"//{host}") not in HOSTS:
            return PlainTextResponse("This page is at 127.0.0.1 only.\n", 400)
        if asked.scope["method"] in SAFE:
            return None
        origin = asked.headers.get("origin", "")
        if urlsplit(origin).netloc != host or urlsplit(origin).scheme != "http":
            return PlainTextResponse("Only this site may write.\n", 403)
        return None

    def _admitted(self, asked: HTTPConnection) -> Response | None:
        """None for one that has the key; who brings it gets a cookie, and an address without."""
        name = cookie(asked)
        if self._is_key(asked.cookies.get(name, "")):
            return None
        if not self._is_key(asked.query_params.get(KEY, "")):
            text = "Open the address that `sojourn view` printed: it has a key.\n"
            return PlainTextResponse(text, 403)
        path = asked.url.path
        answer = RedirectResponse("/" if path.startswith("//") else path, 303)
        answer.set_cookie(name, self._key, httponly=True, samesite="lax")
        return answer

    def _is_key(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._key.encode())


def cookie(asked: HTTPConnection) -> str:
    """Its name: cookies know no ports, so that of the server is in it."""
    server = asked.scope.get("server") or ("", 0)
    return f"sojourn-view-{server[1]}"


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
