"""A view of a folder in a thread of the test, on a port of its own, and a client."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import uvicorn

from sojourn.view.app import app

KEY = "the-key-of-a-test"
DEADLINE_S = 60.0
OK = 200


@dataclass(frozen=True)
class Reply:
    """Status, head and text that a server answered."""

    status: int
    head: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class Served:
    """A view that answers on a port."""

    port: int

    @property
    def cookie(self) -> str:
        """By which a browser is known that had the key."""
        return f"sojourn-view-{self.port}={KEY}"

    @property
    def url(self) -> str:
        """The address that the terminal shows."""
        return f"http://127.0.0.1:{self.port}/?key={KEY}"

    def ask(
        self,
        path: str,
        method: str = "GET",
        body: bytes | None = None,
        head: Mapping[str, str] = MappingProxyType({}),
    ) -> Reply:
        """One request; the cookie is in its head unless `head` has another."""
        headers = {"Cookie": self.cookie, **head}
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        with contextlib.closing(link):
            link.request(method, path, body, headers)
            reply = link.getresponse()
            text = reply.read().decode()
            return Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, text)

    def events(self, path: str) -> Iterator[str]:
        """Lines of a stream of events, until the server ends it."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        with contextlib.closing(link):
            link.request("GET", path, headers={"Cookie": self.cookie})
            reply = link.getresponse()
            if reply.status != OK:
                raise RuntimeError(reply.read())
            while line := reply.readline():
                yield line.decode().rstrip("\n")


@contextlib.contextmanager
def serving(results: Path) -> Iterator[Served]:
    """Serve until the end of the block."""
    bound = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app(results, KEY), log_level="warning", lifespan="off", ws="none", http="h11",
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    end_s = time.monotonic() + DEADLINE_S
    while not server.started and time.monotonic() < end_s:
        time.sleep(0.02)
    try:
        yield Served(bound.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(DEADLINE_S)
        bound.close()
