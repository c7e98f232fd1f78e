"""What the first replies of a service showed: right length and usual time."""

from __future__ import annotations

import math
from dataclasses import dataclass

PATIENCE = 10.0  # of a request under load: so many times as long as a reply of a service at rest
UNSTRETCHED_S = 0.3  # replies that take longer need points that last longer
STRETCH_MAX = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What the first replies showed.

    Attributes:
        bytes: length of a right reply; 0: any length is.
        typical_s: how long a reply took, s: the middle one; 0: nothing that takes time was asked.
        facts: for people.
    """

    bytes: int = 0
    typical_s: float = 0.0
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def reply_s(self) -> float:
        """How long a request may take under load, s; 0: no longer than those of others."""
        return PATIENCE * self.typical_s

    @property
    def stretch(self) -> float:
        """How many times as long as usual a point must last for some replies to come in it.

        >>> [Proof(typical_s=s).stretch for s in (0.01, 3.0, 100.0)]
        [1.0, 10.0, 20.0]
        """
        return min(STRETCH_MAX, max(1.0, float(math.ceil(self.typical_s / UNSTRETCHED_S))))
