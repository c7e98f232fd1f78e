"""Linux measures, macOS reads records, Windows does neither.

Records are opened by folder descriptors that follow no link, which Windows does not have. All that
measures is Linux's own: scheduler, control groups, `/proc`.
"""

from __future__ import annotations

import sys

from sojourn.errors import HostFault

READS = "`sojourn show`, `report`, `sql`, `history`, `open` and `compare RECORD RECORD` work here"
MEASURES = frozenset({"doctor", "gate", "install", "manage", "noise", "restore", "run", "try"})


def check(command: str) -> None:
    """Refuse a command that measures where there is no Linux.

    Raises:
        HostFault: it cannot work here.
    """
    if sys.platform != "linux" and command in MEASURES:
        raise HostFault(
            f"{command} needs Linux, because it measures by scheduler, control groups and /proc",
            at=f"this system: {sys.platform}",
            fix=f"measure on Linux and bring the record: {READS}",
        )


def refusal() -> str:
    """Why not even records are read on this system; "" if they are."""
    if sys.platform != "win32":
        return ""
    return (
        "error: Sojourn does not work on Windows: it opens files by folder descriptors\n"
        "  at: this system: win32\n"
        "  fix: install it in WSL: https://learn.microsoft.com/windows/wsl/install\n"
    )
