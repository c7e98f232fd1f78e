"""What the papers found of the factors that packaged studies vary, to stand beside what was found.

The numbers are theirs (PAPERS); machines, sizes and definitions of 100 % differ (D8), so it is a
neighbour of the answer and no target.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.papers import tailbench as paper_tailbench
from sojourn.plan.setting import NEIGHBOUR
from sojourn.spec.levels import short
from sojourn.stats.method import Method

METHOD = Method(
    name="paper_factors",
    about="what the papers found of a factor, beside what was found here",
    ids=(
        "C11",
        "C12",
        "C13",
        "C14",
        "C15",
        "C16",
        "C20",
        "C21",
        "C23",
        "C24",
        "C25",
        "L28",
        "L29",
        "P8",
        "P10",
        "P18",
        "P19",
        "P20",
    ),
    source="Chen et al., ISPASS 2017; Pons et al., FGCS 2022; Leverich and Kozyrakis, 2014",
)

_OF = {
    "memcached": {
        "threads": "C11: linear to 4 threads on the Xeon and 20 on the ThunderX, no more at 16 and "
        "36; C20: fewer cores than threads miss the target; L15: one thread more than CPUs "
        "raises p95 from about 50 % of the peak on.",
        "pin": "L15: without pins p95 rises from about 50 % of the peak on, as with a thread more.",
        "udp": "L16: UDP spreads load evenly and peaks at less than 30 % of TCP.",
        "key_bytes": "C12: flat from 4 to 240 B, with a slight rise above 200 B.",
        "value_bytes": "C13: steep from 2 B to 200 KB.",
        "items": "C14: flat on the Xeon; the ThunderX (16 MB of cache) breaks at 2.56 M items.",
        "rps": "C23, on the CPUs that take interrupts, Xeon: p99 358 µs at 25 % load, 6.5 ms at "
        "50 %, 75 % not reached.",
        "llc_ways": "C24: about 5 MB suffice; P18: with 2 of 11 ways img-dnn and shore lose over "
        "30 % of their load, moses and sphinx less.",
        "memory_bandwidth": "P19: the loss is linear in what is taken, steeper for moses than for "
        "sphinx.",
        "egress": "C25: below the need a thousandth of the throughput, above it no gain.",
    },
    "nginx": {
        "workers": "C11: linear to 8 workers on the Xeon and 28 on the ThunderX.",
        "file_bytes": "C15: it rises with what memory and network carry, up to a full link.",
        "files": "C16: the ThunderX breaks earlier than the Xeon as files grow to 300 K.",
        "llc_ways": "C24: the Xeon's knee is at about 16.5 MB; the ThunderX needs 2 ways.",
        "memory_limit": "C25: below the need a thousandth of the throughput, above it no gain.",
        "io_limit": "P20: beside 200 MB/s of writes readers lose 20 % at most (xapian, with 60 % "
        "less bandwidth), shore more than its bandwidth.",
    },
}
_SMT = (
    "C21, p99 at 25, 50 and 75 % load: 4-4 904 µs, –, –; 4-7 253, 696 µs, –; 7-7 242, 524, 992 µs; "
    "P10: sphinx carries 2 times as much on two cores as on two hyper-threads of one, 1.4 times on "
    "eight as on four."
)
_DISK = (
    "P20, beside writers of 50, 100 and 200 MB/s in virtual machines: who mostly reads loses "
    "20 % of their throughput at most (xapian, at 200 MB/s, with 60 % less bandwidth), shore more "
    "than its bandwidth."
)
_BATCH = (
    "L28, share of its pace alone that SPEC CPU2006 keeps beside memcached at 10, 30, 50, 70 and "
    "90 % load, geometric mean: 75, 47, 30, 18 and 20 %; L29: more at 90 % than at 70 %."
)
_ANY = {
    "llc_ways": "P18, of 11 ways: with 2 img-dnn and shore lose over 30 % of their load and need "
    "over 3.5 times the memory bandwidth; moses and sphinx less.",
    "memory_bandwidth": "P19, at 8, 6, 4 and 2 GB/s: the loss is linear in what is taken, steeper "
    "for moses than for sphinx, and so is the fall of misses; services that miss the cache rarely "
    "were left out.",
}
_CORES = "C20: with as many threads as cores the target is met; seven threads on fewer miss it."


def _of_neighbours(levels: Sequence[str]) -> str:
    """What they say of such neighbours; "" if nothing."""
    if any(level.startswith(("noise:disk", "fio")) for level in levels):
        return _DISK
    return _BATCH if any(level.startswith("batch") for level in levels) else ""


def statements_on(kind: str, key: str, levels: Sequence[object]) -> str:
    """What they say of a factor of a kind of service; "" if nothing.

    >>> statements_on("memcached", "services.memcached.params.key_bytes", (8, 240))
    'C12: flat from 4 to 240 B, with a slight rise above 200 B.'
    """
    if short(key) == "cores" and (known := paper_tailbench.OF.get(kind)):
        return f"P8, P10, {known.name} within LQoS: {known.one} in 1-ST; {known.scaling}."
    if short(key) == "cores":
        return _SMT if any(":" in str(level) for level in levels) else _CORES
    if short(key) == NEIGHBOUR:
        return _of_neighbours([str(level) for level in levels])
    return _OF.get(kind, _ANY).get(short(key), "")
