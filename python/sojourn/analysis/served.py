"""A real queue as the plan meets it, for tests: the search meets misses as they come.

`plan.simulated` tells the plan the true size of clusters; here every request is drawn and served,
and misses are counted as the generator counts them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from sojourn.analysis.queue import Floats, Queue, Stops
from sojourn.plan.points import Outcome, Point, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.time_budget import AROUND_S, RESTART_S
from sojourn.samples.clusters import of_times
from sojourn.samples.excluded import EXCLUDED_MAX, is_overrun, surely_of_void

ALLOWED = 1.05  # more than this factor of allowance makes an upper bound (M33)


def void_shares(
    queue: Queue,
    stopped: float,
    load: float,
    seed: int,
    *,
    seconds: float = 2.3,
    warmup_s: float = 0.3,
) -> tuple[float, float, float] | None:
    """The same requests beside stops of the client and without any.

    Args:
        queue: they meet.
        stopped: share of the time.
        load: offered, as a share of what the queue can serve.
        seed: of all draws.
        seconds: in which they arrive.
        warmup_s: of it, not counted.

    Returns:
        (excluded, missed of what is left, missed without stops) as shares; None where fewer than 50
        requests are left.
    """
    rng = np.random.default_rng([seed, 7])
    stops = Stops.drawn(stopped, 2 * seconds, np.random.default_rng([seed, 9]))
    at = np.sort(rng.random(rng.poisson(load * queue.rate_rps * seconds)) * seconds)
    state = rng.bit_generator.state
    beside = queue.sojourn(at, seconds, rng, stops=stops)
    rng.bit_generator.state = state
    alone = queue.sojourn(at, seconds, rng)
    counts = at >= warmup_s
    p99_s = float(np.quantile(beside[counts], 0.99))
    left = counts & ~stops.reach(at, load, p99_s)
    if left.sum() < 50:
        return None
    missed = [float((times > queue.bound_s).mean()) for times in (beside[left], alone[counts])]
    return 1 - float(left.sum() / counts.sum()), missed[0], missed[1]


@dataclass(kw_only=True)
class Served:
    """A queue as the plan meets it: each start of the service has a capacity of its own.

    Attributes:
        restart_sd: standard deviation of the capacity between starts, as a ratio.
        seed: of all draws; one search.
        stopped: share of the time in which the client stands still.
    """

    queue: Queue
    restart_sd: float = 0.05
    seed: int = 1
    stopped: float = 0.0
    last_life: str = ""
    lives: dict[str, float] = field(default_factory=dict)

    def measure(self, point: Point) -> Outcome:
        """What becomes of one point."""
        rng = np.random.default_rng([self.seed, point.seed])
        capacity = self.lives.setdefault(point.life, self.queue.start(rng, self.restart_sd))
        rate = self.queue.rate_rps * capacity
        ideal = imagine(point, capacity_rps=rate)
        is_fresh, self.last_life = point.life != self.last_life, point.life
        wall_s = point.measure_s + point.warmup_s + AROUND_S + (RESTART_S if is_fresh else 0.0)
        if point.offered_rps is None:
            return replace(ideal, wall_s=wall_s)
        whole_s = point.warmup_s + point.measure_s
        stops = Stops.drawn(self.stopped, 2 * whole_s, rng) if self.stopped else None
        at, sojourn = self.queue.run(
            point.offered_rps, whole_s, rng, capacity=capacity, stops=stops
        )
        selected = at >= point.warmup_s
        due = int(selected.sum())
        behind = 1 - float((selected & (at + sojourn <= whole_s)).sum()) / max(1, due)
        if stops and due:
            p99_s = float(np.quantile(sojourn[selected], 0.99))
            selected &= ~stops.reach(at, point.offered_rps / rate, p99_s)
        outcome = self._counted(ideal, at[selected], sojourn[selected], due, wall_s)
        missed = (outcome.over_bound or 0) / max(1, outcome.requests)
        if is_overrun(missed, behind, self.stopped):
            return replace(outcome, verdict=Verdict.VIOLATED, over_surely=None)
        return outcome

    def _counted(
        self, ideal: Outcome, at: Floats, sojourn: Floats, due: int, wall_s: float
    ) -> Outcome:
        """The misses as generator and lab count them; `due`: requests before any was excluded."""
        bound_s = self.queue.bound_s
        misses_ns = 1e9 * at[sojourn > bound_s]
        excluded = 1 - len(at) / max(1, due)
        allowance = 1 + 0.5 * excluded
        is_one_sided = allowance > ALLOWED
        is_void = excluded > EXCLUDED_MAX
        surely = int((sojourn > bound_s * allowance).sum())
        if is_void:
            surely = surely_of_void(len(misses_ns), excluded)
        outcome = replace(
            ideal,
            requests=len(at),
            over_bound=len(misses_ns),
            over_surely=surely if is_one_sided else None,
            clusters=of_times(misses_ns, len(misses_ns), 1e9 * bound_s),
            wall_s=wall_s,
        )
        if len(at) and not is_void:
            return outcome
        return replace(outcome, verdict=Verdict.UNKNOWN, over_surely=surely if len(at) else None)
