"""What an OCI container may do to this machine: no more than docker and podman allow by default.

A container's superuser is the machine's: no user namespace parts them, because the network is that
of the place. So the kernel's own files are hidden or read-only, system calls are filtered, devices
are the harmless ones, and no program gains rights. A bundle that asks for more is refused by name,
unless the study trusts it.

Sources: moby's oci/defaults.go and profiles/seccomp, containers/common's seccomp.json and podman's
default capabilities. `seccomp.json` allows what both allow without CAP_SYS_ADMIN; as in moby it has
no io_uring.
"""

from __future__ import annotations

import json
import os
import platform
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

#: What podman leaves a container's superuser.
# fmt: off
RIGHTS = (
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE",
    "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
)
# fmt: on
#: `runc spec` gives this one too; it only writes to the audit log.
MAY_HAVE = frozenset({*RIGHTS, "CAP_AUDIT_WRITE"})
# fmt: off
MASKED = (
    "/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys",
    "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list",
    "/proc/timer_stats", "/sys/dev/block", "/sys/devices/virtual/powercap", "/sys/firmware",
    "/sys/fs/selinux",
)
# fmt: on
READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
#: (type, major, minor); None: each. The runtime makes their nodes in /dev.
DEVICES: tuple[tuple[str, int, int | None], ...] = (
    ("c", 1, 3),
    ("c", 1, 5),
    ("c", 1, 7),
    ("c", 1, 8),
    ("c", 1, 9),
    ("c", 5, 0),
    ("c", 5, 1),
    ("c", 5, 2),
    ("c", 136, None),
)
#: Mounts that show only what is the container's own; for those of the kernel: where, and whether
#: they may only be read.
OWN = frozenset({"tmpfs", "devpts", "mqueue"})
KERNELS = {
    "proc": ("/proc", False),
    "sysfs": ("/sys", True),
    "cgroup": ("/sys/fs/cgroup", True),
    "cgroup2": ("/sys/fs/cgroup", True),
}
_TOP = frozenset(
    {"ociVersion", "process", "root", "hostname", "domainname", "mounts", "linux", "annotations"}
)
# fmt: off
_PROCESS = frozenset({"terminal", "consoleSize", "user", "args", "env", "cwd", "capabilities",
                      "rlimits", "noNewPrivileges", "oomScoreAdj"})
# fmt: on
# fmt: off
_LINUX = frozenset({"namespaces", "resources", "cgroupsPath", "maskedPaths", "readonlyPaths",
                    "seccomp", "uidMappings", "gidMappings", "rootfsPropagation"})
# fmt: on
_NAMESPACES = ("pid", "ipc", "mount")
_BOUND = {"bind", "rbind"}
_SHARED = {"shared", "rshared"}
_FIRST = {"RLIMIT_RTPRIO", "RLIMIT_NICE"}  # would let it go before others on their CPUs
_CLOSED = 0o077


def devices() -> list[dict[str, object]]:
    """Rules of the devices' control group: none but those of `DEVICES`."""
    rules: list[dict[str, object]] = [{"allow": False, "access": "rwm"}]
    for kind, major, minor in DEVICES:
        number = {"major": major} | ({} if minor is None else {"minor": minor})
        rules.append({"allow": True, "type": kind, **number, "access": "rwm"})
    return rules


@cache
def calls() -> Mapping[str, Any]:
    """The filter of system calls, as `linux.seccomp` has it."""
    table: dict[str, Any] = json.loads(Path(__file__).with_name("seccomp.json").read_text("utf-8"))
    own = {
        "x86_64": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "aarch64": ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
    }.get(platform.machine())
    return {**table, "architectures": own} if own else table


def confined(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with all that docker and podman withhold taken out."""
    process, linux = dict(config.get("process", {})), dict(config.get("linux", {}))
    rights = process.get("capabilities") or {}
    process["capabilities"] = {
        kind: [one for one in names or () if one in MAY_HAVE] for kind, names in rights.items()
    }
    process["noNewPrivileges"] = True
    linux["maskedPaths"], linux["readonlyPaths"] = list(MASKED), list(READ_ONLY)
    linux["seccomp"] = calls()
    linux["resources"] = {**(linux.get("resources") or {}), "devices": devices()}
    selected = {key: value for key, value in config.items() if key != "annotations"}
    return {**selected, "process": process, "linux": linux}


def beyond(config: Mapping[str, Any], bundle: Path) -> tuple[str, ...]:
    """What a configuration asks of the machine beyond that, in its own words; () for nothing.

    Args:
        config: of a bundle that is not trusted.
        bundle: its folder.

    Raises:
        ValueError: it is not what the specification has there.
    """
    try:
        return tuple(dict.fromkeys(_beyond(config, bundle)))
    except (AttributeError, TypeError, KeyError):
        raise ValueError(
            "this is not a configuration of a container, because a part of it has a type "
            "that the OCI runtime specification does not allow"
        ) from None


def _beyond(config: Mapping[str, Any], bundle: Path) -> Iterator[str]:
    process, linux = config.get("process") or {}, config.get("linux") or {}
    yield from _others(config, _TOP, "")
    yield from _others(process, _PROCESS, "process.")
    yield from _others(linux, _LINUX, "linux.")
    yield from _of_root(config.get("root") or {}, bundle)
    for mount in config.get("mounts") or ():
        yield from _of_mount(mount, bundle)
    for names in (process.get("capabilities") or {}).values():
        yield from (f"capability {one}" for one in names or () if one not in MAY_HAVE)
    limits = [one["type"] for one in process.get("rlimits") or ()]
    yield from (f"process.rlimits {one}" for one in limits if one in _FIRST)
    if int(process.get("oomScoreAdj") or 0) < 0:
        yield "process.oomScoreAdj below 0"
    if linux.get("rootfsPropagation") in _SHARED:
        yield "linux.rootfsPropagation shared"
    spaces = linux.get("namespaces") or ()
    own = {one["type"] for one in spaces if not one.get("path")}
    yield from (f"the machine's {kind} namespace" for kind in _NAMESPACES if kind not in own)
    joined = (one for one in spaces if one.get("path") and one["type"] != "network")
    yield from (f"the {one['type']} namespace {one['path']}" for one in joined)
    for rule in (linux.get("resources") or {}).get("devices") or ():
        known = (rule.get("type"), rule.get("major"), rule.get("minor"))
        if rule.get("allow") and known not in DEVICES:
            yield f"devices {' '.join(str(part) for part in known)}"


def _others(table: Mapping[str, Any], known: frozenset[str], before: str) -> Iterator[str]:
    """Keys that are given and not known to stay in the container."""
    yield from (f"{before}{key}" for key, value in table.items() if value and key not in known)


def _of_root(root: Mapping[str, Any], bundle: Path) -> Iterator[str]:
    """A root folder elsewhere, or one where others could run what the container's root writes."""
    path = (bundle / str(root.get("path", "rootfs"))).resolve()
    if not path.is_relative_to(bundle.resolve()):
        yield f"root.path {path}"
    elif not root.get("readonly") and not _is_closed(path):
        yield f"a root folder to write to that others can enter (chmod 700 {bundle.resolve()})"


def _is_closed(path: Path) -> bool:
    """Whether it, or a folder above it, is the lab's own and closed to all others.

    What a container's superuser writes is the machine's superuser's: a setuid file, say.
    """
    results = (part.stat() for part in (path, *path.parents))
    return any(one.st_uid == os.geteuid() and not one.st_mode & _CLOSED for one in results)


def _of_mount(mount: Mapping[str, Any], bundle: Path) -> Iterator[str]:
    kind, source = str(mount.get("type") or "none"), str(mount.get("source") or "")
    options: Sequence[str] = mount.get("options") or ()
    at = posixpath.normpath(str(mount["destination"]))
    if _SHARED & {*options}:
        yield f"a shared mount at {at}"
    if kind in {"bind", "none"} or _BOUND & {*options}:
        if not (bundle / source).resolve().is_relative_to(bundle.resolve()):
            yield f"{source} of this machine at {at}"
    elif kind in KERNELS:
        where, is_read_only = KERNELS[kind]
        if at != where or (is_read_only and "ro" not in options):
            yield f"{kind} at {at}{' to write to' if at == where else ''}"
    elif kind not in OWN:
        yield f"a mount of {kind} at {at}"
