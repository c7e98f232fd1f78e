"""Programs that are compiled for the lab, of its own sources and of packages that were unpacked.

What comes out can be moved: a program looks for its libraries in the folder `lib` beside it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

SOURCES = Path(__file__).with_name("sources")
COMPILER = "g++"
PACKAGE = {COMPILER: "g++"}
FLAGS = ("-std=c++17", "-O2", "-Wall", "-Wextra", "-pthread")
RUN_S_MAX = 600.0
LIBRARIES = "lib"
SONAME = re.compile(r"lib.+\.so\.\d+")


def version(*files: str | Path) -> str:
    """What tells one state of files from another, of the lab's C++ headers too.

    Args:
        files: names in the folder of sources, or paths.
    """
    every = (*sorted(SOURCES.glob("*.hpp")), *(SOURCES / file for file in files))
    text = b"".join(path.read_bytes() for path in every)
    return hashlib.sha256(text).hexdigest()[:12]


def compiled(
    source: str,
    unpacked: Path,
    into: Path,
    *,
    libraries: Sequence[str] = (),
    headers: Sequence[str] = (),
) -> Path:
    """Compile `sojourn-NAME` of `NAME.cpp`, and keep it with the libraries that were unpacked.

    Args:
        source: its name in the folder of sources.
        unpacked: packages, whose headers and libraries go before the machine's.
        into: where program and libraries are stored.
        libraries: to be linked, by their short names.
        headers: folders below `/usr/include`.

    Returns:
        Path of the program.

    Raises:
        ValueError: the compiler refuses; its words say why.
    """
    program = into / f"sojourn-{Path(source).stem}"
    shared(unpacked, into)
    include = unpacked / "usr/include"
    folders = (*sorted(unpacked.glob("usr/lib/*-linux-gnu*")), into / LIBRARIES)
    ran(
        (
            *(COMPILER, *FLAGS, "-o", program, SOURCES / source),
            *(f"-I{folder}" for folder in (include, *(include / name for name in headers))),
            *(f"-I{folder}" for folder in sorted(include.glob("*-linux-gnu*"))),
            *(f"-L{folder}" for folder in folders),
            *(f"-l{name}" for name in libraries),
            # Not the newer form, which holds for the program's own libraries and not for theirs.
            f"-Wl,--disable-new-dtags,-rpath,$ORIGIN/{LIBRARIES},-rpath-link,{into / LIBRARIES}",
        ),
        cwd=into,
    )
    return program


def shared(unpacked: Path, into: Path) -> None:
    """Keep every shared library of unpacked packages under the name that programs ask for."""
    (into / LIBRARIES).mkdir(exist_ok=True)
    for path in sorted(unpacked.rglob("lib*.so.*")):
        if SONAME.fullmatch(path.name) and path.is_file():
            shutil.copyfile(path, into / LIBRARIES / path.name)


def surroundings(libraries: Path | str, **more: str) -> Mapping[str, str]:
    """Environment of a program that was unpacked, and that finds its libraries there."""
    return {**os.environ, "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": str(libraries), **more}


def unpacked_surroundings(unpacked: Path, **more: str) -> Mapping[str, str]:
    """Environment of a program among unpacked packages: it finds every folder that has libraries.

    Some have libraries in folders of their own, where only their installation would find them.
    """
    folders = sorted({str(path.parent) for path in unpacked.rglob("lib*.so*")})
    return surroundings(":".join(folders), **more)


def ran(
    argv: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    inputs: bytes = b"",
) -> bytes:
    """What a program writes to stdout.

    Args:
        argv: program and arguments.
        cwd: where it runs.
        env: its environment; None: that of the lab.
        inputs: its stdin.

    Raises:
        ValueError: it fails or does not end; with its last words.
    """
    name = Path(argv[0]).name
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=env,
            input=inputs,
            capture_output=True,
            timeout=RUN_S_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{name} does not end within {RUN_S_MAX:.0f} s") from None
    except OSError as error:
        raise ValueError(f"{name} cannot be started: {error.strerror}") from None
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        last = " | ".join(words[:4])
        raise ValueError(f"{name} fails: {last or f'exit status {done.returncode}'}")
    return done.stdout
