"""The same small pages for each Python server: `app:pages` by ASGI, `app:wsgi` by WSGI."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

HELLO = b"hello"
TYPE = (b"content-type", b"text/plain")
PACKED = gzip.compress(HELLO * 200)
EVENT = b"data: hello\n\n"
BIG = tuple((b"x-head-%d" % nth, b"v" * 200) for nth in range(60))
Send = Callable[[dict[str, Any]], Awaitable[None]]


async def pages(scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Send) -> None:
    """ASGI 3."""
    if scope["type"] == "lifespan":
        while True:
            word = (await receive())["type"]
            await send({"type": f"{word}.complete"})
            if word == "lifespan.shutdown":
                return
    more = scope["method"] == "POST"
    length = 0
    while more:
        message = await receive()
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
    await _answer(scope["path"], length, send)


async def _answer(path: str, length: int, send: Send) -> None:
    status, headers, parts = 200, [TYPE], [HELLO]
    if path == "/gzip":
        headers, parts = [TYPE, (b"content-encoding", b"gzip")], [PACKED]
    elif path == "/head":
        headers = [TYPE, *BIG]
    elif path == "/events":
        headers, parts = [(b"content-type", b"text/event-stream")], [EVENT] * 3
    elif path in {"/204", "/304"}:
        status, headers, parts = int(path[1:]), [], [b""]
    elif path == "/echo":
        parts = [b"%d" % length]
    if path != "/events" and status == 200:
        headers = [*headers, (b"content-length", b"%d" % sum(map(len, parts)))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for nth, part in enumerate(parts, start=1):
        if path == "/events":
            await asyncio.sleep(0.005)
        is_last = nth == len(parts)
        await send({"type": "http.response.body", "body": part, "more_body": not is_last})


def wsgi(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    """WSGI."""
    body = environ["wsgi.input"].read() if environ["REQUEST_METHOD"] == "POST" else HELLO
    reply = HELLO if body == HELLO else b"%d" % len(body)
    start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(reply)))])
    return [reply]
