"""How fast a service may read from and write to the disk that its working folder is on (P20).

    "10MB/s"                      both ways
    "read:10MB/s+write:5MB/s"     each its own; what is not named is not limited
    "none"

By bytes a second of the whole disk, where the folder is on one (`disks`). Version 1 limits only
what a task reads and writes itself: pages that it dirties are written by the kernel later, and are
not held up. Version 2 limits those too, where the file system knows the writer (ext4, btrfs,
xfs).

It is felt by a probe in the same group that reads or writes past the page cache, and by the same
probe outside, which must be faster: else it is the disk that is slow.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn import units
from sojourn.host.tree import Tree
from sojourn.knobs import disks, groups, settings
from sojourn.knobs.groups import Group
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack
from sojourn.knobs.limit import NONE, UNDO, Limit, no_effect
from sojourn.knobs.probe import DISK, Probe
from sojourn.places import temporary

NAME = "io_limit"
READ, WRITE = "read", "write"
MAX = "io.max"
FILES = {way: f"blkio.throttle.{way}_bps_device" for way in (READ, WRITE)}  # of version 1
RATE = r"\d+(\.\d+)?[kMG]i?B/s"
FILE_BYTES = 16 << 20  # that a probe reads and writes again and again
BLOCK = 1 << 16
OUTSIDE_S, INSIDE_S = 0.1, 0.4
SLICE_S = 0.1  # in which the kernel lets a limit be overdrawn once (block/blk-throttle.c)
SLACK = 1.1
#: A process that waits for its turn cannot be killed: not the service, nor the probe of a block.
LEAST_BPS = 64_000
MOST_BPS = 2**64 - 1
REACHED = 0.5  # of the limit: what is slower was not held up by it


class IoLimit(Limit):
    """Bytes a second of one service, by direction."""

    name, controller = NAME, "io"

    def _where(self) -> groups.Hierarchy | None:
        return groups.find(self._on.tree, controller(self._on.tree))

    def apply(self, level: str) -> None:
        """Move the service into its group; version 1 calls the controller blkio."""
        self.controller = controller(self._on.tree)  # type: ignore[misc]  # by machine
        super().apply(level)

    def value(self, level: str) -> Mapping[str, int]:
        """Bytes a second by direction; a direction that is left out is not limited."""
        return value_of(level)

    def level(self, value: Mapping[str, int]) -> str:
        """Each direction that is limited."""
        return "+".join(f"{way}:{bps / 1e6:.9g}MB/s" for way, bps in value.items()) or NONE

    def read_back(self, group: Group) -> Mapping[str, int]:
        """What the group's files say of this disk."""
        return limits_of(group, self._disk())

    def files(self, value: Mapping[str, int], group: Group) -> Sequence[tuple[str, str]]:
        """Both directions, so that an earlier level leaves nothing; none where there is no disk."""
        disk = self._disk()
        return files_of(group, disk, value) if disk else ()

    def refused(self, value: Mapping[str, int], group: Group) -> str:
        """Refuse a limit where the working folder is on no disk."""
        del group
        _, why = disks.disk_below(self._on.tree, self._on.work) if value else ("", "")
        return f"{self._on.work} is on no disk that could be limited ({why})" if why else ""

    def _disk(self) -> str:
        return disks.disk_below(self._on.tree, self._on.work)[0]

    def bites(self, value: Mapping[str, int], group: Group) -> Felt:
        """Let a probe read or write as fast as it can, outside and inside."""
        if not value:
            return Felt(holds=None, why="it reads back; without a limit there is nothing to feel")
        effect = [self._one_way(way, bps, group) for way, bps in value.items()]
        for holds in (False, None):
            if worst := [one for one in effect if one.holds is holds]:
                return worst[0]
        return Felt(holds=True, why="; ".join(one.why for one in effect))

    def _one_way(self, way: str, bps: int, group: Group) -> Felt:
        with tempfile.NamedTemporaryFile(dir=self._on.work) as file:
            target: str | Path = self._on.work if way == WRITE else file.name
            if way == READ:
                file.write(bytes(FILE_BYTES))
                file.flush()
                os.fsync(file.fileno())
            outside, _ = _rate(target, way, OUTSIDE_S, None)
            inside, took_s = _rate(target, way, INSIDE_S, group)
        return judge(way, bps, outside, inside, took_s)


def judge(way: str, bps: int, outside_bps: float, inside_bps: float, took_s: float) -> Felt:
    """Whether a direction is held up at its limit.

    Args:
        way: direction.
        bps: the limit, bytes/s.
        outside_bps: what the probe had outside.
        inside_bps: what it had inside.
        took_s: how long it ran inside.
    """
    text = f"a probe could {way} {inside_bps / 1e6:.3g} MB/s of {bps / 1e6:.3g}"
    text = f"{text} inside, {outside_bps / 1e6:.3g} outside"
    most = bps * SLACK * (1 + SLICE_S / took_s) + BLOCK / took_s if took_s else 0.0
    if inside_bps > most:
        return no_effect(text)
    if outside_bps < bps * SLACK or inside_bps < bps * REACHED:
        return Felt(holds=None, why=f"it reads back; {text}: the disk is too slow for this test")
    return Felt(holds=True, why=text)


def _rate(target: str | Path, way: str, seconds: float, group: Group | None) -> tuple[float, float]:
    """Bytes/s of a probe, and how long it ran."""
    with Probe(DISK, target, way, seconds, FILE_BYTES) as probe:
        if group is not None:
            groups.put(group.tree, group.folder, probe.pid)
        got = probe.go().hear()
    if not got:
        raise OSError(0, f"the file system of {target} does not {way} past the page cache")
    return got["bytes"] / got["wall_s"], got["wall_s"]


def controller(tree: Tree) -> str:
    """What the controller is called here: "blkio" where version 1 has it, else "io"."""
    return "blkio" if groups.find(tree, "blkio") else "io"


def limits_of(group: Group, disk: str) -> Mapping[str, int]:
    """Bytes/s of a disk by direction, as a group's files have them; an endless one is left out."""
    if group.version == 2:
        words = settings.disk_words(group.text(MAX), disk)
        limits = dict(word.split("=", 1) for word in words if "=" in word)
        each = {READ: limits.get("rbps", "max"), WRITE: limits.get("wbps", "max")}
        return {way: int(bps) for way, bps in each.items() if bps != "max"}
    known = {way: settings.disk_words(group.text(file), disk) for way, file in FILES.items()}
    return {way: int(words[0]) for way, words in known.items() if words}


def files_of(group: Group, disk: str, value: Mapping[str, int]) -> Sequence[tuple[str, str]]:
    """What to write for these limits: (file, text); a direction that is left out has none."""
    if group.version == 2:
        rbps, wbps = (value.get(way, "max") for way in (READ, WRITE))
        return ((MAX, f"{disk} rbps={rbps} wbps={wbps}"),)
    return tuple((file, f"{disk} {value.get(way, 0)}") for way, file in FILES.items())


def value_of(level: str) -> Mapping[str, int]:
    """Bytes a second by direction; a direction that is left out is not limited."""
    if level == NONE:
        return {}
    if re.fullmatch(RATE, level):
        return dict.fromkeys((READ, WRITE), _bps(level))
    return {way: _bps(rate) for way, _, rate in (p.partition(":") for p in level.split("+"))}


def refuses(level: str) -> str:
    """Why the kernel takes no such limit.

    >>> refuses("read:0MB/s+write:5MB/s"), refuses("10MB/s"), refuses("none")
    ('a limit is 64kB/s at least', '', '')
    """
    rates = value_of(level).values()
    if any(bps < LEAST_BPS for bps in rates):
        return f"a limit is {LEAST_BPS // 1000}kB/s at least"
    is_more = any(bps > MOST_BPS for bps in rates)
    return "the kernel counts bytes a second to 2^64 - 1" if is_more else ""


def _bps(rate: str) -> int:
    return units.parse_bytes(rate.removesuffix("/s"))


def lacks(asked: Asked) -> Lack | None:
    """The controller, by either name, and a disk for the working folder, once that is known."""
    if lack := groups.lacking(asked, controller(asked.tree)):
        return lack
    if asked.work is None or asked.level == NONE:
        return None
    return off_disk(asked.tree, asked.work)


def off_disk(tree: Tree, work: Path) -> Lack | None:
    """That a working folder is on no disk that could be limited; None: it is on one.

    A fake is asked for the disk only if it has some.
    """
    kind = temporary.kind(work, tree.text("/proc/self/mountinfo") or "")
    why = f"{kind} is memory" if kind in temporary.MEMORY else ""
    if not why and (tree.is_live or tree.exists("/sys/dev/block")):
        _, why = disks.disk_below(tree, work)
    if not why:
        return None
    return Lack(missing=f"a disk below the working folder in {work} ({why})", fix=temporary.ON_DISK)


KIND = KnobKind(
    name=NAME,
    about="bytes a second that a service may read from and write to the disk of its working folder",
    level='"10MB/s" (each way), "read:10MB/s", "write:5MB/s", "read:10MB/s+write:5MB/s" or "none"',
    pattern=rf"none|{RATE}|read:{RATE}(\+write:{RATE})?|write:{RATE}",
    needs=(
        "root or a delegated subtree",
        "the control-group controller blkio (version 1) or io (version 2)",
        "a working folder on a disk (TMPDIR)",
    ),
    source="P20, and M23",
    refuses=refuses,
    lacks=lacks,
    asks_folder=True,
    build=IoLimit,
    undo=UNDO,
)
