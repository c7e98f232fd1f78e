"""Who ran on the server's CPUs while a point was measured as the machine schedules it (M32).

A look beside the load, in a thread of the lab, which waits. It is short, so that a lab that is
stopped need not wait long either: the rates of a few seconds are enough to name the culprits. Only
points of the phase `scheduled` are looked at; to look costs a little at every switch of tasks.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sojourn.host import culprits
from sojourn.host.culprits import Culprit, Sight
from sojourn.places import proc
from sojourn.plan import Phase, Point
from sojourn.run.live import RunningService

LOOK_S_MAX = 5.0
KEPT_MAX = 20
OWN = "sojourn-"  # names of the lab's programs: what the generator has there is no culprit
Look = Callable[[Sequence[int], float, Sequence[int]], Sight]


@contextlib.contextmanager
def seen(
    live: RunningService, point: Point, look: Look = culprits.look
) -> Iterator[dict[str, Any]]:
    """While load runs: look at the server's CPUs.

    Args:
        live: whose CPUs they are; its own processes are left out.
        point: to be measured.
        look: at CPUs, for so many seconds, leaving out processes.

    Yields:
        Keys of `host.json`; empty until the block is through, and for points of other phases.
    """
    found: dict[str, Any] = {}
    if point.phase is not Phase.SCHEDULED or live.process is None:
        yield found
        return
    own = [member.pid for member in proc.session(live.process.pid)]
    cpus, seconds = live.placement.server, min(LOOK_S_MAX, point.warmup_s + point.measure_s)

    def work() -> None:
        try:
            found.update(as_json(look(cpus, seconds, own)))
        except Exception as error:  # noqa: BLE001  # what is seen beside must not end the run
            found.update(culprits=[], culprits_source="none", culprits_why=str(error))

    thread = threading.Thread(target=work, name="culprits", daemon=True)
    thread.start()
    try:
        yield found
    finally:
        thread.join(seconds + culprits.SPARE_S_MAX)


def as_json(sight: Sight) -> dict[str, Any]:
    """What was seen, the worst first, as it stands in `host.json`."""
    others = [one for one in sight.culprits if not one.name.startswith(OWN)]
    return {
        "culprits": [_one(one) for one in others[:KEPT_MAX]],
        "culprits_source": sight.source,
        "culprits_why": sight.why,
        "culprits_s": round(sight.seconds, 3),
    }


def _one(culprit: Culprit) -> dict[str, Any]:
    longest = culprit.longest_ns
    return {
        "task": culprit.name,
        "tid": culprit.tid,
        "runs_over_0_3ms_per_s": round(culprit.long_runs_per_s, 3),
        "longest_ms": None if longest is None else round(longest / 1e6, 3),
        "cpu_share": round(culprit.share, 6),
        "is_exact": culprit.is_exact,
    }
