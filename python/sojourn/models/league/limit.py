"""The CPU time of a service that has a limit, period by period.

What has used up the time of a period stops, and goes on in the next one; so does what starts
meanwhile. A request uses CPU time from its start on.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from sojourn.controllers.look import OFF_CPUS
from sojourn.models.league.sharing import PERIOD_S

EDGE_S = 1e-9  # a time this near to the end of a period is of the next one


@dataclass(slots=True)
class Limit:
    """It lives from request to request.

    Attributes:
        closed_s: nothing runs before, because the period was used up.
        ends_s: end of the newest period that anything ran in.
        left_s: CPU time that is left in it.
    """

    closed_s: float = 0.0
    ends_s: float = 0.0
    left_s: float = 0.0
    _ran_s: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _stopped: set[int] = field(default_factory=set)

    def end_s(self, start_s: float, size_s: float, limit: float) -> float:
        """When a request ends that would start then.

        Args:
            start_s: when a core is free for it.
            size_s: CPU time that it takes.
            limit: of all requests together, CPUs.
        """
        each_s = max(limit, OFF_CPUS) * PERIOD_S
        begin_s = max(start_s, self.closed_s)
        if begin_s >= self.ends_s - EDGE_S:
            self.ends_s, self.left_s = (_number(begin_s) + 1) * PERIOD_S, each_s
        while size_s > self.left_s:
            self._use(self.left_s)
            size_s -= self.left_s
            self._stopped.add(_number(self.ends_s) - 1)
            begin_s = self.closed_s = self.ends_s
            self.ends_s, self.left_s = self.ends_s + PERIOD_S, each_s
        self._use(size_s)
        self.left_s -= size_s
        return begin_s + size_s

    def period(self, begin_s: float) -> tuple[float, float]:
        """CPU time that was used in the period that begins then, and 1 if it was used up."""
        number = _number(begin_s)
        ran_s, stopped = self._ran_s.get(number, 0.0), float(number in self._stopped)
        self._ran_s = defaultdict(float, {k: v for k, v in self._ran_s.items() if k > number})
        self._stopped = {one for one in self._stopped if one > number}
        return ran_s, stopped

    def _use(self, size_s: float) -> None:
        self._ran_s[_number(self.ends_s) - 1] += size_s


def _number(t_s: float) -> int:
    return int((t_s + EDGE_S) / PERIOD_S)
