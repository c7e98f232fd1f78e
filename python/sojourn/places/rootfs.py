"""What a container sees of this machine's files: all of them read-only, and its own work.

A skeleton of the root folder is made: a mount point for each folder at the top, a link for each
link. The runtime binds the folders onto it. What belongs to the kernel is made anew by the runtime,
and what programs write to (`/run`, `/tmp`) is the container's own and empty. So a program in it is
the very file that runs on bare metal, and shares its pages in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KERNELS = ("proc", "sys", "dev")  # mounted by the runtime
OWN = ("run", "tmp")  # empty, and the container's own
STICKY = 0o1777


@dataclass(frozen=True, slots=True)
class Bind:
    """A folder of the machine that is seen in the container under the same path."""

    path: Path
    is_writable: bool = False


def make(at: Path, work: Path) -> tuple[Bind, ...]:
    """Make the skeleton of a root folder.

    Args:
        at: the folder, which must not exist yet.
        work: the one folder that can be written to.

    Returns:
        What is to be bound onto it, in this order.
    """
    at.mkdir(mode=0o755)
    binds = []
    for entry in sorted(Path("/").iterdir()):
        point = at / entry.name
        if entry.name in KERNELS or entry.name in OWN:
            point.mkdir()
        elif entry.is_symlink():
            point.symlink_to(entry.readlink())
        elif entry.is_dir():
            point.mkdir()
            binds.append(Bind(entry))
    (at / "tmp").chmod(STICKY)
    if work.parts[1] in OWN:
        at.joinpath(*work.parts[1:]).mkdir(parents=True)
    return (*binds, Bind(work, is_writable=True))
