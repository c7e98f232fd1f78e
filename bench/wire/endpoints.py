"""Servers on a CPU of their own: NGINX with TLS and HTTP/2, a gRPC greeter, PostgreSQL, Redis."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers import Served, await_port, certificate, family, requests_seen

from sojourn.places import Address, ports, users
from sojourn.services.clients.sql import Sql, SqlError
from sojourn.services.tpcc import cluster, postgres
from sojourn.services.tpcc.answers import Scale

BIN = Path(os.environ.get("SOJOURN_BENCH_BIN", "~/.cache/sojourn-bench/bin")).expanduser()
METHOD = "helloworld.Greeter/SayHello"
MESSAGE = '{"name": "you"}'
QUERY = "SELECT i_price FROM item WHERE i_id = {}"
ITEMS = 1_000
READY_S_MAX = 30.0
UNKNOWN = 3  # exit code of a load that proves nothing

NGINX = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/t1;
    proxy_temp_path {folder}/t2;
    fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4;
    scgi_temp_path {folder}/t5;
    ssl_protocols TLSv1.3;
    ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
    ssl_certificate {folder}/cert.pem;
    ssl_certificate_key {folder}/key.pem;
    server {{
        listen 127.0.0.1:{port} {how};
        root {folder}/www;
    }}
    server {{
        listen 127.0.0.1:{count_port};
        location = /status {{ stub_status; }}
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that answers.

    Attributes:
        pid: of its first process.
        port: on 127.0.0.1.
        words: its target and what is asked for, as `sojourn-load` is told it.
        folder: its files; the greeter's descriptor set is `greeter.pb`.
        seen: requests that it has counted, or `None`: PostgreSQL's count comes up to 1 s late.
    """

    pid: int
    port: int
    words: tuple[str, ...]
    folder: Path
    seen: Callable[[], int] | None

    def family(self) -> list[int]:
        """Its processes, by pid, those of which it is the ancestor included."""
        return family(self.pid)

    def served(self) -> Served:
        """The same as `measure` wants it."""
        return Served(self.pid, self.port, self.seen)


@contextlib.contextmanager
def started(protocol: str, cpu: int) -> Iterator[Endpoint]:
    """`http`, `https`, `h2`, `grpc`, `postgres` or `unix`, on a free port, while it is wanted."""
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        start = {"grpc": _greeter, "postgres": _postgres, "unix": _redis}.get(protocol, _nginx)
        with start(folder, cpu, protocol) as endpoint:
            yield endpoint


@contextlib.contextmanager
def _running(words: list[str], cpu: int, **how: Any) -> Iterator[int]:
    process = subprocess.Popen(
        ["taskset", "-c", str(cpu), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **how,
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(timeout=20)


@contextlib.contextmanager
def _nginx(folder: Path, cpu: int, protocol: str) -> Iterator[Endpoint]:
    port, count_port = ports.free(), ports.free()
    (folder / "www").mkdir()
    (folder / "www/4k").write_bytes(b"x" * 4096)
    how = "" if protocol == "http" else "ssl http2"
    config = NGINX.format(folder=folder, port=port, count_port=count_port, how=how)
    (folder / "nginx.conf").write_text(config)
    certificate(folder)
    words = ["/usr/sbin/nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)]
    with _running(words, cpu) as pid:
        await_port(port)
        target = f"{protocol}://127.0.0.1:{port}"
        asked = (target, *(["--insecure"] if how else []), "--paths", "/4k")
        yield Endpoint(
            pid, port, asked, folder, functools.partial(requests_seen, "http", count_port)
        )


@contextlib.contextmanager
def _greeter(folder: Path, cpu: int, _protocol: str) -> Iterator[Endpoint]:
    port, count_port, file = ports.free(), ports.free(), folder / "greeter.pb"
    subprocess.run([BIN / "greeter", "-descriptor", file], check=True)
    reports = ["-listen", f"127.0.0.1:{port}", "-count", f"127.0.0.1:{count_port}"]
    with _running([str(BIN / "greeter"), *reports], cpu) as pid:
        await_port(port)
        asked = (f"grpc://127.0.0.1:{port}/{METHOD}", "--option", f"descriptor={file}")
        seen = functools.partial(_calls_seen, count_port)
        yield Endpoint(pid, port, (*asked, "--body", MESSAGE), folder, seen)


def _calls_seen(port: int) -> int:
    """What the greeter tells on its other port: one line with a number."""
    with socket.create_connection(("127.0.0.1", port), 5) as s, s.makefile() as file:
        return int(file.readline())


@contextlib.contextmanager
def _postgres(folder: Path, cpu: int, _protocol: str) -> Iterator[Endpoint]:
    home, user, address = (
        postgres.home(),
        users.server_user(has_account=True),
        Address(ports.HOST, ports.free()),
    )
    who: dict[str, Any] = {}
    (folder / cluster.RULES).write_text(cluster.rules())
    if user is not None:
        who = {"user": user.uid, "group": user.gid, "extra_groups": []}
        os.chown(folder, user.uid, user.gid)
    cluster.make(home, folder, user, Scale(warehouses=1, customers=30, items=ITEMS))
    words = cluster.words(home, folder, address, connections=64, buffers_mb=64, is_synced=False)
    with _running(["/bin/sh", *words], cpu, cwd=folder, **who) as pid:
        await_sql(address)
        target = f"postgres://{cluster.USER}@{address}/{cluster.DATABASE}"
        asked = ("--query", QUERY.format("1 + {}"), "--items", str(ITEMS))
        yield Endpoint(pid, address.port, (target, *asked), folder, None)


@contextlib.contextmanager
def _redis(folder: Path, cpu: int, _protocol: str) -> Iterator[Endpoint]:
    """One process that listens on a unix socket and on a TCP port."""
    port, path = ports.free(), folder / "redis.sock"
    reports = ["--bind", "127.0.0.1", "--port", str(port), "--unixsocket", str(path), "--save", ""]
    with _running(["redis-server", *reports], cpu, cwd=folder) as pid:
        await_port(port)
        seen = functools.partial(requests_seen, "redis", port)
        asked = (f"resp://unix:{path}", "--items", str(ITEMS))
        once = ("--preload", "--rate", "100", "--duration", "100ms", "--json", folder / "preload")
        # Its verdict on so short a load is of no concern; that the keys were set is.
        done = subprocess.run(["sojourn-load", *asked, *once], check=False, capture_output=True)
        if done.returncode not in {0, UNKNOWN}:
            raise RuntimeError(f"no keys were set: {done.stderr.decode()[-400:]}")
        yield Endpoint(pid, port, asked, folder, seen)


def await_sql(address: Address) -> None:
    """Until PostgreSQL answers, or `TimeoutError`."""
    end = time.monotonic() + READY_S_MAX
    while time.monotonic() < end:
        with (
            contextlib.suppress(SqlError),
            Sql(address, cluster.USER, cluster.DATABASE, within_s=1.0),
        ):
            return
        time.sleep(0.05)
    raise TimeoutError(f"no PostgreSQL at {address} after {READY_S_MAX:.0f} s")
