"""The ways of the last-level cache that a service may fill (Intel CAT, AMD L3 QoS, Arm MPAM; P18).

    "4"       so many ways, from the lowest on
    "none"    all of them: the service is in no group
    "0xf0"    these, as a mask; with holes only where the CPU takes them (info/L3/sparse_masks)

Intel takes contiguous masks only, with `min_cbm_bits` at least. A service keeps what it has in
other ways until others push it out. It is measured by what the kernel counts as occupied
(`llc_occupancy`) while a probe in the group reads more than its ways hold; a CPU that does not
count it is only read back.
"""

from __future__ import annotations

from sojourn import units
from sojourn.host.capacity import CPU_DIR
from sojourn.host.tree import Tree
from sojourn.knobs import resctrl
from sojourn.knobs.groups import write
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack
from sojourn.knobs.limit import NONE, no_effect
from sojourn.knobs.machine import only_read
from sojourn.knobs.probe import STREAM, Probe
from sojourn.knobs.resctrl import MOUNT, Resource

NAME = "llc_ways"
INFO = f"{MOUNT}/info/L3"
STREAM_S = 0.5
PROBE_BYTES_MAX = 256 << 20
SLACK = 1.15  # occupancy is counted in steps, and lags
FILLED = 0.5  # of its ways: a probe that held less has not filled them


class LlcWays(Resource):
    """The cache ways of one service."""

    name = NAME
    resources = ("L3", "L3CODE", "L3DATA")

    def text(self, level: str) -> str:
        """The mask, hexadecimal; ValueError if this CPU does not take it."""
        return f"{mask(self._on.tree, level):x}"

    def effect(self, folder: str) -> Felt:
        """Let a probe read more than the ways hold, and see how much it occupies."""
        tree = self._on.tree
        ways = mask(tree, self._level).bit_count() / whole(tree).bit_count()
        size = cache_bytes(tree)
        if resctrl.counted(tree, folder, "llc_occupancy") is None or not size:
            return only_read("this CPU does not count what is occupied")
        share = round(ways * size)
        footprint = min(2 * size, PROBE_BYTES_MAX)
        if ways == 1 or footprint < 1.5 * share:
            return only_read("these are more ways than a probe could overflow")
        with Probe(STREAM, footprint // 2, STREAM_S) as probe:
            write(tree, f"{folder}/tasks", f"{probe.pid}\n")
            probe.go()
            probe.hear(STREAM_S * 0.8)
            return judge(share, resctrl.counted(tree, folder, "llc_occupancy") or 0)


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


def whole(tree: Tree) -> int:
    """All ways, as a mask."""
    return int(tree.text(f"{INFO}/cbm_mask") or "0", 16)


def mask(tree: Tree, level: str) -> int:
    """The mask of a level.

    Raises:
        ValueError: this CPU does not take it.
    """
    every, least = whole(tree), tree.number(f"{INFO}/min_cbm_bits") or 1
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
    text = tree.number(f"{INFO}/sparse_masks")
    vendor = tree.table("/proc/cpuinfo").get("vendor_id", "")
    return text == 1 if text is not None else vendor == "AuthenticAMD"


def cache_bytes(tree: Tree) -> int:
    """Size of all last-level caches, bytes."""
    domains = len(resctrl.schemata(tree, MOUNT).get("L3", {"0": ""}))
    size = (tree.text(f"{CPU_DIR}/cpu0/cache/index3/size") or "0K").removesuffix("K")
    return int(size) * 1024 * domains


def lacks(asked: Asked) -> Lack | None:
    """Control of the cache, and a mask that the CPU takes."""
    if asked.level == NONE:
        return None
    if lack := resctrl.lacking(asked, "L3"):
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
    lacks=lacks,
    label=lambda level: (
        "all cache ways" if level == "none" else f"{level} cache way{'' if level == '1' else 's'}"
    ),
    build=LlcWays,
    undo=resctrl.UNDO,
)
