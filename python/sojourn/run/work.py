"""A private folder for a server's working files: made, handed to its user, removed."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import disk, places
from sojourn.disk import disk_fault
from sojourn.errors import HostFault
from sojourn.places import server_files, temporary, users
from sojourn.places.users import User
from sojourn.run.journal import Journal
from sojourn.services.capabilities import RunsAs, needs

if TYPE_CHECKING:
    from sojourn.services import Service
    from sojourn.services.capabilities import Rows
    from sojourn.spec import ServiceSpec

PREFIX, VM = "sojourn-", "vm"
NAME_BYTES = 8
MARK = ".sojourn-work"  # `restore` removes no folder without it


def user_of(service: Service) -> User | None:
    """Whom a service runs as, and whose its working folder is; None: who runs the lab."""
    runs_as = needs(service).runs_as
    if runs_as is RunsAs.LAB:
        return None
    return users.server_user(has_account=runs_as is RunsAs.ACCOUNT)


def base(user: User | None) -> Path:
    """A folder for temporary files that the server's user can enter.

    Raises:
        HostFault: there is none.
    """
    if folder := temporary.base(user):
        return folder
    raise HostFault(
        f"no folder for temporary files that user {user.name if user else ''} can enter",
        at=tempfile.gettempdir(),
        fix="set TMPDIR to a folder with parents that others may enter (chmod o+x)",
    )


def check_disk(spec: ServiceSpec, service: Service) -> None:
    """Refuse a service that is to write to a disk where its working folder is in memory.

    Raises:
        HostFault: so it is, and the study asks for it by name.
    """
    where, fix = _in_memory(spec, service) if needs(service).is_durable else ("", "")
    if where:
        raise HostFault(
            f"{spec.label} is to write to a disk, and {where}",
            at=f"services.{spec.label}.params",
            fix=fix,
        )


def disk_rows(spec: ServiceSpec, service: Service) -> Rows:
    """That what it writes stays in memory, as (name, text) for people; () where it does not."""
    where, _ = _in_memory(spec, service)
    return (("disk", f"none: {where}"),) if where else ()


def _in_memory(spec: ServiceSpec, service: Service) -> tuple[str, str]:
    """Why what a service syncs reaches no disk, and the fix; "" and any: it does, or none is."""
    if not needs(service).is_syncing:
        return "", ""
    if places.kind(spec.place).name == VM:
        from sojourn.places import vm  # noqa: PLC0415 - few services are in a guest

        stores = {kind.name for kind in vm.STORES}
        has_disk = any(option.name in stores for option in places.options(spec.place))
        why = "" if has_disk else "the working folder of a guest is in its memory"
        return why, 'give place = "vm:nbd" or "local"'
    folder = temporary.base(user_of(service))
    kind = temporary.kind(folder) if folder else ""
    why = f"its working folder in {folder} is on {kind}" if kind in temporary.MEMORY else ""
    return why, temporary.ON_DISK


def make(journal: Journal, user: User | None) -> tuple[Path, int]:
    """Make a folder that `user` could be given; returns it and its entry in the journal."""
    place = base(user)
    folder = place / f"{PREFIX}{secrets.token_hex(NAME_BYTES)}"  # drawn here: noted before it is
    entry = journal.made(folder)
    try:
        folder.mkdir(mode=0o700)
        (folder / MARK).touch()
    except OSError as error:
        undo(folder)
        journal.undone(entry)
        raise disk_fault(error, place) from None
    return folder, entry


def hand_over(folder: Path, user: User | None) -> None:
    """Give it to the server's user, who from now on decides what lies there under which name."""
    if user:
        os.chown(folder, user.uid, user.gid, follow_symlinks=False)


def reachable(program: Path, folder: Path, user: User | None) -> Path:
    """The program where `user` can start it: where it lies, or a copy in the working folder.

    A checkout in root's own home is closed to the user that its servers run as.

    Raises:
        HostFault: it would be copied to where no program may be started.
    """
    if users.may_enter(program, user):
        return program
    if not temporary.may_run(folder):
        raise HostFault(
            f"{program} is closed to the servers' user, and {folder.parent} is mounted noexec",
            at=str(program),
            fix="set TMPDIR to a folder on a file system without noexec, or install to /usr/local",
        )
    copy = folder / program.name
    with contextlib.suppress(FileExistsError):  # an earlier life of the service made it
        made = server_files.opened(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o755)
        with os.fdopen(made, "wb") as to, program.open("rb") as whence:
            shutil.copyfileobj(whence, to)
    return copy


def undo(folder: Path) -> bool:
    """Remove a folder that a lab noted: with its mark everything in it, without if it is empty.

    Returns:
        Whether nothing of it is left, or it is not the lab's.
    """
    if not folder.name.startswith(PREFIX) or folder.is_symlink():
        return True
    if (folder / MARK).is_file():
        with contextlib.suppress(OSError):
            disk.tree.remove(folder)
        return not folder.exists()
    with contextlib.suppress(OSError):
        folder.rmdir()  # the lab died before it set the mark
    return True


def remove(folder: Path, entry: int, journal: Journal) -> None:
    """Remove it with everything in it."""
    with contextlib.suppress(OSError):
        disk.tree.remove(folder)
    if not folder.exists():
        journal.undone(entry)


@contextmanager
def readable_by_others() -> Iterator[None]:
    """Files made within can be read by the server's user, whatever the lab's umask is."""
    before = os.umask(0o022)
    try:
        yield
    except OSError as error:
        raise disk_fault(error, Path(str(error.filename or tempfile.gettempdir()))) from None
    finally:
        os.umask(before)


def room(user: User | None) -> tuple[int | None, int | None]:
    """Free bytes and free files where the folder would lie; None where the disk does not say."""
    with contextlib.suppress(OSError):
        free = os.statvfs(base(user))
        # Some file systems (btrfs) have no fixed number of files and say 0.
        return free.f_bavail * free.f_frsize, free.f_favail or None
    return None, None
