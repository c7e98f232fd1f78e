"""The pages of `app` on aiohttp's own server: PORT CERT KEY KEEPALIVE_S ("" and 0: not given)."""

from __future__ import annotations

import asyncio
import ssl
import sys

from aiohttp import web
from app import EVENT, HELLO


async def page(request: web.Request) -> web.StreamResponse:
    if request.path == "/events":
        reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await reply.prepare(request)
        for _ in range(3):
            await asyncio.sleep(0.005)
            await reply.write(EVENT)
        await reply.write_eof()
        return reply
    body = await request.read() if request.method == "POST" else HELLO
    return web.Response(body=body if body == HELLO else b"%d" % len(body))


def main(port: str, cert: str, key: str, keepalive_s: str) -> None:
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", page)
    context = None
    if cert:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(cert, key)
    more = {"keepalive_timeout": float(keepalive_s)} if float(keepalive_s) else {}
    web.run_app(app, host="127.0.0.1", port=int(port), ssl_context=context, print=None, **more)


if __name__ == "__main__":
    main(*sys.argv[1:])
