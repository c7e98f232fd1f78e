"""NGINX that streams films to sessions: CloudSuite's media streaming in our own terms (P4).

The life of one is NGINX's. Its files are HLS play lists and chunks that ffmpeg made once
(`sojourn install media_streaming`), and what asks for them are sessions: a play list, then a chunk
of 4 s every 4 s, in one of four qualities. How long each reply must be is known, and of a sample
what is in it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.install import media_streaming as films
from sojourn.install.part import Made
from sojourn.places.ports import Address
from sojourn.services import nginx, nginx_settings
from sojourn.services.capabilities import Rows
from sojourn.services.kind import Allowance, Json, Service, ServiceKind
from sojourn.services.nginx import Nginx
from sojourn.services.params import Param, Value, settle
from sojourn.services.scaling import FILES_SPARE, connections_max

NAME = "media_streaming"
WORKERS_PAPER = 8  # P6, the most of its scenarios
MIX = "0.1/0.3/0.4/0.2"  # P4: CloudSuite's sessions, the lowest quality first
_OWN = ("access_log", "sendfile", "reuseport", "connections_max", "port")  # as nginx has them

PARAMS = (
    Param(
        name="workers",
        about="worker processes; default: 8 (P6), or one per server CPU if there are fewer; "
        '"cpus", "cpus+1": by the server\'s CPUs',
        default=None,
        lo=1,
        hi=1024,
        relative=True,
    ),
    *(param for param in nginx_settings.PARAMS if param.name in _OWN),
)


@dataclass(frozen=True, kw_only=True)
class MediaStreaming(Nginx):
    """One NGINX with its films, its parameters settled for this machine."""

    made: Made

    def setup(self) -> Rows:
        """Version, films and settings as (name, text), for people."""
        own = dict(super().setup())
        facts = self.made.facts
        report = f"{facts['films']} films of {films.CHUNKS * films.CHUNK_S} s: {facts['qualities']}"
        return (
            ("version", own["version"]),
            ("data", f"{report}; {int(facts['total_bytes']) / 1e6:.3g} MB by {facts['ffmpeg']}"),
            ("sessions", f"a play list, then {films.CHUNKS} chunks, one every {films.CHUNK_S} s"),
            *((name, own[name]) for name in ("access_log", "sendfile", "page cache", "listen")),
            *self.why,
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Its files, in the order of sessions' items."""
        return tuple((self.made.at / films.PATHS).read_text(encoding="ascii").split())

    def prepare(self, work: Path) -> None:
        """Copy the films to where it serves from: they stay its user's, and the cache ours."""
        for name in (path.removeprefix("/") for path in self.names):
            target = work / "files" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.made.at / name, target)

    def path_of(self, number: int) -> str:
        """The path of a file."""
        return self.names[number]

    def body_of(self, number: int) -> bytes:
        """What a file holds, all of it."""
        return (self.made.at / self.names[number].removeprefix("/")).read_bytes()

    def job(self) -> Mapping[str, Json]:
        """Keys of the generator's job: what sessions ask for, and what they must get."""
        return {
            "paths_file": str(self.made.at / films.PATHS),
            "expect_file": str(self.made.at / films.BODIES),
            "sessions": f"playback:chunks={films.CHUNKS},every={films.CHUNK_S}s,"
            f"start={films.START_S}s,mix={MIX}",
        }

    def check(self, address: Address) -> Rows:
        """Ask for the first play list, the one in the middle and the last chunk, and compare."""
        super().check(address)
        return (("films served", self.made.facts["films"]),)


@lru_cache(maxsize=1)
def made() -> Made:
    """The films, every file of them as it was made.

    Raises:
        HostFault: they are not installed, or a file has changed since.
    """
    return films.PART.ready()


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    path, result = programs.find(nginx.NAME, fix="apt install nginx-light"), made()
    size = int(result.facts["total_bytes"])
    for room, what in ((allowance.memory_bytes, "memory"), (allowance.disk_bytes, "disk")):
        if room is not None and size > nginx.SHARE * room:
            raise HostFault(
                f"films of {size} B do not fit into half of the free {what}",
                at=f"service {NAME}",
                fix=f"free some {what}" + ("" if what == "memory" else ", or set TMPDIR"),
            )
    connections = connections_max(got["connections_max"], allowance)
    files = sum(name not in {films.PATHS, films.BODIES} for name in result.files)
    workers, why = workers_of(got["workers"], allowance)
    return MediaStreaming(
        path=path,
        processes=workers,
        files=files,
        file_bytes=0,
        open_file_cache=True,
        access_log=bool(got["access_log"]),
        sendfile=bool(got["sendfile"]),
        directio=False,
        gzip=False,
        is_cold=False,
        http2=False,
        reuseport=bool(got["reuseport"]),
        connections_max=connections,
        cached_max=max(1, min(files, allowance.open_files - connections - FILES_SPARE)),
        port=int(got["port"] or 0),
        why=why,
        made=result,
    )


def workers_of(
    value: Value | None, allowance: Allowance
) -> tuple[int, tuple[tuple[str, str], ...]]:
    """How many workers, and why that many."""
    cpus = allowance.cpus
    if value is not None:
        turns = f"; {value} on {cpus} CPUs: they take turns (L23)" if int(value) > cpus else ""
        return int(value), (("workers", f"{value}, as the study says{turns}"),)
    workers = min(WORKERS_PAPER, cpus)
    return workers, (("workers", f"{workers}: one per server CPU, 8 at most (P6)"),)


KIND = ServiceKind(
    name=NAME,
    about="NGINX that streams films to sessions: CloudSuite's, QoS p95 within 500 ms in the paper",
    params=PARAMS,
    needs=(
        "nginx (apt install nginx-light)",
        f"its films ({films.PART.command}, once)",
    ),
    source="PAPERS P4, P8",
    width="workers",
    build=build,
)
