"""One study at a time on a machine: two at once disturb each other, and neither would know.

A file that every user of the machine can open carries a lock, which the kernel holds for whoever
measures and drops when that process dies, however it dies. What the file says (process, study,
start) is for the message only and decides nothing: anybody may have written it.

The folder is chosen by what it is, not by what this user may do there, so that all users meet at
one file. It is world-writable, so the file is opened without following links, and must be a plain
file of one name.

A container has folders of its own. So the holder also binds an abstract socket name, which all
share that share a network. Who shares neither cannot be seen; the record then says so (`unseen`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sojourn import disk
from sojourn.errors import RunFault
from sojourn.run.watch import Deadline, Event, Show
from sojourn.units import show_s

STANDARD = (Path("/run/lock"), Path("/tmp"))  # noqa: S108 - see `_is_safe`
FOLDERS = STANDARD
NAME = "sojourn.lock"
SHARED = stat.S_ISVTX | stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO
OVERFLOW_UID = 65534  # in a user namespace, root of the machine looks like this
TRIES = 10  # to open a file that others make and remove meanwhile
LOOK_S = 0.5
TEXT_MAX = 4096
NAME_MAX = 80
ELSEWHERE = "a study that does not share this folder, as in another container"
HOST_PIDS = 0xEFFFFFFC  # inode of the first namespace of processes, in every kernel
CREDENTIALS = struct.Struct("iII")  # pid (0: not of this namespace), uid, gid


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who measures, as far as the file says.

    Attributes:
        pid: 0: not told.
        study: its name, "" if not told.
        began_s: seconds since 1970; 0: not told.
    """

    pid: int = 0
    study: str = ""
    began_s: float = 0.0

    @property
    def text(self) -> str:
        """`selfcheck (process 4711, since 17:40:12 UTC, 3 min 20 s)`."""
        facts = [f"process {self.pid}"] if self.pid else []
        if self.began_s:
            clock = time.strftime("%H:%M:%S UTC", time.gmtime(self.began_s))
            facts += [f"since {clock}", show_s(max(0.0, time.time() - self.began_s))]
        return (self.study or "a study") + (f" ({', '.join(facts)})" if facts else "")


@contextmanager
def taken(
    study: str, show: Show, *, wait_s: float = 0.0, is_forced: bool = False
) -> Iterator[Holder | None]:
    """Hold the machine while a study is measured.

    Args:
        study: its name, for whoever comes next.
        show: is told when it waits, and what it goes on in spite of.
        wait_s: how long to wait for another study to end.
        is_forced: go on beside another study.

    Yields:
        The study beside which this one is measured; None: it has the machine to itself.

    Raises:
        RunFault: another study is measured, and did not end in time.
    """
    handle = _open()
    if handle is None:  # no folder that users share: no one could be met there either
        text = "no folder for a lock of the machine; nothing is locked but a name"
        show(Event(step="turn", text=text))
    with contextlib.ExitStack() as stack:
        if handle is not None:
            stack.callback(os.close, handle)
        address = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        other = _wait(handle, address, show, wait_s=wait_s, is_forced=is_forced)
        if other is None and handle is not None:
            _put(handle, {"pid": os.getpid(), "study": study, "began_s": round(time.time())})
            stack.callback(os.ftruncate, handle, 0)
        yield other


def unseen() -> str:
    """Why others on this host may measure at the same time without being seen; "" if not so."""
    try:
        if Path("/proc/self/ns/pid").stat().st_ino == HOST_PIDS:
            return ""
    except OSError:
        return ""
    return "in a container: others on this host cannot be seen, nor whether they measure as well"


def _wait(
    handle: int | None, address: socket.socket, show: Show, *, wait_s: float, is_forced: bool
) -> Holder | None:
    deadline = Deadline(wait_s)
    report: Holder | None = None
    while (holder := _current_holder(handle, address)) is not None:
        if is_forced:
            show(Event(step="turn", text=f"at the same time as {holder.text}: both are disturbed"))
            return holder
        if deadline.is_over:
            raise _refusal(holder, wait_s)
        if holder != report:
            text = f"waiting up to {show_s(deadline.left_s)} for {holder.text} to end"
            show(Event(step="turn", text=text))
            report = holder
        time.sleep(min(LOOK_S, deadline.left_s))
    return None


def _current_holder(handle: int | None, address: socket.socket) -> Holder | None:
    """Who holds the machine; None: this program does, from now on."""
    if handle is not None and not _lock(handle):
        return _holder(handle)
    try:
        address.bind(_name())
        address.listen(1)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:  # no such names here; the file is all there is
            return None
        if handle is not None:
            fcntl.flock(handle, fcntl.LOCK_UN)
        return _listening()
    return None


def _name() -> str:
    """An abstract name, which all in this network share that share no folder.

    >>> _name().startswith(chr(0))
    True
    """
    folders = "".join(map(str, FOLDERS)).encode()
    own = "" if FOLDERS == STANDARD else f":{blake2b(folders, digest_size=8).hexdigest()}"
    return f"\0{NAME}{own}"


def _listening() -> Holder:
    """Who holds the abstract name, as far as the kernel says."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)  # noqa: FBT003 - the library's
        try:
            asking.connect(_name())
            result = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        except OSError:  # it has just gone, or is asked by many
            return Holder(study=ELSEWHERE)
    return Holder(pid=CREDENTIALS.unpack(result)[0], study=ELSEWHERE)


def _refusal(holder: Holder, waited_s: float) -> RunFault:
    waited = f", also after {show_s(waited_s)} of waiting" if waited_s else ""
    return RunFault(
        f"this machine is measuring {holder.text}{waited}; two studies at once disturb each other",
        at=str(_path()),
        fix="wait for it with --wait 10m, or measure beside it with --force",
    )


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _path() -> Path | None:
    """The lock file; None where no folder is shared by all users."""
    folder = next((folder for folder in FOLDERS if _is_safe(folder)), None)
    return folder / NAME if folder else None


def _is_safe(folder: Path) -> bool:
    """Whether all may write, and only a file's owner may remove it (`sticky`)."""
    try:
        result = folder.lstat()
        is_open = not os.statvfs(folder).f_flag & os.ST_RDONLY  # else it is so for all users
    except OSError:
        return False
    is_owned = result.st_uid in {0, OVERFLOW_UID, os.geteuid()}
    is_shared = stat.S_ISDIR(result.st_mode) and result.st_mode & SHARED == SHARED
    return is_shared and is_owned and is_open


def _open() -> int | None:
    path = _path()
    if path is None:
        return None
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    for _ in range(TRIES):
        try:
            # Without O_CREAT first: the kernel refuses it for files of others in sticky folders
            # (fs.protected_regular), and then the users of a machine would not meet.
            return _checked(os.open(path, flags), path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise _unusable(path, error) from None
        try:
            handle = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            continue
        except OSError as error:
            raise _unusable(path, error) from None
        os.fchmod(handle, 0o666)  # the mask of this user must not lock others out
        return handle
    raise _unusable(path, OSError(errno.EAGAIN, "it is made and removed again and again"))


def _checked(handle: int, path: Path) -> int:
    """Refuse what somebody may have put there instead of a lock file."""
    result = os.fstat(handle)
    if stat.S_ISREG(result.st_mode) and result.st_nlink == 1:
        return handle
    os.close(handle)
    raise _unusable(path, OSError(errno.EINVAL, "it is not a plain file of one name"))


def _unusable(path: Path, error: OSError) -> RunFault:
    why = "it is a link" if error.errno == errno.ELOOP else error.strerror
    return RunFault(
        f"the machine's lock file cannot be used: {why}",
        at=str(path),
        fix="find its owner and remove it (as root, if it is not yours), then run again",
    )


def _put(handle: int, table: dict[str, Any]) -> None:
    """Say who measures, for the message of whoever comes next; a full disk takes no words."""
    os.ftruncate(handle, 0)
    with contextlib.suppress(OSError):
        os.pwrite(handle, json.dumps(table).encode(), 0)


def _holder(handle: int) -> Holder:
    """What the file says, made fit for a terminal; anybody may have written it."""
    try:
        table = disk.parsed(os.pread(handle, TEXT_MAX, 0))
        study = "".join(c for c in str(table["study"]) if c.isprintable())[:NAME_MAX]
        began_s, now_s = float(table["began_s"]), time.time()
        is_reported = 0 < began_s < now_s + 1  # else it is no time that a clock can show
        return Holder(pid=int(table["pid"]), study=study, began_s=began_s if is_reported else 0.0)
    except (ValueError, KeyError, TypeError, OverflowError):
        return Holder()
