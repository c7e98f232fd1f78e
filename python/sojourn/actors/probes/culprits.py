"""Who ran on the server's CPUs while a point was measured as the machine schedules it (M32).

A look beside the load, in a thread of the lab, which waits. It is short, so that a lab that is
stopped need not wait long either: the rates of a few seconds are enough to name the culprits. Only
points of the phase `scheduled` are looked at; to look costs a little at every switch of tasks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sojourn.actors.actor import Actor, Role, Stage
from sojourn.actors.kind import ProbeKind
from sojourn.actors.neighbours.neighbour import Neighbour
from sojourn.host import culprits
from sojourn.host.culprits import Culprit, Sight
from sojourn.places import proc
from sojourn.plan import Point
from sojourn.spec import ServiceSpec

LOOK_S_MAX = 5.0
CULPRITS_MAX = 20
OWN = "sojourn-"  # names of the lab's programs: what the generator has there is no culprit
Look = Callable[[Sequence[int], float, Sequence[int]], Sight]


class Culprits(Actor):
    """Looks at the server's CPUs while load runs."""

    role = Role.PROBE
    name = "culprits"

    def __init__(self, look: Look = culprits.look) -> None:
        """`look`: at CPUs, for so many seconds, leaving out processes."""
        self._look = look
        self._thread: threading.Thread | None = None
        self._seconds = 0.0
        self._results: dict[str, Any] = {}

    def enter(self, stage: Stage) -> None:
        """Begin to look; processes of services and neighbours are left out."""
        live = stage.services[stage.point.service]
        if live.process is None:
            return
        served = (one for one in stage.services.values() if one.process)
        own = [member.pid for one in served for member in one.members()]
        beside = (actor for actor in stage.entered if isinstance(actor, Neighbour))
        leaders = (pid for actor in beside for pid in actor.pids)
        own += [member.pid for leader in leaders for member in proc.session(leader)]
        cpus = live.placement.server
        self._seconds = min(LOOK_S_MAX, stage.point.warmup_s + stage.point.measure_s)

        def work() -> None:
            try:
                self._results.update(as_json(self._look(cpus, self._seconds, own)))
            except Exception as error:  # noqa: BLE001  # what is seen beside must not end the run
                self._results.update(culprits=[], culprits_source="none", culprits_why=str(error))

        self._thread = threading.Thread(target=work, name="culprits", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Wait for the look to end."""
        if self._thread is not None:
            self._thread.join(self._seconds + culprits.SPARE_S_MAX)

    def saw(self) -> Mapping[str, Any]:
        """Keys of `host.json`; none where nothing was started that could be disturbed."""
        return dict(self._results)


def as_json(sight: Sight) -> dict[str, Any]:
    """What was seen, the worst first, as it is written in `host.json`."""
    others = [one for one in sight.culprits if not one.name.startswith(OWN)]
    return {
        "culprits": [_one(one) for one in others[:CULPRITS_MAX]],
        "culprits_source": sight.source,
        "culprits_why": sight.why,
        "culprits_s": round(sight.seconds, 3),
    }


def _one(culprit: Culprit) -> dict[str, Any]:
    longest = culprit.longest_ns
    return {
        "task": culprit.name,
        "tid": culprit.tid,
        "pid": culprit.pid,
        "runs_over_0_3ms_per_s": round(culprit.long_runs_per_s, 3),
        "longest_ms": None if longest is None else round(longest / 1e6, 3),
        "cpu_share": round(culprit.share, 6),
        "is_exact": culprit.is_exact,
    }


def build(spec: ServiceSpec, point: Point) -> Culprits | None:
    """For points as the machine schedules them: to look costs a little at every switch of tasks."""
    del spec
    return bare(point) if point.rules.is_bare else None


def bare(point: Point) -> Culprits | None:
    """For every point of a study without a shield, but for experiments of their own.

    There, who is stopped or replaces a service is on its CPUs on purpose.
    """
    return None if point.rules.is_experiment else Culprits()


KIND = ProbeKind(
    name="culprits",
    place=20,
    about="other tasks on the server's CPUs at points without a shield",
    source="M32",
    build=build,
    bare=bare,
)
