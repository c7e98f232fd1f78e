"""A web server on loopback while a test runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serving(pages: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve until the end of the block; gives `host:port`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), pages) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(20)
