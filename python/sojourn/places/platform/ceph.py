"""A storage node that is a small Ceph: a monitor, an OSD on a file, RBD (P2).

QEMU reads and writes disks by its own librbd, because kernels often lack rbd and nbd. There is no
authentication, because only this machine reaches the node. The manager is left out: it takes 300
MB, and nothing here asks it.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.places.place import PlaceOption
from sojourn.places.platform.daemons import files
from sojourn.places.platform.storage import Storage

PORT = 3300  # of a monitor that speaks version 2 of the protocol
POOL = "sojourn"
GROUPS = 8  # of placement
OSD_BYTES = 4 << 30  # of its file, which takes room as it is written
CALL_S_MAX = 30.0
IMPORT_S_MAX = 300.0
READY_S_MAX = 60.0
IMAGER = "qemu-img"
PACKAGES = {
    "ceph-mon": "ceph-mon",
    "monmaptool": "ceph-common",
    "ceph-osd": "ceph-osd",
    "ceph": "ceph-common",
    "rbd": "ceph-common",
    IMAGER: "qemu-utils",
    "mke2fs": "e2fsprogs",
}
CONF = """\
[global]
fsid = {fsid}
mon host = [v2:{address}:{port}/0]
public addr = {address}
ms bind ipv4 = true
ms bind ipv6 = false
ms bind msgr1 = false
auth cluster required = none
auth service required = none
auth client required = none
auth supported = none
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
mon cluster log to file = false
osd client watch timeout = 5
run dir = {folder}
admin socket = {folder}/$name.asok
pid file = {folder}/$name.pid
log file = {folder}/$name.log
crash dir = {folder}
mon data = {folder}/mon
osd data = {folder}/osd
osd objectstore = bluestore
bluestore block size = {bytes}
osd memory target = 939524096
"""


class Ceph(Storage):
    """A storage node of which each disk is an RBD image."""

    name = "ceph"

    @property
    def _conf(self) -> Path:
        return self._folder / "ceph.conf"

    def _serve(self) -> None:
        if "rbd" not in programs.says(_tool(IMAGER), "--help").partition("formats:")[2].split():
            raise HostFault(
                "QEMU has no driver for Ceph's disks (rbd)",
                at=f"{IMAGER} --help",
                fix="apt install qemu-block-extra; or take the option nbd",
            )
        fsid = str(uuid.uuid4())
        with files(self._daemons.what, self._folder):
            self._conf.write_text(conf(self._folder, self._address, fsid), encoding="ascii")
            for name in ("mon", "osd"):
                (self._folder / name).mkdir(mode=0o700)
        place = f"[v2:{self._address}:{PORT}/0]"
        chart = self._folder / "monmap"
        words = ("--create", "--fsid", fsid, "--addv", "a", place, chart)
        self._daemons.call([_tool("monmaptool"), *words], CALL_S_MAX)
        mon: list[str | Path] = [_tool("ceph-mon"), "-i", "a", "-c", self._conf]
        self._daemons.call([*mon, "--mkfs", "--monmap", chart], CALL_S_MAX)
        self._daemons.start("mon", [*mon, "-f"])
        own = str(uuid.uuid4())
        self._ask("osd", "new", own, within_s=READY_S_MAX)
        osd: list[str | Path] = [_tool("ceph-osd"), "-i", "0", "-c", self._conf]
        self._daemons.call([*osd, "--mkfs", "--osd-uuid", own], READY_S_MAX)
        self._daemons.start("osd", [*osd, "-f"])
        self._daemons.wait(self._is_up, READY_S_MAX)
        self._ask("osd", "pool", "create", POOL, str(GROUPS), str(GROUPS))
        self._ask("osd", "pool", "application", "enable", POOL, "rbd")

    def _is_up(self) -> bool:
        stats = json.loads(self._ask("osd", "stat", "-f", "json"))
        return bool(stats.get("num_up_osds"))

    def _put(self, at: Path, name: str) -> str:
        tool: list[str | Path] = [_tool("rbd"), "-c", self._conf, "--no-progress"]
        self._daemons.call([*tool, "import", at, f"{POOL}/{name}"], IMPORT_S_MAX)
        at.unlink()
        return f"driver=rbd,pool={POOL},image={name},conf={self._conf}"

    def _ask(self, *words: str, within_s: float = CALL_S_MAX) -> str:
        limit = f"--connect-timeout={within_s:.0f}"
        return self._daemons.call([_tool("ceph"), "-c", self._conf, limit, *words], within_s + 2)

    @property
    def note(self) -> str:
        """What it is, for people."""
        match = programs.says(_tool("ceph-osd"), "--version").split()
        release = match[2] if len(match) > 2 else "of unknown release"
        return (
            f"an image of Ceph {release} by librbd, ext4; monitor and one OSD on a file, in a "
            "network namespace of their own"
        )


def conf(folder: Path, address: str, fsid: str) -> str:
    """The configuration of a cluster with all its files in one folder."""
    return CONF.format(folder=folder, address=address, fsid=fsid, port=PORT, bytes=OSD_BYTES)


def _tool(program: str) -> Path:
    return programs.find(program, fix=f"apt install {PACKAGES[program]}")


OPTION = PlaceOption(
    name=Ceph.name,
    part="disk",
    about="the working folder is on a storage node, an image of Ceph by librbd (P2)",
    label="disk on Ceph",
    programs=PACKAGES,
)
