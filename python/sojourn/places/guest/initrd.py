"""The root folder of a guest: a busybox, the service's program, what it needs, and its work.

    /init               the agent (agent.sh)
    /sojourn/           what it is given: settings, modules, how the service is started
    /bin/busybox        everything else that a shell needs
    the program, the libraries it is linked with, and its working folder, where they are here

It lies in the guest's memory. What the service writes there is gone with the guest, but for files
that it leaves new in its working folder (`agent.sh` sends those when it has ended).
"""

from __future__ import annotations

import os
import secrets
import shlex
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn.install.part import Made
from sojourn.install.vm import BUSYBOX, MODULES
from sojourn.places.guest.cpio import Archive
from sojourn.places.guest.linked import further, is_native, linked
from sojourn.places.users import User

AGENT = Path(__file__).with_name("agent.sh")
SEED_BYTES = 64
UMASK, FILES_OPEN = 0o077, 65_536
#: Of this machine, where they are: how libraries are found, and the names of protocols and hosts.
TABLES = ("/etc/ld.so.cache", "/etc/services", "/etc/protocols", "/etc/nsswitch.conf")
LOCALE = Path("/usr/lib/locale/C.utf8")  # glibc knows no UTF-8 without it


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a guest is to run.

    Attributes:
        argv: the program by its full path, and its words.
        cwd: its working folder, all of which goes along.
        leave_out: files there that do not.
        user: whom it runs as; None: root, in the guest.
        open_files: how many it may have; 0: FILES_OPEN, because its kernel gives 1,024.
        environment: its variables.
        address: of the guest, with the length of the prefix: "10.0.0.2/29".
        settings: of the guest's kernel (sysctl) → value.
        mac: hardware address of its link; "": the one that its device has.
        carries: files and folders of this machine that go along, where they are here.
        has_disk: the working folder is on the guest's disk, so it does not go along.
    """

    argv: tuple[str, ...]
    cwd: Path
    leave_out: tuple[Path, ...] = ()
    user: User | None = None
    open_files: int = 0
    environment: Mapping[str, str]
    address: str = ""
    settings: Mapping[str, str]
    mac: str = ""
    carries: tuple[Path, ...] = ()
    has_disk: bool = False


def write(at: Path, made: Made, job: Job) -> int:
    """Write the archive to `at`; returns its size, bytes.

    Raises:
        RunFault: the program is not one that can be carried over.
        OSError: a file cannot be read, or the archive not be written.
    """
    with at.open("wb") as file:
        archive = Archive(file)
        _base(archive, made)
        return _end(archive, job)


def write_job(at: Path, job: Job) -> int:
    """Write the archive of the service alone, for a guest that runs; raises as `write`.

    It begins with a seed for the guest's random numbers: guests of one saved state have the same.
    """
    with at.open("wb") as file:
        archive = Archive(file)
        archive.data("sojourn/seed", secrets.token_bytes(SEED_BYTES), mode=0o600)
        return _end(archive, job)


def _end(archive: Archive, job: Job) -> int:
    program = Path(job.argv[0])
    libraries = linked(program, job.user)
    archive.data("sojourn/conf", conf(job).encode(), mode=0o644)
    archive.data("sojourn/service", service(job).encode(), mode=0o755)
    _users(archive, job.user)
    for path in (program, *libraries):
        archive.file(path, path, mode=0o755)
    for path in (*map(Path, TABLES), *_named(job.argv[1:], job.cwd)):
        if path.is_file():
            archive.file(path, path)
            for library in linked(path, job.user) if is_native(path) else ():
                archive.file(library, library, mode=0o755)
    for path in (LOCALE, *job.carries):
        _carry(archive, path)
    for library in further((job.cwd, *job.carries), job.user):
        archive.file(library, library, mode=0o755)
    if job.has_disk:
        archive.folder(job.cwd)
    else:
        _work(archive, job)
    return archive.end()


def write_bare(at: Path, made: Made, script: str = "") -> None:
    """Write an archive without a service, which starts a script, or the agent."""
    with at.open("wb") as file:
        archive = Archive(file)
        _base(archive, made, script)
        archive.end()


def conf(job: Job) -> str:
    """What the agent is given, as lines of shell."""
    disk = "1" if job.has_disk else ""
    words = {"ADDRESS": job.address, "MAC": job.mac, "WORK": str(job.cwd), "DISK": disk}
    lines = [f"{name}={shlex.quote(value)}" for name, value in words.items()]
    report = "\n".join(f"{name}={value}" for name, value in job.settings.items())
    return "\n".join([*lines, f"SETTINGS={shlex.quote(report)}"]) + "\n"


def service(job: Job) -> str:
    """How the service is started, as a script that becomes it."""
    argv = list(map(shlex.quote, job.argv))
    become = ["exec", *argv]
    if job.user:
        who = f"{job.user.uid}:{job.user.gid}"
        become = ["exec start-stop-daemon -S -c", who, "-x", argv[0], "--", *argv[1:]]
    exports = [f"export {name}={shlex.quote(value)}" for name, value in job.environment.items()]
    limit = f"ulimit -n {job.open_files or FILES_OPEN}"
    cd = f"cd {shlex.quote(str(job.cwd))} || exit 127"
    return "\n".join(["#!/bin/sh", *exports, limit, cd, f"umask {UMASK:03o}", " ".join(become)])


def _base(archive: Archive, made: Made, init: str = "") -> None:
    archive.console()
    for name in ("proc", "sys", "dev", "bin", "sojourn/modules", "var/log", "var/tmp", "root"):
        archive.folder(name)
    for name in ("tmp", "run"):
        archive.folder(name, mode=0o1777)
    archive.file("bin/busybox", made.at / BUSYBOX, mode=0o755)
    for module in sorted((made.at / MODULES).iterdir()):
        archive.file(f"sojourn/modules/{module.name}", module)
    archive.data("init", init.encode() or AGENT.read_bytes(), mode=0o755)


def _users(archive: Archive, user: User | None) -> None:
    """Who is who: root, and whom the service runs as."""
    known = [("root", 0, 0)] + ([(user.name, user.uid, user.gid)] if user else [])
    people = "".join(f"{name}:x:{uid}:{gid}::/:/bin/sh\n" for name, uid, gid in known)
    archive.data("etc/passwd", people.encode())
    archive.data("etc/group", "".join(f"{name}:x:{gid}:\n" for name, _, gid in known).encode())
    archive.data("etc/hosts", b"127.0.0.1 localhost\n")


def _named(words: Iterable[str], cwd: Path) -> tuple[Path, ...]:
    """Files of this machine that the service's words name by a full path."""
    paths = [Path(word) for word in words if word.startswith("/")]
    return tuple(path for path in paths if not path.is_relative_to(cwd))


def _carry(archive: Archive, path: Path) -> None:
    """A file of this machine, or all plain files and links of a folder."""
    paths = [path, *sorted(path.rglob("*"))] if path.is_dir() else [path]
    for one in paths:
        if one.is_symlink():
            archive.link(one, os.readlink(one))  # noqa: PTH115  # its text
        elif one.is_file():
            archive.file(one, one)


def _work(archive: Archive, job: Job) -> None:
    """The working folder as it is, owners and modes included; of other kinds of file nothing."""
    for folder, _, names in os.walk(job.cwd):
        result = os.lstat(folder)
        owner = (result.st_uid, result.st_gid)
        archive.folder(folder, mode=stat.S_IMODE(result.st_mode), owner=owner)
        for path in sorted(_entries(Path(folder), names)):
            result = path.lstat()
            owner = (result.st_uid, result.st_gid)
            if path in job.leave_out:
                continue
            if stat.S_ISLNK(result.st_mode):
                archive.link(path, os.readlink(path), owner=owner)  # noqa: PTH115  # its text
            elif stat.S_ISREG(result.st_mode):
                archive.file(path, path, owner=owner, follow=False)


def _entries(folder: Path, names: Sequence[str]) -> Iterable[Path]:
    """Files, and links to folders, which `os.walk` counts among folders."""
    yield from (folder / name for name in names)
    yield from (path for path in folder.iterdir() if path.is_symlink() and path.name not in names)
