"""Whether the highest load that fits is a number to compare and to price."""

from __future__ import annotations

import math

from sojourn.findings.highest_load import Border


def is_closed(border: Border) -> bool:
    """Whether both ends of the interval are known: a load was seen to hold, and one to fail.

    The estimate of an open interval is its known end, and where no load fits it is the lowest that
    was tried: both say where somebody looked, not what the service can do.
    """
    ends = border.interval_rps
    return 0 < ends.lo <= border.estimate_rps <= ends.hi < math.inf
