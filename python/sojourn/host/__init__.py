"""Facts of this machine, read and never changed: what it is, what it can do, who runs where.

What was tested only against fakes (`tests/hosts/machines.py`), because no such machine was at hand:
several sockets and NUMA nodes, hyper-threads, frequency, turbo and idle states, resctrl, and limits
of control groups version 2.

`read` gives the facts, `manifest` writes them down, `doctor` judges them, `place` puts server and
client on CPUs. Each name is loaded when it is asked for, because readers of records need few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import late

if TYPE_CHECKING:
    from sojourn.host.abilities import Ability
    from sojourn.host.company import apart
    from sojourn.host.diagnosis import doctor
    from sojourn.host.facts import Facts, manifest, read
    from sojourn.host.finding import Finding, Report
    from sojourn.host.placement import Placement, place
    from sojourn.host.shared import Shared

__all__ = [
    "Ability",
    "Facts",
    "Finding",
    "Placement",
    "Report",
    "Shared",
    "apart",
    "doctor",
    "manifest",
    "place",
    "read",
]

__getattr__ = late.names(
    __name__,
    {
        "abilities": ["Ability"],
        "company": ["apart"],
        "diagnosis": ["doctor"],
        "facts": ["Facts", "manifest", "read"],
        "finding": ["Finding", "Report"],
        "placement": ["Placement", "place"],
        "shared": ["Shared"],
    },
)
