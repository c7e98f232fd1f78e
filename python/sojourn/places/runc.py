"""An OCI container by runc: namespaces of processes, mounts and IPC, and control groups.

runc, not crun: crun refuses a machine whose control groups are of both versions. The bundle is this
machine's own root, read-only (`rootfs`), so no image is needed. No capability is left to the
service, and it can gain none. What docker hides of the kernel, or keeps from being written, is so
here too: a superuser without capabilities may still write to /proc/sys.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from sojourn.disk import tables
from sojourn.places import confined, contained, process, remains
from sojourn.places.contained import Contained, Job
from sojourn.places.place import PlaceKind
from sojourn.places.rootfs import Bind

NAME = "runc"
SPEC = "1.0.2"  # of the OCI run-time specification, which runc 1.0 and later read
UMASK = 0o077


class Runc(Contained):
    """A container by runc, its bundle in the folder of the job."""

    kind = NAME
    program: ClassVar[str] = "runc"

    def command(self, job: Job) -> Sequence[str | Path]:
        """`runc run` in the foreground, its state in the job's folder."""
        report = os.open(job.at / "config.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(report, "w", encoding="utf-8") as file:  # it has the service's environment
            json.dump(config(job), file)
        pivot = () if _can_pivot() else ("--no-pivot",)
        return ("--root", job.at / "state", "run", *pivot, "--bundle", job.at, job.name)


def config(job: Job) -> Mapping[str, Any]:
    """What `config.json` of the bundle says, as the OCI specification has it."""
    if job.image is not None:
        words = job.argv[1:]
        return job.image.runtime_config(name=job.name, words=words, environment=job.environment)
    user = {"uid": job.user.uid, "gid": job.user.gid} if job.user else {"uid": 0, "gid": 0}
    inputs = {**process.environment(), **job.environment}
    return {
        "ociVersion": SPEC,
        "process": {
            "user": {**user, "umask": UMASK},
            "args": list(job.argv),
            "env": [f"{name}={value}" for name, value in inputs.items()],
            "cwd": str(job.cwd),
            "noNewPrivileges": True,
        },
        "root": {"path": str(job.root), "readonly": True},
        "mounts": [*MOUNTS, *map(_mount, job.binds)],
        "linux": {
            # No network: the runtime is in the place's, and what it starts stays there.
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "mount")],
            "cgroupsPath": job.name,  # beside the lab's own
            "resources": {"devices": confined.devices()},
            "maskedPaths": list(confined.MASKED),
            "readonlyPaths": list(confined.READ_ONLY),
        },
    }


MOUNTS = (
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {
        "destination": "/dev",
        "type": "tmpfs",
        "source": "tmpfs",
        "options": ["nosuid", "strictatime", "mode=755", "size=65536k"],
    },
    # Mounted anew, not bound: a bind that is read-only leaves what is mounted below it writable.
    {
        "destination": "/sys",
        "type": "sysfs",
        "source": "sysfs",
        "options": ["nosuid", "noexec", "nodev", "ro"],
    },
    {
        "destination": "/sys/fs/cgroup",
        "type": "cgroup",
        "source": "cgroup",
        "options": ["nosuid", "noexec", "nodev", "relatime", "ro"],
    },
)


def _mount(bind: Bind) -> Mapping[str, Any]:
    return {
        "destination": str(bind.path),
        "type": "none",
        "source": str(bind.path),
        "options": ["rbind", "rw" if bind.is_writable else "ro"],
    }


def _can_pivot() -> bool:
    """Whether a mount of a disk is at the top: a root that is the initramfs cannot be changed."""
    every = tables.mounts(tables.text(tables.MOUNTS))
    top = next((mount for mount in every if mount.point == "/"), None)
    return top is not None and top.kind != "rootfs"  # None: it was only changed into (chroot)


KIND = PlaceKind(
    name=NAME,
    label="runc container",
    about="an OCI container by runc over this machine's root, read-only",
    needs=("root (CAP_SYS_ADMIN)", "control groups"),
    abilities=("containers",),
    programs={"runc": "runc"},
    build=Runc,
    bears_images=True,
    networks=("netns",),
    undo={contained.ENTRY: remains.undo},
)
