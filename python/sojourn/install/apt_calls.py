"""Calls of apt, run to their end, and a folder that its downloaders may enter."""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sojourn.errors import HostFault

ASK_S_MAX = 120.0
ORIGIN = "Debian"
ENGLISH = {"LC_ALL": "C.UTF-8", "LANGUAGE": ""}  # what it says is read; LANGUAGE goes first
DOWNLOADER = "_apt"


@cache
def downloaders_folder() -> str:
    """A folder that apt's downloaders may enter, gone when the lab ends; they own what is in it."""
    for base in (Path("/var/tmp"), Path("/tmp")):  # noqa: S108  # as a rule the lab's cache is closed
        if base.is_dir() and os.access(base, os.W_OK) and _is_entered(base):
            made = tempfile.TemporaryDirectory(prefix="sojourn-apt-", dir=base)
            _FOLDERS.append(made)
            Path(made.name).chmod(0o711)
            return made.name
    return tempfile.mkdtemp(prefix="sojourn-apt-")


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []  # removed when the interpreter ends


def _is_entered(folder: Path) -> bool:
    return all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents))


def give(folder: Path) -> None:
    """Make it that of apt's downloaders, where apt becomes them: as root."""
    with contextlib.suppress(KeyError):  # there is no such user: apt stays who it is
        if os.geteuid() == 0:
            os.chown(folder, pwd.getpwnam(DOWNLOADER).pw_uid, -1)


def mirror() -> str:
    """Where this machine's own packages of the distribution come from.

    Raises:
        HostFault: it has no such source.
    """
    form = "$(ORIGIN)|$(LABEL)|$(REPO_URI)"
    argv: list[str | Path] = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    lines = tried(argv, Path("/"), ASK_S_MAX).stdout.splitlines()
    for origin, label, uri in (line.split("|") for line in lines if line.count("|") == 2):
        if (origin, label) == (ORIGIN, ORIGIN):
            return uri
    raise HostFault(
        "this machine has no source of Debian's packages",
        at="apt-get indextargets",
        fix="fetching needs a Debian system; run apt-get update first",
    )


def run(argv: Sequence[str | Path], cwd: Path, within_s: float, what: str) -> None:
    """Run to the end; HostFault with its last words if it fails."""
    done = tried(argv, cwd, within_s)
    if done.returncode != 0:
        last = " | ".join(done.stderr.strip().splitlines()[-3:])
        raise HostFault(
            f"{what} cannot be fetched: {last or f'exit status {done.returncode}'}",
            at=shlex.join(map(str, argv)),
            fix="see whether the mirror can be reached, and whether the disk has room",
        )


def tried(
    argv: Sequence[str | Path], cwd: Path, within_s: float
) -> subprocess.CompletedProcess[str]:
    """Run to the end; what hangs or is not there ends like what failed."""
    try:
        return subprocess.run(
            argv,
            cwd=cwd,
            env={**os.environ, **ENGLISH},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=within_s,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 124, "", f"no end after {within_s:.0f} s")
    except OSError as error:
        return subprocess.CompletedProcess(argv, 127, "", error.strerror or str(error))
