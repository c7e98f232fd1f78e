"""The servers that all tools are measured against, one CPU each, and the requests they saw."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sojourn.places import ports

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
    open_file_cache max=1000;
    client_body_temp_path {folder}/t1;
    proxy_temp_path {folder}/t2;
    fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4;
    scgi_temp_path {folder}/t5;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/www;
        location = /status {{ stub_status; }}
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class Served:
    """A server that a tool is measured against.

    Attributes:
        pid: of its first process, from which all the others come.
        port: on 127.0.0.1, where requests go.
        seen: requests that it has counted so far, at once; `None` if it has no such count.
    """

    pid: int
    port: int
    seen: Callable[[], int] | None


def certificate(folder: Path) -> None:
    """Write `cert.pem` for localhost, signed by itself, and its `key.pem` into a folder."""
    line = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*line.split(), *names, *files], check=True, capture_output=True)


def command(protocol: str, port: int, folder: Path) -> list[str]:
    if protocol == "memcache":
        words = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-t", "1", "-m", "256"]
        return [*words, "-c", "4096", "-U", "0"] + (["-u", "nobody"] if os.geteuid() == 0 else [])
    if protocol == "resp":
        return [
            "redis-server",
            "--bind",
            "127.0.0.1",
            "--port",
            str(port),
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            str(folder),
        ]
    (folder / "www").mkdir()
    (folder / "www/4k").write_bytes(b"x" * 4096)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
    return ["/usr/sbin/nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)]


@contextlib.contextmanager
def started(
    protocol: str, cpu: int, argv: Callable[[str, int, Path], list[str]] = command
) -> Iterator[tuple[int, int]]:
    """A real server on a free loopback port, pinned to one CPU; yields its pid and the port."""
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        port = ports.free()
        with subprocess.Popen(
            ["taskset", "-c", str(cpu), *argv(protocol, port, folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # all its processes and no others are found by its number
        ) as process:
            try:
                await_port(port)
                yield process.pid, port
            finally:
                process.terminate()
                process.wait(timeout=10)


def await_port(port: int) -> None:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise TimeoutError(f"no server on 127.0.0.1:{port} after 10 s")


def family(pid: int) -> list[int]:
    """Processes of a server, by pid: the first one and those of which it is the ancestor."""
    pids = [pid]
    for each in pids:
        for file in Path(f"/proc/{each}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                pids += [int(word) for word in file.read_text().split()]
    return pids


def requests_seen(protocol: str, port: int) -> int:
    """Requests that the server itself has counted so far."""
    if protocol == "http":
        url = f"http://127.0.0.1:{port}/status"
        with urllib.request.urlopen(url, timeout=5) as reply:
            return int(reply.read().split()[9])
    ask, keys = (b"INFO stats\r\n", ["total_commands_processed:"])
    if protocol == "memcache":
        ask, keys = b"stats\r\n", ["STAT cmd_get ", "STAT cmd_set "]
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        s.sendall(ask)
        text = b""
        while not text.endswith((b"END\r\n", b"\r\n\r\n")) and b"total_commands" not in text:
            text += s.recv(65536)
    return sum(int(re.findall(re.escape(key) + r"(\d+)", text.decode())[0]) for key in keys)
