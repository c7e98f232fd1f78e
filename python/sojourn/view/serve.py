"""Binds to loopback and answers until it is stopped; asleep until somebody asks.

The whole process runs under the policy of idle tasks: on a CPU that a measurement uses it runs only
in the moments that the measurement leaves. While load fills every CPU, pages come slowly.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

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
        app(results, key),
        log_level="critical",  # pages that still wait at the end are no error
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=END_S,
        loop="asyncio",
        http="h11",
        ws="none",
    )
    with bound:
        uvicorn.Server(config).run(sockets=[bound])


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
