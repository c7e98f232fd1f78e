"""Binds to loopback and answers until it is stopped; asleep until somebody asks.

The whole process runs under the policy of idle tasks: on a CPU that a measurement uses it runs only
in the moments that the measurement leaves. While load fills every CPU, pages come slowly.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from sojourn.browse import priority
from sojourn.errors import HostFault
from sojourn.view.app import app
from sojourn.view.guard import KEY

HOST = "127.0.0.1"
KEY_BYTES = 18
END_S = 1  # for pages that wait for changes
QUEUE = 64


def serve(results: Path, port: int, show: Callable[[str], None], path: str = "/") -> None:
    """Serve until ^C.

    Args:
        results: folder of the records.
        port: on loopback; 0: any that is free.
        show: is given the address once a browser can connect to it.
        path: of the page that the address leads to, with its query if it has one.

    Raises:
        HostFault: the port is taken.
    """
    bound = _bound(port)
    key = secrets.token_urlsafe(KEY_BYTES)
    mark = "&" if "?" in path else "?"
    # An idle task may have no CPU for minutes, and somebody waits for the address.
    show(f"http://{HOST}:{bound.getsockname()[1]}{path}{mark}{KEY}={key}")
    priority.step_back()
    config = uvicorn.Config(
        app(results, key, priority.keep_off),
        log_level="critical",  # pages that still wait at the end are no error
        access_log=False,
        lifespan="off",
        server_header=False,
        date_header=False,  # it would be renewed each second
        timeout_graceful_shutdown=END_S,
        loop="asyncio",
        http="h11",
        ws="none",
    )
    with bound:
        Server(config).run(sockets=[bound])


class Server(uvicorn.Server):
    """Asleep until somebody asks: uvicorn's own loop looks ten times a second whether to end."""

    def __init__(self, config: uvicorn.Config) -> None:
        """As uvicorn's; nothing is opened yet."""
        super().__init__(config)
        self._end: Callable[[], object] | None = None

    async def main_loop(self) -> None:
        """Wait for a signal."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        self._end = lambda: loop.call_soon_threadsafe(ended.set)
        if not await self.on_tick(0):
            await ended.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End in order, and wake the loop for it."""
        super().handle_exit(sig, frame)
        if self._end is not None:
            self._end()


def _bound(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HOST, port))
        made.listen(QUEUE)
    except OSError as error:
        made.close()
        fix = "give another one with --port; 0 takes any that is free"
        what = f"the port cannot be used: {error.strerror}"
        raise HostFault(what, at=f"{HOST}:{port}", fix=fix) from None
    return made
