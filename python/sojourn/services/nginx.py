"""NGINX serving static files from the page cache (C4).

The life of one: files made once, start, one GET of the first and of the last file, workers one to a
CPU, warmed until every worker has opened nearly every file, measured, TERM.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault, RunFault
from sojourn.places import ports, theirs
from sojourn.places.ports import Address
from sojourn.places.task import Task
from sojourn.services.clients import talk
from sojourn.services.clients.where import Where
from sojourn.services.kind import Allowance, Json, Service, ServiceKind
from sojourn.services.params import Param, Value, settle
from sojourn.services.scaling import FILES_SPARE, connections_max, scaled

NAME = "nginx"
FILES_PAPER = 100_000  # C4
WORKERS_PAPER = 7  # C4
BLOCK_BYTES = 4096
SHARE = 0.5  # of free memory and disk: the files must stay in the page cache
PATTERN = "/{}.html"
WORKER_COMMAND = "nginx: worker process"

PARAMS = (
    Param(
        name="workers",
        about="worker processes; default: 7 (C4), or one per server CPU if there are fewer; "
        '"cpus", "cpus+1": by the server\'s CPUs',
        default=None,
        lo=1,
        hi=1024,
        relative=True,
    ),
    Param(
        name="files",
        about="static files; default: 100 K (C4) times the profile's share, as far as disk and "
        "memory go",
        default=None,
        lo=1,
        hi=10_000_000,
    ),
    Param(
        name="file_bytes", unit="bytes", about="size of each (C4)", default=4096, lo=0, hi=1 << 30
    ),
    Param(name="open_file_cache", about="keep files open (C4: on)", default=True, type=bool),
    Param(name="access_log", about="write an access log (C9)", default=False, type=bool),
    Param(
        name="sendfile",
        about="the kernel sends files itself; off: read and written by the worker (C9)",
        default=True,
        type=bool,
    ),
    Param(
        name="directio",
        about="read files from the disk past the page cache, each time (nginx: directio), as "
        "if they did not fit into memory",
        default=False,
        type=bool,
    ),
    Param(
        name="gzip",
        about="compress replies, and be asked for compressed ones (C9: post-processing)",
        default=False,
        type=bool,
    ),
    Param(
        name="is_cold",
        about="nothing of the files is in the page cache when it starts: what it reads is its own, "
        "and counts against its memory (C25)",
        default=False,
        type=bool,
    ),
    Param(
        name="reuseport",
        about="one listening socket per worker; default off, as nginx itself: workers compete for "
        "new connections and may get unequal shares (L3)",
        default=False,
        type=bool,
    ),
    Param(
        name="http2",
        about="speak HTTP/2 without TLS, with many requests in flight on a connection",
        default=False,
        type=bool,
    ),
    Param(
        name="connections_max",
        about="limit of connections per worker; default: 8192, or half of the allowed open files",
        default=None,
        lo=16,
        hi=1 << 20,
    ),
    Param(name="port", about="loopback port; 0: a free one", default=0, lo=0, hi=65_535),
)

CONFIG = """\
# Written by sojourn. Everything lies in this folder; nothing of the system's configuration is used.
daemon off;
worker_processes {workers};
worker_rlimit_nofile {files_open};
pid nginx.pid;
error_log stderr warn;
events {{
    worker_connections {connections_max};
}}
http {{
    access_log {access_log};
    default_type text/html;
    sendfile {sendfile};
    directio {directio};
    gzip {gzip};
    tcp_nodelay on;
    keepalive_timeout 1h;
    keepalive_requests 1000000000;  # the default, 1000, would close connections in mid-measurement
    {cache}
    client_body_temp_path tmp_body;
    proxy_temp_path tmp_proxy;
    fastcgi_temp_path tmp_fastcgi;
    uwsgi_temp_path tmp_uwsgi;
    scgi_temp_path tmp_scgi;
    server {{
        listen {address}{http2}{reuseport};
        root files;
    }}
}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nginx(Service):
    """One NGINX whose parameters are settled for this machine."""

    path: Path
    processes: int
    files: int
    file_bytes: int
    open_file_cache: bool
    access_log: bool
    sendfile: bool
    directio: bool
    gzip: bool
    is_cold: bool
    reuseport: bool
    http2: bool
    connections_max: int
    cached_max: int
    port: int
    why: tuple[tuple[str, str], ...]

    @property
    def setup(self) -> tuple[tuple[str, str], ...]:
        """Version, data set and settings as (name, text), for people."""
        size = f"{self.files:,} files of {self.file_bytes} B".replace(",", " ")
        return (
            ("version", self.version()),
            ("data", size),
            ("open_file_cache", self._cache_text()),
            ("access_log", "on" if self.access_log else "off"),
            ("sendfile", "on" if self.sendfile else "off"),
            ("page cache", self._page_cache_text()),
            ("gzip", "on, and the client takes it" if self.gzip else "off"),
            ("listen", "a socket per worker" if self.reuseport else "one socket for all workers"),
            ("protocol", "HTTP/2 without TLS" if self.http2 else "HTTP/1.1"),
            *self.why,
        )

    @property
    def program(self) -> Path | None:
        """Path of the system's nginx."""
        return self.path

    @property
    def wanted_port(self) -> int:
        """The port that the study gave; 0: any free one."""
        return self.port

    @property
    def workers(self) -> int:
        """How many worker processes it has."""
        return self.processes

    def prepare(self, work: Path) -> None:
        """Make the files. Their content differs, so that a wrong one would be seen."""
        folder = work / "files"
        folder.mkdir(exist_ok=True)
        for number in range(self.files):
            (folder / f"{number}.html").write_bytes(content(number, self.file_bytes))

    def _page_cache_text(self) -> str:
        if self.directio:
            return "not used: files are read from the disk"
        return "empty at its start" if self.is_cold else "filled when files were made"

    def _cache_text(self) -> str:
        if not self.open_file_cache:
            return "off"
        if self.cached_max >= self.files:
            return "on, for all files"
        share = f"{self.cached_max:,} of {self.files:,}".replace(",", " ")
        return f"on, for {share} files: more may not be open (ulimit -Hn)"

    @property
    def open_files(self) -> int:
        """A worker's connections, its open files, and a few of its own."""
        return self.connections_max + FILES_SPARE + (self.cached_max if self.open_file_cache else 0)

    def config(self, address: Address) -> str:
        """Text of the configuration file for an address."""
        # Valid for as long as nginx's own default, a minute; `inactive` is longer than any run, so
        # that a file stays open however rarely it is asked for.
        cache = (
            f"open_file_cache max={self.cached_max} inactive=1d;" if self.open_file_cache else ""
        )
        return CONFIG.format(
            workers=self.processes,
            files_open=self.open_files,
            connections_max=self.connections_max,
            access_log="access.log" if self.access_log else "off",
            sendfile="on" if self.sendfile else "off",
            directio="1" if self.directio else "off",
            gzip="on" if self.gzip else "off",
            cache=cache,
            address=address,
            http2=" http2" if self.http2 else "",
            reuseport=" reuseport" if self.reuseport else "",
        )

    def command(self, work: Path, address: Address) -> Sequence[str]:
        """Flags; writes the configuration they name, and lets go of cached files if it is to."""
        if self.is_cold:
            for number in range(self.files):
                forget(work / "files" / f"{number}.html")
        theirs.write(work / "nginx.conf", self.config(address))
        return ("-p", f"{work}/", "-c", "nginx.conf")

    def target(self, address: Address) -> str:
        """The generator's target: HTTP at the address."""
        return f"{'h2c' if self.http2 else 'http'}://{address}/"

    def job(self) -> Mapping[str, Json]:
        """Keys of the generator's job that name the files and their length."""
        names: dict[str, Json] = {"items": self.files, "paths": [PATTERN]}
        if self.gzip:  # how long a reply is then is not known before
            return {**names, "option": {"accept_encoding": "gzip"}}
        return {**names, "expect_bytes": self.file_bytes}

    def path_of(self, number: int) -> str:
        """The path of a file."""
        return PATTERN.format(number)

    def body_of(self, number: int) -> bytes:
        """What a file holds, all of it."""
        return content(number, self.file_bytes)

    def answers(self, address: Address, within_s: float) -> bool:
        """Ask for the first file."""
        return self._get(0, address, within_s) == self.body_of(0)

    def _get(self, number: int, address: Address, within_s: float) -> bytes | None:
        path, body = self.path_of(number), self.body_of(number)
        if self.http2:
            return _get_in_http2(address, path, within_s)
        request = f"GET {path} HTTP/1.1\r\nHost: {address.host}\r\n\r\n".encode()
        reply = ports.ask(address, request, within_s=within_s, until=b"\r\n\r\n" + body)
        return None if reply is None else reply.partition(b"\r\n\r\n")[2]

    @property
    def warm_requests(self) -> int:
        """Requests after which each worker has opened 95 % of the files: -ln(0.05) = 3 per file."""
        if self.is_cold:  # as many as fill what memory there is; they may come from a slow disk
            return self.files
        each = math.ceil(3 * self.files) if self.open_file_cache else self.files
        return each * self.processes

    def check(self, address: Address) -> tuple[tuple[str, str], ...]:
        """Ask for the first, a middle and the last file."""
        for number in sorted({0, self.files // 2, self.files - 1}):
            if self._get(number, address, within_s=2.0) != self.body_of(number):
                raise RunFault(
                    f"nginx does not serve {self.path_of(number)} as it was written",
                    at=f"nginx at {address}",
                    fix="see service.log in the point's folder",
                )
        return (("files served", f"{self.files:,}".replace(",", " ")),)

    def pinned(self, tasks: Sequence[Task]) -> tuple[int, ...]:
        """Worker processes by the title nginx gives them."""
        is_worker = (t for t in tasks if t.command.startswith(WORKER_COMMAND) and t.tid == t.pid)
        return tuple(sorted(task.pid for task in is_worker))

    def version(self) -> str:
        """Its version, as `nginx -v` says it."""
        return version(self.path)


def _get_in_http2(address: Address, path: str, within_s: float) -> bytes | None:
    """The body of a page; None if it does not come."""
    at = Where(scheme="h2c", host=address.host, port=address.port)
    try:
        return talk.page(at, path, within_s)
    except (OSError, HTTPException):
        return None


def content(number: int, size: int) -> bytes:
    """What file `number` holds: its number, over and over.

    >>> content(7, 8)
    b'7 7 7 7 '
    """
    word = f"{number} ".encode()
    return (word * (size // len(word) + 1))[:size]


def forget(path: Path) -> None:
    """Take a file out of the page cache, which keeps what is not on the disk yet."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


def version(path: Path) -> str:
    """`nginx/1.22.1`; "" if it does not say."""
    found = re.search(r"nginx/\S+", programs.says(path, "-v"))
    return found.group(0) if found else ""


def file_room(file_bytes: int, allowance: Allowance) -> tuple[int, str]:
    """How many files fit, and what runs out first."""
    stored = max(1, math.ceil(file_bytes / BLOCK_BYTES)) * BLOCK_BYTES
    limits = [(int(allowance.memory_bytes * SHARE / (stored + 1024)), "memory")]
    if allowance.disk_bytes is not None:
        limits.append((int(allowance.disk_bytes * SHARE / stored), "disk"))
    if allowance.disk_files is not None:
        limits.append((int(allowance.disk_files * SHARE), "inodes"))
    return min(limits)


def build(given: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    got = settle(NAME, PARAMS, given, cpus=allowance.cpus)
    path = programs.find(NAME, fix="apt install nginx-light")
    file_bytes = int(got["file_bytes"] or 0)
    fits, limit = file_room(file_bytes, allowance)
    files = got["files"]
    if files is not None and int(files) > fits:
        raise HostFault(
            f"{files} files of {file_bytes} B do not fit: {limit} allows {fits}",
            at=f"service nginx, files = {files}",
            fix=f"give at most {fits} files or smaller ones, or set TMPDIR to a larger disk",
        )
    data = scaled("files", files, FILES_PAPER, allowance, fits=fits, limit=limit)
    connections = connections_max(got["connections_max"], allowance)
    workers = scaled("workers", got["workers"], WORKERS_PAPER, allowance, cpus=allowance.cpus)
    return Nginx(
        path=path,
        processes=workers.value,
        files=data.value,
        file_bytes=file_bytes,
        open_file_cache=bool(got["open_file_cache"]),
        access_log=bool(got["access_log"]),
        sendfile=bool(got["sendfile"]),
        directio=bool(got["directio"]),
        gzip=bool(got["gzip"]),
        is_cold=bool(got["is_cold"]),
        reuseport=bool(got["reuseport"]),
        http2=bool(got["http2"]),
        connections_max=connections,
        cached_max=max(1, min(data.value, allowance.open_files - connections - FILES_SPARE)),
        port=int(got["port"] or 0),
        why=(*data.text, *workers.text),
    )


KIND = ServiceKind(
    name=NAME,
    about="web server; GETs of static 4 KB files, QoS p99 within 20 ms in the paper",
    params=PARAMS,
    needs=("nginx (apt install nginx-light)",),
    source="PAPERS C4",
    width="workers",
    build=build,
)
