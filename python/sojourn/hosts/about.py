"""Facts of a process and its host, for the driver and its agents."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from sojourn import __version__, built, programs
from sojourn.host.tree import Tree
from sojourn.hosts.engine import Facts
from sojourn.run import journal
from sojourn.run.generator_job import PROGRAM


def about() -> Facts:
    """Facts of this process and its host, the same for the driver and its agents."""

    def space(name: str) -> str:
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/self/ns/{name}")  # noqa: PTH115  # not a path
        return ""

    program = programs.maybe(PROGRAM)
    return {
        "version": f"{__version__} {built.commit()}".strip(),
        "boot": journal.boot_id(),
        "time": space("time"),
        "net": space("net"),
        "mnt": space("mnt"),
        "pid": os.getpid(),
        "user": os.geteuid(),
        "cpus": sorted(os.sched_getaffinity(0)),
        "features": features(),
        "generator": programs.says(program, "--version") if program else "",
    }


IDLE, STEAL = slice(3, 5), 7  # fields of /proc/stat after the name, proc(5)
#: Features of a host by the file that is there with them; `hosts.features` of a study.
FEATURES = {
    "groups": "/sys/fs/cgroup/cgroup.controllers",
    "pressure": "/proc/pressure/cpu",
    "btf": "/sys/kernel/btf/vmlinux",
    "sched_ext": "/sys/kernel/sched_ext",
}


def features() -> list[str]:
    """What a study may need of a host, and this one has."""
    seen = [name for name, path in FEATURES.items() if Path(path).exists()]
    return seen + ["root"] * (os.geteuid() == 0)


def ticks(tree: Tree | None = None) -> dict[str, float]:
    """CPU time of this host so far, s: in all, used, and stolen (proc(5))."""
    text = (tree or Tree()).text("/proc/stat") or ""
    fields = [int(one) for one in text.partition("\n")[0].split()[1:9]]
    hertz = os.sysconf("SC_CLK_TCK")
    idle = sum(fields[IDLE])
    stolen = fields[STEAL] if len(fields) > STEAL else 0
    whole = sum(fields)
    return {
        "all_s": whole / hertz,
        "used_s": (whole - idle - stolen) / hertz,
        "stolen_s": stolen / hertz,
    }
