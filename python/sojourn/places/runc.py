"""An OCI container by runc: namespaces of processes, mounts and IPC, and control groups.

runc, not crun: crun refuses a machine whose control groups are of both versions. The bundle is this
machine's own root, read-only (`rootfs`), so no image is needed. No capability is left to the
service, and it can gain none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from sojourn.places import contained, process, remains
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
        (job.at / "config.json").write_text(json.dumps(config(job)), encoding="utf-8")
        pivot = () if _can_pivot() else ("--no-pivot",)
        return ("--root", job.at / "state", "run", *pivot, "--bundle", job.at, job.name)


def config(job: Job) -> Mapping[str, Any]:
    """What `config.json` of the bundle says, as the OCI specification has it."""
    if job.image is not None:
        words = job.argv[1:]
        return job.image.told(name=job.name, words=words, environment=job.environment)
    user = {"uid": job.user.uid, "gid": job.user.gid} if job.user else {"uid": 0, "gid": 0}
    return {
        "ociVersion": SPEC,
        "process": {
            "user": {**user, "umask": UMASK},
            "args": list(job.argv),
            "env": [f"{name}={value}" for name, value in process.environment().items()],
            "cwd": str(job.cwd),
            "noNewPrivileges": True,
        },
        "root": {"path": str(job.root), "readonly": True},
        "mounts": [*MOUNTS, *map(_mount, job.binds)],
        "linux": {
            # No network: the runtime is in the place's, and what it starts stays there.
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "mount")],
            "cgroupsPath": job.name,  # beside the lab's own
            "resources": {"devices": [{"allow": True, "access": "rwm"}]},
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
    {"destination": "/sys", "type": "none", "source": "/sys", "options": ["rbind", "ro"]},
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
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[4] == "/":
            return words[words.index("-") + 1] != "rootfs"
    return False  # it was only changed into (chroot)


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
