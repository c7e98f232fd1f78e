"""Films for the service `media_streaming`: HLS play lists and chunks, made here by ffmpeg.

    test pictures ─► ffmpeg, each film in each quality ─► chunks ─► two lists: paths, bodies

Where ffmpeg is not installed it is downloaded, used and thrown away. Pictures come from its own
sources with fixed seeds, on one thread, at a constant bit rate, so one version of ffmpeg makes the
same bytes again.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn import programs
from sojourn.install import cpp
from sojourn.install.debs import Deb
from sojourn.install.part import Part, hashed

NAME = "media_streaming"
FFMPEG = "ffmpeg"
VERSION = "1"
CHUNKS, CHUNK_S = 10, 4
START_S = 0.5  # from a session's play list to its first chunk
SESSION_S = START_S + (CHUNKS - 1) * CHUNK_S  # for so long a session is under way
FRAMES_PER_S = 25
LIST = "list.m3u8"
PATHS, BODIES = "paths.txt", "bodies.txt"
MAKE_S_MAX = 600.0
MADE_BYTES = 84_000_000  # 4 films x 40 s x 4 Mbit/s of all qualities, and what containers add


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """One quality: height of the picture, and bit rate."""

    height: int
    kbit_per_s: int


#: The lowest first, as sessions count them. A chunk of the best stays below 1 MiB, the longest
#: reply whose content the generator checks.
QUALITIES = (
    Quality(height=240, kbit_per_s=300),
    Quality(height=360, kbit_per_s=700),
    Quality(height=480, kbit_per_s=1_200),
    Quality(height=720, kbit_per_s=1_800),
)
#: Sources of pictures, as ffmpeg's lavfi names them: small, and drawn larger, which costs less.
FILMS = (
    "testsrc2=size=320x180:rate=25",
    "life=size=320x180:rate=25:seed=7:mold=10:life_color=#c83232:death_color=#c8c832",
    "cellauto=size=320x180:rate=25:rule=110:random_seed=7",
    "smptehdbars=size=320x180:rate=25",
)


def names(films: int = len(FILMS)) -> Iterator[tuple[str, ...]]:
    """Files of each film in each quality, the play list first: the order of sessions' items."""
    for film in range(films):
        for quality in range(len(QUALITIES)):
            folder = f"film{film}/q{quality}"
            yield (f"{folder}/{LIST}", *(f"{folder}/{chunk}.ts" for chunk in range(CHUNKS)))


def make(unpacked: Path, into: Path) -> Mapping[str, str]:
    """Make every film in every quality, and the two files that say what they are.

    Raises:
        ValueError: ffmpeg failed, or made something else.
    """
    ffmpeg = programs.maybe(FFMPEG) or unpacked / "usr/bin" / FFMPEG
    env = cpp.unpacked_surroundings(unpacked)
    for film, source in enumerate(FILMS):
        for number, quality in enumerate(QUALITIES):
            folder = into / f"film{film}" / f"q{number}"
            folder.mkdir(parents=True)
            _run(command(ffmpeg, source, quality), folder, env)
    describe(into, list(names()))
    made = sum(path.stat().st_size for path in into.rglob("*") if path.is_file())
    return {
        "films": str(len(FILMS)),
        "qualities": ", ".join(f"{q.height}p {q.kbit_per_s} kbit/s" for q in QUALITIES),
        "total_bytes": str(made),
        "ffmpeg": _run((ffmpeg, "-version"), into, env).split(" Copyright")[0],
    }


def command(ffmpeg: Path, source: str, quality: Quality) -> Sequence[str | Path]:
    """The command line that makes a film in its own folder.

    `-nostdin`: ffmpeg would else take what is in standard input for commands.
    """
    rate = f"{quality.kbit_per_s}k"
    return (
        *(ffmpeg, "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", source),
        *("-t", str(CHUNKS * CHUNK_S), "-vf", f"scale=-2:{quality.height}"),
        *("-c:v", "libx264", "-preset", "ultrafast", "-threads", "1", "-pix_fmt", "yuv420p"),
        *("-b:v", rate, "-minrate", rate, "-maxrate", rate, "-bufsize", rate),
        *("-x264-params", f"nal-hrd=cbr:keyint={FRAMES_PER_S * CHUNK_S}:scenecut=0"),
        *("-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1"),
        *("-f", "hls", "-hls_time", str(CHUNK_S), "-hls_list_size", "0"),
        *("-hls_playlist_type", "vod", "-hls_segment_filename", "%d.ts", LIST),
    )


def describe(into: Path, films: Sequence[Sequence[str]]) -> None:
    """Write what is asked for, in the order of sessions' items, and what each body must be.

    Raises:
        ValueError: a file of a film is missing or empty, or there is one more.
    """
    every = [name for film in films for name in film]
    results = {str(path.relative_to(into)) for path in into.rglob("*") if path.is_file()}
    if odd := sorted(results.symmetric_difference(every)):
        raise ValueError(f"{FFMPEG} did not make the {len(every)} files wanted: see {odd[0]}")
    lines = []
    for name in every:
        size = (into / name).stat().st_size
        if not size:
            raise ValueError(f"{FFMPEG} made an empty {name}")
        lines.append(f"/{name} {size} {hashed(into / name)}\n")
    (into / PATHS).write_text("".join(f"/{name}\n" for name in every), encoding="ascii")
    (into / BODIES).write_text("".join(lines), encoding="ascii")


def packages() -> tuple[Deb, ...]:
    """What has to be downloaded for it here: ffmpeg, if this machine has none."""
    return () if programs.maybe(FFMPEG) else (Deb(package=FFMPEG, has_more=True),)


def _run(argv: Sequence[str | Path], folder: Path, env: Mapping[str, str]) -> str:
    done = subprocess.run(
        argv,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=MAKE_S_MAX,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)
        text = " | ".join(done.stderr.strip().splitlines()[-3:])
        raise ValueError(f"{FFMPEG} failed in {folder.name}: {text or done.returncode}")
    return done.stdout


PART = Part(
    name=NAME,
    about="films in four qualities for the service media_streaming, made here by ffmpeg",
    version=VERSION,
    debs=packages,
    made_bytes=MADE_BYTES,
    make=make,
)
