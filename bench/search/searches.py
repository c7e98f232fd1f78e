"""One search of the lab on a queue of known truth, and what it came to."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sojourn import spec
from sojourn.analysis.queue import QUEUES
from sojourn.analysis.served import Served
from sojourn.plan import next_point, progress
from sojourn.plan.points import Outcome, Phase
from sojourn.questions import PLANS
from sojourn.questions.max_load.plan import search_of

LAST = (Phase.CONFIRM, Phase.SCHEDULED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search.

    Attributes:
        lo, estimate, hi: shares of the true border; 0 and infinity are open ends.
        wall_s: peak, sweep and search, restarts included; the last runs beyond it are `last_s`.
        measured_s: load of all of them.
    """

    queue: str
    seed: int
    lo: float
    estimate: float
    hi: float
    wall_s: float
    last_s: float
    measured_s: float
    runs: int
    cpu_s: float


def one(job: tuple[str, int, str, float]) -> Search:
    """One search on one queue, by a client that stands still for a share of the time."""
    name, seed, profile, stopped = job
    queue = next(queue for queue in QUEUES if queue.name == name)
    began_s = time.process_time()
    study = spec.load(
        "max_load_memcached",
        profile=profile,
        overrides=(
            f"seed={seed}",
            f"services.memcached.qos.bound={queue.bound_s * 1e3:g}ms",
            'services.memcached.measure=["sweep", "max_load"]',
        ),
    )
    served = Served(queue=queue, seed=seed, stopped=stopped)
    outcomes: list[Outcome] = []
    while point := next_point(study, outcomes, PLANS):
        outcomes.append(served.measure(point))
    search = search_of(progress(study, study.services[0], outcomes, PLANS))
    if search is None or search.interval_rps is None or search.estimate_rps is None:
        raise RuntimeError(f"{name}, seed {seed}: the search has no answer")
    truth_rps = queue.border * queue.rate_rps
    last_s = sum(o.wall_s for o in outcomes if o.point.phase in LAST)
    return Search(
        queue=name,
        seed=seed,
        lo=search.interval_rps[0] / truth_rps,
        estimate=search.estimate_rps / truth_rps,
        hi=search.interval_rps[1] / truth_rps,
        wall_s=sum(o.wall_s for o in outcomes) - last_s,
        last_s=last_s,
        measured_s=sum(o.point.measure_s for o in outcomes),
        runs=len(outcomes),
        cpu_s=time.process_time() - began_s,
    )
