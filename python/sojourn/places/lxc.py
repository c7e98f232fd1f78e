"""A container by LXC: all of its namespaces but that of the network, and control groups.

Started by `lxc-start` in the foreground, not by `lxc-execute`: that puts a program of its own
before the service, which then were not the first process as it is in every other container.

By default LXC makes groups at the top of every hierarchy, and one of them (`lxc.pivot`) bears the
same name for all containers and is never removed. It is told to make all three below a group with
the container's name, so no other container's can be taken for them.

Left behind where it is killed: those groups, and a folder for its lock in /run/lxc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from sojourn.places import contained, remains, starter
from sojourn.places.contained import Contained, Job
from sojourn.places.place import PlaceKind
from sojourn.places.rootfs import Bind

NAME = "lxc"
RUN = Path("/run/lxc")


class Lxc(Contained):
    """A container by LXC, its configuration in the folder of the job."""

    kind = NAME
    program: ClassVar[str] = "lxc-start"
    traces: ClassVar[tuple[Path, ...]] = (RUN / "lock/run",)  # its locks, by the job's folder
    shared: ClassVar[tuple[Path, ...]] = (*traces, RUN / "lock", RUN)

    def command(self, job: Job) -> Sequence[str | Path]:
        """`lxc-start` in the foreground, its streams those of the lab's log."""
        path, mount = job.at / "config", job.at / "mount"
        mount.mkdir()
        path.write_text("".join(f"{key} = {value}\n" for key, value in config(job, mount)))
        words = ("--foreground", "--lxcpath", job.at, "--rcfile", path, "--name", job.name, "--")
        return (*words, *starter.words(job.user, job.environment), *job.argv)


def config(job: Job, mount: Path) -> Iterator[tuple[str, str]]:
    """What its configuration says (lxc.container.conf(5)): keys with their values, in order.

    Args:
        job: what is to run.
        mount: where the root folder is mounted, seen in no other namespace.
    """
    yield "lxc.uts.name", job.name
    yield "lxc.rootfs.path", f"dir:{job.root}"
    yield "lxc.rootfs.mount", str(mount)
    yield "lxc.rootfs.options", "ro"
    yield "lxc.net.0.type", "none"  # the network that it is started in
    yield "lxc.console.path", "none"  # what the program says goes to the log
    yield "lxc.apparmor.profile", "unconfined"  # as on bare metal
    yield "lxc.no_new_privs", "1"
    yield "lxc.autodev", "1"
    yield "lxc.mount.auto", "proc:mixed sys:ro"
    for bind in job.binds:
        yield "lxc.mount.entry", _entry(bind)
    for key, folder in GROUPS:
        yield f"lxc.cgroup.dir.{key}", f"{job.name}/{folder}"
    yield "lxc.init.cwd", str(job.cwd)


GROUPS = (("monitor", "monitor"), ("monitor.pivot", "pivot"), ("container", "payload"))


def _entry(bind: Bind) -> str:
    """A line as of fstab(5): where to is counted from the container's root."""
    path = str(bind.path)
    for sign in ("\\", " ", "\t"):
        path = path.replace(sign, f"\\{ord(sign):03o}")
    return f"{path} {path.lstrip('/')} none rbind,{'rw' if bind.is_writable else 'ro'} 0 0"


KIND = PlaceKind(
    name=NAME,
    label="LXC container",
    about="a container by LXC over this machine's root, read-only",
    needs=("root (CAP_SYS_ADMIN)", "control groups"),
    abilities=("containers",),
    programs={"lxc-start": "lxc"},
    build=Lxc,
    networks=("netns",),
    shows_environment=True,
    undo={contained.ENTRY: remains.undo},
)
