"""NGINX serving static files from the page cache (C4).

The life of one: files made once, start, one GET of the first and of the last file, workers one to a
CPU, warmed until every worker has opened nearly every file, measured, TERM.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault, RunFault
from sojourn.places import ports, server_files, users
from sojourn.places.ports import Address
from sojourn.places.task import Task
from sojourn.services import nginx_files
from sojourn.services.capabilities import (
    Checks,
    Demands,
    Describes,
    Filling,
    Fills,
    Needs,
    Pins,
    Prepares,
    Rows,
    Versioned,
)
from sojourn.services.clients import http_get
from sojourn.services.clients.where import Where
from sojourn.services.kind import Allowance, Endpoint, Json, Program, Service, ServiceKind, Start
from sojourn.services.nginx_files import content, forget
from sojourn.services.nginx_settings import CONFIG, PARAMS
from sojourn.services.params import Value, settle
from sojourn.services.scaling import FILES_SPARE, connections_max, scaled

NAME = "nginx"
FILES_PAPER = 100_000  # C4
WORKERS_PAPER = 7  # C4
SHARE = nginx_files.SHARE
PATTERN = "/{}.html"
WORKER_COMMAND = "nginx: worker process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nginx(Program, Describes, Versioned, Demands, Prepares, Fills, Checks, Pins):
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

    def setup(self) -> Rows:
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

    def needs(self) -> Needs:
        """Its workers are processes, as many as the study says."""
        return Needs(workers=self.processes, port=self.port)

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
        settings = CONFIG.format(
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
        # Else workers of a root that cannot change users would try to be `nobody`, and end.
        return f"user root;\n{settings}" if users.stays_root() else settings

    def start(self, work: Path, address: Address) -> Start:
        """The system's nginx, and the configuration file that its flags name.

        Cached files are let go of if the study says so.
        """
        if self.is_cold:
            for number in range(self.files):
                forget(work / "files" / f"{number}.html")
        server_files.write(work / "nginx.conf", self.config(address))
        words = ("-p", f"{work}/", "-c", "nginx.conf")
        return Start(program=self.path, words=words, open_files=self.open_files)

    def endpoint(self, address: Address) -> Endpoint:
        """HTTP at the address, and the files that are asked for."""
        return Endpoint(target=f"{'h2c' if self.http2 else 'http'}://{address}/", job=self.job())

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

    def ready(self, address: Address, within_s: float) -> bool:
        """Ask for the first file."""
        return self._get(0, address, within_s) == self.body_of(0)

    def _get(self, number: int, address: Address, within_s: float) -> bytes | None:
        path, body = self.path_of(number), self.body_of(number)
        if self.http2:
            return _get_in_http2(address, path, within_s)
        request = f"GET {path} HTTP/1.1\r\nHost: {address.host}\r\n\r\n".encode()
        reply = ports.ask(address, request, within_s=within_s, until=b"\r\n\r\n" + body)
        return None if reply is None else reply.partition(b"\r\n\r\n")[2]

    def filling(self) -> Filling:
        """Requests after which each worker has opened 95 % of the files: -ln(0.05) = 3 per file."""
        if self.is_cold:  # as many as fill what memory there is; they may come from a slow disk
            return Filling(requests=self.files)
        each = math.ceil(3 * self.files) if self.open_file_cache else self.files
        return Filling(requests=each * self.processes)

    def check(self, address: Address) -> Rows:
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
        return http_get.page(at, path, within_s)
    except (OSError, HTTPException):
        return None


def version(path: Path) -> str:
    """`nginx/1.22.1`; "" if it does not say."""
    match = re.search(r"nginx/\S+", programs.says(path, "-v"))
    return match.group(0) if match else ""


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    path = programs.find(NAME, fix="apt install nginx-light")
    nginx_files.check(got)
    file_bytes = int(got["file_bytes"] or 0)
    fits, limit = nginx_files.room(file_bytes, allowance)
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
