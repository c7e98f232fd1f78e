"""The paper's Table IV: what one application of each isolation took there (C19)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SOURCE = "C19, Table IV"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """One number of the paper's Table IV: the mean of 10,000 applications with its tools.

    Attributes:
        column: of the table.
        machine: on which it was measured.
        mean_ns: ns.
    """

    column: str
    machine: str
    mean_ns: float


XEON, THUNDERX = "Intel Xeon E5-2699 v4", "Cavium ThunderX"
#: Mechanism of the lab → what the paper has for its kind of isolation.
# fmt: off
COLUMNS: Mapping[str, str] = {
    "cpuset": "CPU", "cpuset_cgroup": "CPU", "llc_ways": "Cache", "memory_limit": "Memory",
    "egress": "Network", "restart_lxc": "Container Restart", "restart_runc": "Container Restart",
    "restart_nspawn": "Container Restart",
}
# fmt: on
TABLE_IV: tuple[Paper, ...] = tuple(
    Paper(column=column, machine=machine, mean_ns=ms * 1e6)
    for machine, each in (
        (XEON, (6.5, 1.6, 6.9, 2.4, 970.0)),
        (THUNDERX, (11.7, 2.0, 11.9, 3.5, 1550.0)),
    )
    for column, ms in zip(
        ("CPU", "Cache", "Memory", "Network", "Container Restart"), each, strict=True
    )
)
