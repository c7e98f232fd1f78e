"""What the referee says of one load, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from sojourn.errors import Exit
from sojourn.referee.held_back import Turnaround
from sojourn.referee.limit import Limit
from sojourn.referee.load import Load
from sojourn.referee.shape import Shape
from sojourn.referee.stops import Gaps
from sojourn.referee.usage import Sample, Usage
from sojourn.stats.interval import Estimate

TAIL = 0.9  # quantiles from which on numbers are compared
LONGER = 1.1  # users wait so much longer, and the tool's number is not theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One quantile.

    Attributes:
        server: from arrival to reply, as the server's side saw it.
        users: from when it was due; None: not reconstructed.
        server_here, here: of this very run, ns, where an estimate is refused too: as the server's
            side saw it, and as users would have waited.
        lo, hi: bounds of it by what is not known of requests that were never sent, ns.
    """

    q: float
    server: Estimate
    users: Estimate | None
    server_here: float
    here: float | None
    lo: float | None
    hi: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the referee says.

    Attributes:
        load: what was asked of the tool.
        requests, connections, seconds: that came.
        due: that were due by the rate; None: no rate is known.
        came_rps: mean rate of arrivals.
        users_rps: rate at which users are taken to come; None: not reconstructed.
        is_bound: no rate is known: `users` is an upper bound, for users at the mean rate.
        shape: how requests arrived, stops left out.
        turnaround: what followed replies.
        gaps: stops of the server and pauses of the tool.
        late: users with a request that was sent late, in a stop or while the tool was behind.
        omitted: users with a request that was never sent, in stops.
        limit: who limited the load.
        client, server: what their threads did; None: not seen.
        accept_queue, overflows: the most that waited to be accepted; and that were refused.
        numbers: quantiles.
        first_byte_ns: the same quantiles of the time from arrival to the reply's first byte.
        unknown: why there is no answer; () if there is one.
        doubts: what a reader must know.
    """

    load: Load
    requests: int
    connections: int
    seconds: float
    due: float | None
    came_rps: float
    users_rps: float | None
    is_bound: bool
    shape: Shape
    turnaround: Turnaround
    gaps: Gaps
    late: int
    omitted: int
    limit: Limit
    client: Usage | None
    server: Usage | None
    accept_queue: int
    overflows: int
    numbers: tuple[Number, ...]
    first_byte_ns: tuple[float, ...]
    unknown: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """In one word: "fair", "misleading" or "unknown"."""
        if self.unknown:
            return "unknown"
        if self.misleading:
            return "misleading"
        return "unknown" if self.unsure or self.unseen else "fair"

    @property
    def unseen(self) -> str:
        """Why stops may be in no number; "" if requests came often enough."""
        if self.gaps.blind_ns <= self.gaps.least_ns:
            return ""
        share = self.gaps.paused_ns / 1e9 / self.seconds
        return (
            f"requests came in clumps, and in {share:.0%} of the time the server was idle: "
            "shorter stops than the pauses may be in no number"
        )

    @property
    def misleading(self) -> str:
        """Why the tool's numbers are not what users would have waited; "" if they are."""
        if "client" in self.limit.who:
            return "the client was the limit: its own delays are in the tool's numbers"
        if self.limit.who == "connections" and self.limit.is_short:
            return "it did not reach its rate, because its connections were busy"
        if self.limit.is_short and self.limit.who == "server":
            return "it did not reach its rate, because the server was full"
        is_intended = self.load.facts is not None and self.load.facts.clock == "intended"
        if is_intended and not self.omitted:
            return ""
        if self._is_longer("here") and not self.unsure:
            how = self.gaps.how if self.gaps.stops else "was slower than requests were due"
            return f"while the server {how}, requests were late or left out"
        return ""

    @property
    def unsure(self) -> str:
        """Why slow requests may be all that was seen, which make no user wait longer; "" if not."""
        if not self.gaps.unsure or not self._is_longer("here") or self._is_longer("lo"):
            return ""
        return (
            f"in {self.gaps.unsure} silences the server stood still, or single requests were slow: "
            "whether other users would have waited is not known"
        )

    def _is_longer(self, name: Literal["here", "lo"]) -> bool:
        """Whether users wait longer than the server's side saw, by the estimate or its bound."""
        tail = [(getattr(one, name), one.server_here) for one in self.numbers if one.q >= TAIL]
        return any(users and users > LONGER * server for users, server in tail)

    @property
    def exit(self) -> Exit:
        """Exit code of the verdict: 0, 1 or 3."""
        codes = {"fair": Exit.OK, "misleading": Exit.VIOLATED, "unknown": Exit.UNKNOWN}
        return codes[self.verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """Samples of the threads of both sides; () where nothing was seen."""

    client: Sequence[Sample] = ()
    server: Sequence[Sample] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What the trace says of itself: why it is not valid, and what its reader must know."""

    unknown: tuple[str, ...] = ()
    doubts: tuple[str, ...] = field(default=())
