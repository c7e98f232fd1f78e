"""What is asked of which server: a case is a way in which servers end connections or replies."""

from __future__ import annotations

from dataclasses import dataclass

ALL = ("http", "https", "h2")


@dataclass(frozen=True, slots=True)
class Load:
    """Requests a second, length in seconds, and connections."""

    rate: int = 200
    seconds: int = 4
    connections: int = 16


#: Connections are used again at about the time at which the server ends those that idle.
IDLE_5S = Load(rate=60, seconds=20, connections=300)
IDLE_2S = Load(rate=120, seconds=10, connections=240)
IDLE_1S = Load(rate=250, seconds=8, connections=250)
OFTEN = Load(rate=1500, connections=4)
USUAL = Load()


@dataclass(frozen=True, slots=True)
class Case:
    """One load on one server.

    Attributes:
        what: what the server does that a client must take as it is.
        settings: what of the server is not as it comes.
        path, method, status, header, body: of each request; `header` has several with | between.
        reloads: the server reads its configuration again, twice in the run.
    """

    server: str
    what: str
    schemes: tuple[str, ...] = ALL
    settings: tuple[str, ...] = ()
    load: Load = USUAL
    path: str = "/"
    method: str = "GET"
    status: int = 200
    header: str = ""
    body: int = 0
    reloads: bool = False

    @property
    def name(self) -> str:
        return f"{self.server}: {self.what}"


CASES = (
    Case("uvicorn", "idle 5 s, as it comes", ("http", "https"), load=IDLE_5S),
    Case("uvicorn", "idle 1 s", ("http", "https"), ("--timeout-keep-alive", "1"), load=IDLE_1S),
    Case(
        "uvicorn",
        "500 requests a worker",
        ("http", "https"),
        ("--workers", "2", "--limit-max-requests", "500"),
    ),
    Case("aiohttp", "as it comes", ("http", "https")),
    Case("aiohttp", "idle 1 s", ("http", "https"), ("1",), load=IDLE_1S),
    Case("hypercorn", "idle 5 s, as it comes", (*ALL, "h2c"), load=IDLE_5S),
    Case("hypercorn", "idle 1 s", (*ALL, "h2c"), ("--keep-alive", "1"), load=IDLE_1S),
    Case(
        "hypercorn",
        "500 requests a worker",
        ("http", "https", "h2"),
        ("--max-requests", "500", "-w", "2"),
    ),
    Case("hypercorn", "keep-alive requests", ("http", "https", "h2"), (), load=OFTEN),
    Case("gunicorn", "sync, closes each", ("http", "https")),
    Case(
        "gunicorn",
        "gthread, idle 2 s, as it comes",
        ("http", "https"),
        ("-k", "gthread", "--threads", "8"),
        load=IDLE_2S,
    ),
    Case(
        "gunicorn",
        "gthread, 200 requests a worker",
        ("http", "https"),
        ("-k", "gthread", "--threads", "8", "--max-requests", "200"),
    ),
    Case(
        "gunicorn",
        "gthread, reload",
        ("http", "https"),
        ("-k", "gthread", "--threads", "8"),
        reloads=True,
    ),
    Case("node", "idle 5 s, as it comes", ("http", "https", "h2"), load=IDLE_5S),
    Case("node", "idle 1 s", ("http", "https"), ("1000",), load=IDLE_1S),
    Case("nginx", "1000 requests a connection, as it comes", (*ALL, "h2c"), load=OFTEN),
    Case(
        "nginx", "20 requests a connection", (*ALL, "h2c"), ("keepalive_requests 20;",), load=OFTEN
    ),
    Case("nginx", "idle 1 s", (*ALL, "h2c"), ("keepalive_timeout 1s;",), load=IDLE_1S),
    Case("nginx", "closes each", ("http", "https"), ("keepalive_timeout 0;",)),
    Case("nginx", "connections live 1 s", ALL, ("keepalive_time 1s;",), load=OFTEN),
    Case("nginx", "reload", (*ALL, "h2c"), reloads=True, load=Load(rate=1000)),
    Case("nginx", "HEAD", ALL, method="HEAD"),
    Case("nginx", "204", ALL, path="/204", status=204),
    Case("nginx", "304", ALL, path="/304", status=304),
    Case("nginx", "gzip, chunks", ALL, path="/gzip", header="Accept-Encoding: gzip"),
    Case("nginx", "trailers", ALL, path="/trailers"),
    Case("nginx", "heads of 5 kB", ALL, path="/head"),
    Case("apache", "idle 5 s, 100 requests a connection, as it comes", (*ALL, "h2c"), load=IDLE_5S),
    Case("apache", "100 requests a connection, as it comes", (*ALL, "h2c"), load=OFTEN),
    Case("apache", "idle 1 s", ALL, ("KeepAliveTimeout 1",), load=IDLE_1S),
    Case(
        "apache",
        "KeepAlive off, h2c offered",
        ("http",),
        ("KeepAlive Off", "Protocols h2c http/1.1"),
    ),
    Case("apache", "graceful", (*ALL, "h2c"), reloads=True, load=Load(rate=500)),
    Case("apache", "HEAD, gzip", ALL, method="HEAD", header="Accept-Encoding: gzip"),
    Case("caddy", "as it comes", (*ALL, "h2c"), path="/4k", header="Accept-Encoding: gzip"),
    Case("caddy", "reload", ALL, reloads=True, load=Load(rate=500)),
    Case("haproxy", "as it comes", (*ALL, "h2c")),
    Case("haproxy", "idle 1 s", (*ALL, "h2c"), ("timeout http-keep-alive 1s",), load=IDLE_1S),
    Case(
        "haproxy",
        "first request within 1 s",
        ("http", "https"),
        ("timeout http-request 1s", "timeout http-keep-alive 1s"),
        load=IDLE_1S,
    ),
    Case("haproxy", "client silent for 1 s", ALL, ("timeout client 1s",), load=IDLE_1S),
    Case("haproxy", "reload", ALL, reloads=True, load=Load(rate=500)),
    Case(
        "uvicorn",
        "Expect: 100-continue",
        ("http", "https"),
        path="/echo",
        method="POST",
        header="Expect: 100-continue",
        body=20_000,
    ),
    Case(
        "aiohttp",
        "Expect: 100-continue",
        ("http",),
        path="/echo",
        method="POST",
        header="Expect: 100-continue",
        body=20_000,
    ),
    Case(
        "apache",
        "PUT is refused, 405",
        ("http",),
        path="/4k",
        method="PUT",
        body=20_000,
        header="Expect: 100-continue",
        status=405,
    ),
    Case("uvicorn", "events, then the end", ("http", "https"), path="/events"),
    Case("hypercorn", "events, then the end", ALL, path="/events"),
    Case("aiohttp", "events, then the end", ("http", "https"), path="/events"),
    Case("uvicorn", "heads of 13 kB", ("http", "https"), path="/head"),
    Case("uvicorn", "gzip", ("http",), path="/gzip"),
    Case("uvicorn", "204", ("http",), path="/204", status=204),
    Case("hypercorn", "204", ALL, path="/204", status=204),
    Case(
        "uvicorn",
        "POST of 20 kB, idle 1 s",
        ("http", "https"),
        ("--timeout-keep-alive", "1"),
        path="/echo",
        method="POST",
        body=20_000,
        load=IDLE_1S,
    ),
    Case(
        "nginx",
        "POST of 20 kB, idle 1 s",
        ALL,
        ("keepalive_timeout 1s;",),
        method="POST",
        body=20_000,
        load=IDLE_1S,
    ),
    Case("grpcio", "gzip", ("grpc",), ("0", "5")),
    Case("grpcio", "gzip, 300 kB", ("grpc",), ("0", "300000"), load=Load(rate=50)),
    Case(
        "grpcio", "connections live 1 s", ("grpc",), ("1000", "5"), load=Load(rate=500, seconds=6)
    ),
)
