"""The ways of the last-level cache that a service may fill (Intel CAT, AMD L3 QoS, Arm MPAM; P18).

    "4"       so many ways, from the lowest on
    "none"    all of them: the service is in no group
    "0xf0"    these, as a mask; with holes only where the CPU takes them (info/L3/sparse_masks)

Intel takes contiguous masks only, with `min_cbm_bits` at least. If resctrl is mounted with `cdp`,
code and data have a mask each (L3CODE, L3DATA); both get the level. A service keeps what it has in
other ways until others push it out. It is measured by what the kernel counts as occupied
(`llc_occupancy`) while a probe in the group reads more than its ways hold; a CPU that does not
count it is only read back. A socket, or a part of one (AMD), has a cache of its own: a domain. The
probe fills that of one CPU, so no other counts.
"""

from __future__ import annotations

import os
import re

from sojourn import units
from sojourn.host.capacity import CPU_DIR
from sojourn.host.tree import Tree, as_int
from sojourn.knobs import resctrl
from sojourn.knobs.groups import write
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack
from sojourn.knobs.limit import NONE, no_effect
from sojourn.knobs.machine import only_read
from sojourn.knobs.probe import STREAM, Probe
from sojourn.knobs.resctrl import MOUNT, Resource

NAME = "llc_ways"
WHOLE, CODE, DATA = "L3", "L3CODE", "L3DATA"
OCCUPIED = "llc_occupancy"
WAYS_MAX = 32  # bits of a mask of the kernel
STREAM_S = 0.5
PROBE_BYTES_MAX = 256 << 20
SLACK = 1.15  # occupancy is counted in steps, and lags
FILLED = 0.5  # of its ways: a probe that held less has not filled them


class LlcWays(Resource):
    """The cache ways of one service."""

    name = NAME
    resources = (WHOLE, CODE, DATA)

    def text(self, level: str) -> str:
        """The mask, hexadecimal; ValueError if this CPU does not take it."""
        return f"{mask(self._on.tree, level):x}"

    def effect(self, folder: str) -> Felt:
        """Let a probe read more than the ways hold, and see how much it occupies."""
        tree = self._on.tree
        ways = mask(tree, self._level).bit_count() / whole(tree).bit_count()
        cpu, domain = probed(tree)
        if domain is None or resctrl.counted(tree, folder, OCCUPIED, domain) is None:
            return only_read("this CPU does not count what is occupied")
        size = cache_bytes(tree, cpu)
        share = round(ways * size)
        footprint = min(2 * size, PROBE_BYTES_MAX)
        if ways == 1 or footprint < 1.5 * share:
            return only_read("these are more ways than a probe could overflow")
        with Probe(STREAM, footprint // 2, STREAM_S) as probe:
            write(tree, f"{folder}/tasks", f"{probe.pid}\n")
            probe.on({cpu}).go()
            probe.hear(STREAM_S * 0.8)
            return judge(share, resctrl.counted(tree, folder, OCCUPIED, domain) or 0)


def judge(share: int, occupied: int) -> Felt:
    """Whether a group that wants all of the cache keeps to its ways.

    Args:
        share: what its ways hold, bytes.
        occupied: what it holds, bytes.
    """
    text = (
        f"{units.show_bytes(occupied)} of the cache occupied, of {units.show_bytes(share)} allowed"
    )
    if occupied > SLACK * share:
        return no_effect(text)
    return Felt(holds=True, why=text) if occupied > FILLED * share else only_read(f"only {text}")


def resource(tree: Tree) -> str:
    """What `info` calls the cache here: "L3", or "L3CODE" where code and data have a mask each."""
    is_split = tree.exists(f"{MOUNT}/info/{CODE}") and not tree.exists(f"{MOUNT}/info/{WHOLE}")
    return CODE if is_split else WHOLE


def whole(tree: Tree) -> int:
    """All ways, as a mask."""
    return int(tree.text(_info(tree, "cbm_mask")) or "0", 16)


def mask(tree: Tree, level: str) -> int:
    """The mask of a level.

    Raises:
        ValueError: this CPU does not take it.
    """
    every, least = whole(tree), tree.number(_info(tree, "min_cbm_bits")) or 1
    bits = int(level, 16) if level.startswith("0x") else (1 << int(level)) - 1
    if not bits or bits & ~every:
        raise ValueError(f"the cache has {every.bit_count()} ways: {every:#x}")
    if bits.bit_count() < least:
        raise ValueError(f"this CPU gives {least} ways at least")
    if not _is_contiguous(bits) and not _takes_holes(tree):
        raise ValueError(f"this CPU takes no mask with holes, such as {bits:#x}")
    return bits


def _is_contiguous(bits: int) -> bool:
    low = bits & -bits
    return (bits + low) & bits == 0


def _takes_holes(tree: Tree) -> bool:
    """Since Linux 6.7 the kernel says; before, AMD took them and Intel did not."""
    text = tree.number(_info(tree, "sparse_masks"))
    vendor = tree.table("/proc/cpuinfo").get("vendor_id", "")
    return text == 1 if text is not None else vendor == "AuthenticAMD"


def _info(tree: Tree, file: str) -> str:
    return f"{MOUNT}/info/{resource(tree)}/{file}"


def probed(tree: Tree) -> tuple[int, int | None]:
    """A CPU that the lab may run on, and the domain that it fills; None: that is not known."""
    usable = sorted(os.sched_getaffinity(0))
    cpu = next((one for one in usable if cache_bytes(tree, one)), None)
    if cpu is None:
        return usable[0], None
    domain = tree.number(f"{_cache(cpu)}/id")
    lines = resctrl.schemata(tree, MOUNT)
    every = next((lines[name] for name in LlcWays.resources if name in lines), {})
    if domain is None and len(every) == 1:  # there is but one cache
        domain = as_int(next(iter(every)))
    return cpu, domain


def cache_bytes(tree: Tree, cpu: int) -> int:
    """Size of the last-level cache that a CPU fills, bytes; 0: not known."""
    size = as_int((tree.text(f"{_cache(cpu)}/size") or "").removesuffix("K"))
    return (size or 0) * 1024


def _cache(cpu: int) -> str:
    return f"{CPU_DIR}/cpu{cpu}/cache/index3"


def refuses(level: str) -> str:
    """Why no CPU takes it.

    >>> refuses("0"), refuses("0x0"), refuses("4"), refuses("none"), refuses("33")
    ('there is at least one way', 'there is at least one way', '', '', 'a mask has 32 ways at most')
    """
    if level == NONE:
        return ""
    if re.fullmatch("0+|0x0+", level):
        return "there is at least one way"
    ways = int(level, 16).bit_length() if level.startswith("0x") else int(level)
    return f"a mask has {WAYS_MAX} ways at most" if ways > WAYS_MAX else ""


def lacks(asked: Asked) -> Lack | None:
    """Control of the cache, and a mask that the CPU takes."""
    if asked.level == NONE:
        return None
    if lack := resctrl.lacking(asked, resource(asked.tree)):
        return lack
    try:
        mask(asked.tree, asked.level)
    except ValueError as error:
        return Lack(missing=f"a cache for {asked.level} ({error})", fix="give another level")
    return None


KIND = KnobKind(
    name=NAME,
    about="ways of the last-level cache that a service may fill",
    level='a number of ways, "4", a mask, "0xf0", or "none"',
    pattern=r"none|\d+|0x[0-9a-f]+",
    needs=("root", "resctrl with cache allocation (Intel CAT, AMD L3 QoS, Arm MPAM)"),
    source="P18, and M23",
    refuses=refuses,
    lacks=lacks,
    label=lambda level: (
        "all cache ways" if level == "none" else f"{level} cache way{'' if level == '1' else 's'}"
    ),
    build=LlcWays,
    undo=resctrl.UNDO,
)
