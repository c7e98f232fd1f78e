"""Unpacks an image of podman as a bundle; nothing of it is run."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn import disk, programs
from sojourn.errors import RunFault
from sojourn.places import confined, image, podman, runc, starter
from sojourn.places.image import CONFIG, ROOTFS, Image

AT = "service container"
PODMAN, TAR = podman.PODMAN, "tar"
UNPACK_S_MAX = 900.0
PATH_BYTES_MAX = 4096  # PATH_MAX
NO_IMAGE = "take another image; no program needs such folders"
_UNPACKS = "-all,+chown,+dac_override,+fowner,+fsetid,+mknod"
_SETUID = stat.S_ISUID | stat.S_ISGID


def unpacked(name: str, into: Path) -> Image:
    """Fetch an image by podman and unpack it as a bundle; podman runs nothing.

    Args:
        name: of the image, as podman takes it.
        into: a folder that is not there yet.

    Raises:
        RunFault: podman cannot have it, or it cannot be unpacked.
    """
    (into / ROOTFS).mkdir(parents=True)
    with podman.noted() as held:
        _podman("create", "--pull=missing", "--name", held, "--", name)
        report = _reported(held)
        archive = into / "rootfs.tar"
        _podman("export", "-o", str(archive), "--", held)
        # The program, not Python's: it leaves what would lie outside, in every version.
        tar = programs.find(TAR, fix="apt install tar")
        _run(*_with_few_rights(tar), "-xf", str(archive), "-C", str(into / ROOTFS))
        archive.unlink()
    _strip(into / ROOTFS)
    (into / CONFIG).write_text(json.dumps(configured(report)), encoding="utf-8")
    return image.read(into)


def _reported(held: str) -> Mapping[str, Any]:
    """The configuration of a container that podman has made.

    The image's own words are taken: before podman 5 a container has its entrypoint as one text, and
    where its words began is lost.
    """
    made = json.loads(_podman("inspect", "--", held))[0]
    own = json.loads(_podman("image", "inspect", "--", made["Image"]))[0].get("Config") or {}
    return {**made["Config"], **{key: own.get(key) for key in ("Entrypoint", "Cmd")}}


def _with_few_rights(program: Path) -> tuple[Path, *tuple[str, ...]]:
    """A program that reads a stranger's archive: it may own and make files, and no more."""
    if os.geteuid():
        return (program,)
    setpriv = programs.find(starter.SETPRIV, fix="apt install util-linux")
    return (
        setpriv,
        "--no-new-privs",
        "--inh-caps=-all",
        f"--bounding-set={_UNPACKS}",
        str(program),
    )


def _strip(root: Path) -> None:
    """Take from what was unpacked what gives rights by being there: setuid bits and devices.

    No program in the container gains rights anyway. The folder is the lab's alone meanwhile.
    """
    for _, entries in disk.tree.walk(root):
        for entry in entries:
            if len(os.fsencode(entry)) >= PATH_BYTES_MAX:  # what lies in it would not be seen
                raise RunFault("the image's folders are too deep", at=f"{AT}, image", fix=NO_IMAGE)
            mode, path = entry.stat(follow_symlinks=False).st_mode, Path(entry)
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                path.unlink()
            elif not stat.S_ISLNK(mode) and mode & _SETUID:
                path.chmod(stat.S_IMODE(mode) & ~_SETUID)


def _podman(*words: str) -> str:
    return _run(programs.find(PODMAN, fix="apt install podman"), *words)


def _run(program: Path, *words: str) -> str:
    """What a program says; a RunFault with its last line if it fails."""
    argv, what = [str(program), *words], f"{program.name} {words[0]}"
    try:
        # fmt: off
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=UNPACK_S_MAX, check=False,
            stdin=subprocess.DEVNULL,
        )
        # fmt: on
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunFault(f"{what}: {error}", at=AT, fix="try it by hand") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise RunFault(
            f"{what} fails: {lines[-1] if lines else done.returncode}",
            at=f"{AT}, image",
            fix=f"try it by hand: {shlex.join(argv)}",
        )
    return done.stdout


def configured(reports: Mapping[str, Any]) -> Mapping[str, Any]:
    """`config.json` of an image, from what podman says of its configuration."""
    words = [*_listed(reports.get("Entrypoint")), *_listed(reports.get("Cmd"))]
    rights = {kind: list(confined.RIGHTS) for kind in ("bounding", "effective", "permitted")}
    user, _, group = str(reports.get("User") or "0").partition(":")
    who = _number(user, 0)  # a name is the image's own: it starts as root
    # fmt: off
    return confined.confined({
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": who, "gid": _number(group, who)},
            "args": words,
            "env": _listed(reports.get("Env")),
            "cwd": reports.get("WorkingDir") or "/",
            "capabilities": rights,
        },
        "root": {"path": ROOTFS, "readonly": False},
        "mounts": [*runc.MOUNTS, {
            "destination": "/dev/shm", "type": "tmpfs", "source": "shm",  # noqa: S108
            "options": ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"],
        }],
        "linux": {
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "mount", "uts")],
        },
    })
    # fmt: on


def _number(text: str, usual: int) -> int:
    """Of a user or group; `usual` where it is a name, or beyond what the kernel has."""
    is_number = text.isascii() and text.isdecimal()
    return int(text) if is_number and len(text) <= len(str(2**32)) else usual


def _listed(value: object) -> list[str]:
    """What podman gives as a list, a text or nothing."""
    if isinstance(value, str):
        try:
            return shlex.split(value)
        except ValueError:  # a quote that does not end
            return value.split()
    return [str(one) for one in value] if isinstance(value, list) else []
