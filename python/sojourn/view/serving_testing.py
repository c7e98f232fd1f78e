"""A view of a folder in a thread of the test, on a port of its own, and a client."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest
import uvicorn

from sojourn import store
from sojourn.store import golden_testing
from sojourn.view.app import app
from sojourn.view.following import Following

NAME = "version_1/m/20261123T031248Z-7d37"  # of its record
KEY = "the-key-of-a-test"
ROOT = f"/{KEY}"  # of all paths
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
    """A view that answers on a port, and what ends it early."""

    port: int
    end: Callable[[], None]
    following: Following

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
        root: str = ROOT,
    ) -> Reply:
        """One request; its path begins with the key unless `root` is another."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        with contextlib.closing(link):
            link.request(method, f"{root}{path}", body, dict(head))
            reply = link.getresponse()
            text = reply.read().decode()
            return Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, text)

    def views(self, path: str) -> Iterator[str]:
        """The parts of a page that follows a record, as each event leaves them."""
        lines: list[str] = []
        for line in self.events(path):
            if line.startswith("data: [") and (changes := json.loads(line[6:])):
                for at, count, made in changes:
                    lines[at : at + count] = made
                yield "\n".join(lines)

    def events(self, path: str) -> Iterator[str]:
        """Lines of a stream of events, until the server ends it."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        with contextlib.closing(link):
            link.request("GET", f"{ROOT}{path}")
            reply = link.getresponse()
            if reply.status != OK:
                raise RuntimeError(reply.read())
            while line := reply.readline():
                yield line.decode().rstrip("\n")


def own_folders(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    """Let cache and notes be in folders of the test."""
    for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        (tmp_path / variable).mkdir(mode=0o700)
        patch.setenv(variable, str(tmp_path / variable))


def unpacked(tmp_path: Path) -> Path:
    """A folder of results with the golden record, which has an answer."""
    folder = tmp_path / "results"
    golden_testing.unpack(folder)
    store.keep_answer(folder / NAME, "holds", "12k/s at p99 ≤ 1 ms", "answered")
    return folder


@contextlib.contextmanager
def serving(results: Path) -> Iterator[Served]:
    """Serve until the end of the block."""
    bound = socket.create_server(("127.0.0.1", 0))
    made = app(results, KEY)
    config = uvicorn.Config(
        made, log_level="warning", lifespan="off", ws="none", http="h11",
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    end_s = time.monotonic() + DEADLINE_S
    while not server.started and time.monotonic() < end_s:
        time.sleep(0.02)

    def end() -> None:
        server.should_exit = True
        thread.join(DEADLINE_S)
        bound.close()

    try:
        yield Served(bound.getsockname()[1], end, made.state.following)
    finally:
        end()
