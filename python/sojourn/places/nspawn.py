"""A container by systemd-nspawn, without systemd: namespaces, filters of system calls, our groups.

It is not registered with a service manager and keeps the group that it is started in, which would
be the lab's: so the lab makes groups for it in every hierarchy (`cgroups.make`) and starts it
there. On a machine with groups of version 2 it makes two more below ours, for itself and for the
program. Its filters of system calls (seccomp) stay as they are by default: they are part of what
this place costs.

Left behind where it is killed: a folder with the container's name, and a lock with the number of
its root folder, both in /run/systemd/nspawn.
"""

from __future__ import annotations

import resource
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from sojourn.places import contained, remains, starter
from sojourn.places.contained import Contained, Job
from sojourn.places.place import PlaceKind
from sojourn.places.rootfs import Bind

NAME = "nspawn"
RUN = Path("/run/systemd")
ALONE = (
    "--quiet",
    "--settings=no",
    "--register=no",
    "--keep-unit",
    "--link-journal=no",
    "--resolv-conf=off",
    "--timezone=off",
    "--console=pipe",
    "--read-only",
)


class Nspawn(Contained):
    """A container by systemd-nspawn; all that it is given is on its command line."""

    kind = NAME
    program: ClassVar[str] = "systemd-nspawn"
    has_own_groups: ClassVar[bool] = False
    traces: ClassVar[tuple[Path, ...]] = (RUN / "nspawn/propagate", RUN / "nspawn/locks")
    shared: ClassVar[tuple[Path, ...]] = (*traces, RUN / "nspawn", RUN)

    def command(self, job: Job) -> Sequence[str | Path]:
        """`systemd-nspawn` in the foreground, its streams those of the lab's log."""
        return (
            *ALONE,
            f"--machine={job.name}",
            f"--directory={job.root}",
            *map(_bind, job.binds),
            f"--chdir={job.cwd}",
            f"--rlimit=RLIMIT_NOFILE={_open_files(job.open_files)}",
            *starter.words(job.user, job.environment),
            *job.argv,
        )


def _bind(bind: Bind) -> str:
    path = str(bind.path).replace("\\", "\\\\").replace(":", "\\:")
    return f"--bind={path}" if bind.is_writable else f"--bind-ro={path}"


def _open_files(wanted: int) -> int:
    """As many as the lab may have: it sets limits to the kernel's own, which are fewer."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(wanted, hard) if wanted else hard


KIND = PlaceKind(
    name=NAME,
    label="nspawn container",
    about="a container by systemd-nspawn over this machine's root, read-only",
    needs=("root (CAP_SYS_ADMIN)", "control groups"),
    abilities=("containers",),
    programs={"systemd-nspawn": "systemd-container"},
    build=Nspawn,
    networks=("netns",),
    shows_environment=True,
    undo={contained.ENTRY: remains.undo},
)
