"""What is known of all suspects of one service: the values that are shown."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.findings.section import Section
from sojourn.findings.state import Settle
from sojourn.questions.blame.suspects import Row, named
from sojourn.stats.interval import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Blames(Section):
    """All suspects of one service.

    Attributes:
        q, bound_ns: the target; rate_rps: the load.
        as_is_ns: the quantile with all suspects running; as_is: its interval over windows.
        rest_ns: the same with all of them stopped; rest: its interval.
        blocks: that the experiment rests on.
        traced: (in words, share of the excess of the slowest, whether a culprit) of the tracer.
        look_why: why the tracer did not look, or its look is not used; "" if it is.
        strangers: who else ran for long on the service's CPUs, and was not suspected.
        stranger_pids: the processes of each; () where they are not known.
        settle: what would decide what is open; None: nothing is.
    """

    q: float = 0.99
    bound_ns: float = 0.0
    rate_rps: float = 0.0
    as_is_ns: float | None = None
    as_is: Interval | None = None
    rest_ns: float | None = None
    rest: Interval | None = None
    blocks: int = 0
    rows: tuple[Row, ...] = ()
    traced: tuple[tuple[str, float, bool], ...] = ()
    look_why: str = ""
    strangers: tuple[str, ...] = ()
    stranger_pids: tuple[tuple[int, ...], ...] = ()
    settle: Settle | None = None

    @property
    def strangers_named(self) -> tuple[str, ...]:
        """Names and processes, because names are shared: `xz (pid 12, 34)`."""
        pids = (*self.stranger_pids, *((),) * len(self.strangers))
        return tuple(
            named(name, list(map(str, ids)))
            for name, ids in zip(self.strangers, pids, strict=False)
        )

    @property
    def misses(self) -> bool | None:
        """Whether the target is missed as it is; None where that is not sure."""
        if self.as_is is None or not self.bound_ns:
            return None
        if self.as_is.lo > self.bound_ns:
            return True
        return False if self.as_is.hi <= self.bound_ns else None
