"""The memory bandwidth that a service may use (Intel MBA, AMD, Arm MPAM; P19).

    "50%"     of what there is: Intel and Arm, in steps of `bandwidth_gran`
    "8GB/s"   AMD, in steps of 1/8 GB/s; Intel where resctrl is mounted with mba_MBps
    "none"    all of it: the service is in no group

Intel's percentages slow down the way from core to cache and are no shares of bandwidth. It is felt
by what a streaming probe gets in the group: less than outside by half of what the percentage takes
away at least, or no more than the rate by the kernel's own count (`mbm_total_bytes`).
"""

from __future__ import annotations

from sojourn.host.tree import Tree
from sojourn.knobs import resctrl
from sojourn.knobs.groups import write
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack
from sojourn.knobs.limit import NONE, no_effect
from sojourn.knobs.machine import only_read
from sojourn.knobs.probe import STREAM, Probe
from sojourn.knobs.resctrl import MOUNT, Resource

NAME = "memory_bandwidth"
INFO = f"{MOUNT}/info/MB"
AMD, AMD_UNITS = "AuthenticAMD", 8  # of a GB/s (Documentation/arch/x86/resctrl.rst, "MB")
PROBE_BYTES = 128 << 20
STREAM_S = 0.25
RATE_MOST = 1_000_000  # GB/s
SLACK = 1.1


class MemoryBandwidth(Resource):
    """The memory bandwidth of one service."""

    name = NAME
    resources = ("MB",)

    def text(self, level: str) -> str:
        """The number that this CPU takes; ValueError if it takes no such level."""
        return str(number(self._on.tree, level))

    def effect(self, folder: str) -> Felt:
        """Let a probe stream, outside and inside."""
        tree = self._on.tree
        outside, _ = streamed(tree, None)
        inside, counted = streamed(tree, folder)
        return judge(self._level, outside, inside, counted)


def judge(level: str, outside_bps: float, inside_bps: float, counted_bps: float | None) -> Felt:
    """Whether a level slows a streaming probe down as it should.

    Args:
        level: of the knob.
        outside_bps: what the probe got in the default group, bytes/s.
        inside_bps: what it got in the service's.
        counted_bps: what the kernel counted for that meanwhile; None: it does not.
    """
    text = f"a probe streamed {inside_bps / 1e9:.2f} GB/s inside, {outside_bps / 1e9:.2f} outside"
    if level.endswith("%"):
        share = float(level[:-1]) / 100
        if share >= 1:
            return only_read(text)
        bites = inside_bps < outside_bps * (1 + share) / 2
        return Felt(holds=True, why=text) if bites else no_effect(text)
    cap = float(level.removesuffix("GB/s")) * 1e9
    if counted_bps is None:
        return only_read(f"{text}; this CPU does not count bandwidth")
    text = f"{counted_bps / 1e9:.2f} GB/s counted, of {cap / 1e9:.2f} allowed; {text}"
    if counted_bps > SLACK * cap:
        return no_effect(text)
    return (
        Felt(holds=True, why=text) if outside_bps > SLACK * cap else only_read(f"too slow: {text}")
    )


def streamed(tree: Tree, folder: str | None) -> tuple[float, float | None]:
    """Bytes/s that a probe read and wrote, by its own count and by the kernel's (None: none)."""
    with Probe(STREAM, PROBE_BYTES // 2, STREAM_S) as probe:
        before = None
        if folder is not None:
            write(tree, f"{folder}/tasks", f"{probe.pid}\n")
            before = resctrl.counted(tree, folder, "mbm_total_bytes")
        got = probe.go().hear()
        after = resctrl.counted(tree, folder, "mbm_total_bytes") if folder is not None else None
    if not got:
        raise OSError(0, "the probe ended early")
    counted = None if before is None or after is None else (after - before) / got["wall_s"]
    return got["bytes"] / got["wall_s"], counted


def number(tree: Tree, level: str) -> int:
    """What a level is in `schemata`.

    Raises:
        ValueError: this CPU takes no such level.
    """
    is_amd = tree.table("/proc/cpuinfo").get("vendor_id", "") == AMD
    in_mbps = "mba_MBps" in (tree.text("/proc/mounts") or "")
    if level.endswith("%"):
        if is_amd or in_mbps:
            raise ValueError("this machine counts in bytes a second: give a rate such as 8GB/s")
        return _percent(tree, float(level[:-1]))
    rate = float(level.removesuffix("GB/s"))
    if not is_amd and not in_mbps:
        raise ValueError("this machine counts in percent: give a share such as 50%")
    result = round(rate * (AMD_UNITS if is_amd else 1000))
    if not result:
        raise ValueError(f"this CPU counts in steps of {1 / AMD_UNITS if is_amd else 1e-3}GB/s")
    return result


def _percent(tree: Tree, percent: float) -> int:
    least = tree.number(f"{INFO}/min_bandwidth") or 1
    step = tree.number(f"{INFO}/bandwidth_gran") or 1
    if not least <= percent <= 100 or percent % step:
        raise ValueError(f"this CPU takes {least}% to 100% in steps of {step}%")
    return int(percent)


def refuses(level: str) -> str:
    """Why no CPU takes it.

    >>> refuses("0%"), refuses("0GB/s"), refuses("150%"), refuses("10%"), refuses("none")
    ('a bandwidth is more than 0', 'a bandwidth is more than 0', 'a share is 100% at most', '', '')
    """
    if level == NONE:
        return ""
    if not float(level.removesuffix("%").removesuffix("GB/s")):
        return "a bandwidth is more than 0"
    if not level.endswith("%") and float(level.removesuffix("GB/s")) > RATE_MOST:
        return f"no memory has more than {RATE_MOST}GB/s"
    is_more = level.endswith("%") and float(level[:-1]) > 100
    return "a share is 100% at most" if is_more else ""


def lacks(asked: Asked) -> Lack | None:
    """Control of bandwidth, and a level that the CPU takes."""
    if asked.level == NONE:
        return None
    if lack := resctrl.lacking(asked, "MB"):
        return lack
    try:
        number(asked.tree, asked.level)
    except ValueError as error:
        return Lack(missing=f"a way to give {asked.level} ({error})", fix="give another level")
    return None


KIND = KnobKind(
    name=NAME,
    about="memory bandwidth that a service may use",
    level='"50%" (Intel, Arm), "8GB/s" (AMD) or "none"',
    pattern=r"none|\d+(\.\d+)?(%|GB/s)",
    needs=("root", "resctrl with bandwidth allocation (Intel MBA, AMD, Arm MPAM)"),
    source="P19, and M23",
    refuses=refuses,
    lacks=lacks,
    build=MemoryBandwidth,
    undo=resctrl.UNDO,
)
