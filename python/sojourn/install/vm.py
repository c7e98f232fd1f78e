"""A guest for virtual machines: a kernel, some of its modules, a busybox.

The kernel is pinned, so that results of different days are of one guest: Debian's cloud kernel,
which drives virtio and boots in a few seconds without any firmware of its own.
"""

from __future__ import annotations

import lzma
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from sojourn.install.debs import Deb
from sojourn.install.part import Part

NAME = "vm"
QEMU = "qemu-system-x86_64"
VERSION = "6.18.15+deb13-cloud-amd64"
KERNEL, BUSYBOX, MODULES = "vmlinuz", "busybox", "modules"
DRIVER = "virtio_net"
MORE = ("virtio_blk", "ext4", "vmgenid")  # of disks and saved states, where they are not built in
DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")


def make(unpacked: Path, into: Path) -> Mapping[str, str]:
    """Keep the kernel, its drivers with what they depend on, in order, and busybox."""
    shutil.copyfile(_one(unpacked, f"boot/vmlinuz-{VERSION}"), into / KERNEL)
    shutil.copyfile(_one(unpacked, "*bin/busybox"), into / BUSYBOX)
    (into / BUSYBOX).chmod(0o755)
    (into / MODULES).mkdir()
    results = {p.name.partition(".")[0]: p for p in unpacked.rglob("*.ko.xz")}
    drivers = (DRIVER, *(name for name in MORE if name in results))
    names = tuple(dict.fromkeys(one for each in drivers for one in in_order(each, results)))
    for number, name in enumerate(names):
        (into / MODULES / f"{number:02d}-{name}.ko").write_bytes(
            lzma.decompress(results[name].read_bytes())
        )
    return {"kernel": VERSION, "modules": ", ".join(names)}


def in_order(name: str, paths: Mapping[str, Path]) -> tuple[str, ...]:
    """A module after all that it depends on, by what each says of itself.

    Raises:
        ValueError: one is not there.
    """
    if name not in paths:
        raise ValueError(f"the kernel's package has no module {name}")
    match = DEPENDS.search(b"\0" + lzma.decompress(paths[name].read_bytes()))
    needed = match[1].decode("ascii").split(",") if match and match[1] else []
    before = [each for need in needed for each in in_order(need, paths)]
    return tuple(dict.fromkeys((*before, name)))


def _one(folder: Path, pattern: str) -> Path:
    results = sorted(folder.rglob(pattern))
    if not results:
        raise ValueError(f"no file {pattern} in the packages")
    return results[0]


PART = Part(
    name=NAME,
    about="a guest kernel and a busybox for services in virtual machines (place vm)",
    version=f"{VERSION}-2",
    debs=(
        Deb(
            package=f"linux-image-{VERSION}",
            suite="trixie-backports",
            sha256="5a507681ea8c978d02265a7fec2f02c9588fb48b54b7f71edc1059e86007f3ec",
        ),
        Deb(package="busybox-static"),
    ),
    needs={QEMU: "qemu-system-x86"},
    make=make,
)
