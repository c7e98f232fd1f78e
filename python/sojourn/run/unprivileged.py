"""The generator without root's rights, where it can do without: it reads what strangers reply.

As root the lab starts it as a user who is no one else, in a folder of its own beside the job, which
is all that it may write. What it wrote is taken over when it has ended: plain files of the names
that were asked for. It keeps the right to order threads (its sentinels go first on the server's
CPUs) and to lock memory.

It stays the lab's own user where that would not do: a unix socket in a folder of the server's, a
file or a program that only root can read, the file by which several clients take turns.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import disk
from sojourn.places import users
from sojourn.places.users import User
from sojourn.run import environment
from sojourn.spec import files

CAP_IPC_LOCK, CAP_SYS_NICE = 14, 23  # include/uapi/linux/capability.h
CAPABILITIES = (CAP_IPC_LOCK, CAP_SYS_NICE)
TURNS = "turns"  # several clients share this file: whoever takes turns stays the lab's own user
#: Keys of a job that name what is written beside the result.
WRITTEN = tuple(key for key in files.WRITTEN if key != TURNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Who a generator runs as, and where.

    Attributes:
        user: None: as the lab.
        folder: where it is started; its own, if there is a user.
        job: what it is given; files that it writes are in `folder`.
        result: path of its result, as it is given.
    """

    user: User | None
    folder: Path
    job: Mapping[str, Any]
    result: Path

    def take_over(self, to: Path) -> None:
        """Move what it wrote to another folder; nothing of its own folder is left."""
        if self.user is None:
            return
        try:
            _close(self.folder)
        except FileNotFoundError:
            return
        for name in _names(self.job, self.result):
            with contextlib.suppress(FileNotFoundError):
                result = (self.folder / name).lstat()
                if stat.S_ISREG(result.st_mode) and result.st_nlink == 1 and result.st_size:
                    (self.folder / name).replace(to / name)
                    os.chown(to / name, os.geteuid(), os.getegid(), follow_symlinks=False)
        with contextlib.suppress(OSError):
            disk.tree.remove(self.folder)


def run(job: Mapping[str, Any], result: Path, program: Path) -> Run:
    """How the generator is run for a job.

    Args:
        job: its keys.
        result: where its result is wanted.
        program: the generator.
    """
    home, user = result.parent, users.client_user()
    plain = Run(user=None, folder=home, job=job, result=result)
    if user is None or not _needs_no_root(job, home, program):
        return plain
    folder = home / f"{result.stem}.own"
    try:
        with contextlib.suppress(FileNotFoundError):
            disk.tree.remove(folder)
        folder.mkdir(mode=0o700)
        names = {key: Path(job[key]).name for key in WRITTEN if job.get(key)}
        made = Run(user=user, folder=folder, job={**job, **names}, result=Path(result.name))
        for name in _names(made.job, made.result):
            # They are there, so that it need not try whether it can make them: folders above may be
            # closed to it. What is still empty at the end was not written.
            (folder / name).touch(mode=0o600)
            os.chown(folder / name, user.uid, user.gid, follow_symlinks=False)
        os.chown(folder, user.uid, user.gid, follow_symlinks=False)
    except OSError:  # a disk without owners
        with contextlib.suppress(OSError):
            disk.tree.remove(folder)
        return plain
    return made


def _close(folder: Path) -> None:
    """Take a folder back: what is looked at by name must not be another file when it is moved.

    A process that the generator left behind has its user, who no longer may change names here.
    """
    handle = os.open(folder, disk.tree.FOLDER)
    try:
        os.fchown(handle, os.geteuid(), os.getegid())
        os.fchmod(handle, 0o700)
    finally:
        os.close(handle)


def _names(job: Mapping[str, Any], result: Path) -> list[str]:
    return [result.name, *(str(job[key]) for key in WRITTEN if job.get(key))]


def _needs_no_root(job: Mapping[str, Any], home: Path, program: Path) -> bool:
    is_beside = all(Path(job[key]).parent == home for key in WRITTEN if job.get(key))
    is_apart = "unix:" not in str(job.get("target", "")) and not job.get(TURNS)
    reads = (program, *_read(job))
    is_reached = all(path.is_absolute() and users.is_open(path, users.READ) for path in reads)
    return is_beside and is_apart and is_reached


def _read(job: Mapping[str, Any]) -> Iterator[Path]:
    """Files that the generator reads for a job."""
    yield from (path for _, path in files.named(job))
    yield from environment.issuers()
