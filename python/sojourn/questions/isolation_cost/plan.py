"""What one application of each isolation mechanism costs (C19, M24; the ISPASS paper's Table IV).

Each block is one life of the service and has three points: on the idle host, on a busy one, and
while the service is under load. On the first two every mechanism is applied before the load, which
is only there to show that the service still answers. Under load the mechanisms take turns while
requests come, so that what one change does to them is seen as well.

Which of them this machine has is known to whoever applies them, not here: all are asked for, and
the ones that lack are named.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from sojourn.plan import make
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.question import Known, PhaseKind, Question
from sojourn.plan.setting import LOAD, Level, Setting
from sojourn.questions.isolation_cost import asks
from sojourn.spec import ServiceSpec, Study

NAME = "isolation_cost"
PHASE = Phase(NAME)
HOST = "host"  # the factor of these points
APPLICATIONS, RESTARTS = "applications", "restarts"  # how many are asked for, as levels
IDLE, BUSY, LOADED = "idle", "busy", "loaded"
HOSTS = (IDLE, BUSY, LOADED)

#: Every mechanism, in reading order; `mechanisms` has a kind for each.
# fmt: off
MECHANISMS = (
    "empty", "cpuset", "cpuset_cgroup", "cpu_quota", "cpu_weight", "policy",
    "memory_limit", "io_limit", "egress", "llc_ways", "memory_bandwidth", "irq", "rps",
    "frequency", "cstates", "thp",
    "restart_runc", "restart_nspawn", "restart_lxc", "restart_vm", "restart_vm_restored",
)
# fmt: on

USUAL = 0.5  # load that is taken of those that the study has
AFTER_S = 0.5  # load after the applications, which shows that the service still answers
QUIET = 0.1  # of max RPS, then
TURN_S_MAX = 10.0  # of one mechanism under load

# For plans: every mechanism but restarts once, and every restart once, as they were on 2 CPUs, s.
ALL_S, RESTARTS_S = 0.03, 10.0


class IsolationCost(Question):
    """Three points a block, in an order drawn by lot."""

    name = NAME
    about = "what one application of each isolation mechanism costs, and does to p99"
    phases = (
        PhaseKind(
            name=PHASE,
            about="what applying each mechanism costs",
            is_turned=True,
            is_raw=True,
            keeps=NAME,
            grows_with=("run.applications", "run.repeats"),  # restarts go with these
        ),
    )

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """The next point that was not made; one that failed altogether is made once more."""
        if known.axis is None:
            return None
        done = make.Tried(outcomes, PHASE)
        for block in range(study.run.repeats):
            for host in order(study, service.label, block):
                share = share_of(study) if host == LOADED else QUIET
                under: dict[str, Level] = {
                    HOST: host,
                    APPLICATIONS: asks.of(study).applications,
                    RESTARTS: asks.of(study).restarts,
                }
                setting = Setting.of({**under, LOAD: share} if host == LOADED else under)
                tried = done.at(block, setting)
                if not tried or (len(tried) == 1 and not tried[0].requests):
                    return make.point(
                        study,
                        Cell(service.label, PHASE, block, setting),
                        len(tried),
                        measure_s=length_s(study) if host == LOADED else AFTER_S,
                        offered_rps=share * known.axis.rps,
                        fraction=share,
                    )
        return None

    def beside_s(self, point: Point) -> float:
        """Under load the turns end with it; before it all are applied, the slowest from a shell."""
        setting = point.setting
        if point.phase != PHASE or setting[HOST] == LOADED:
            return 0.0
        return float(setting[APPLICATIONS]) * ALL_S + float(setting[RESTARTS]) * RESTARTS_S


def share_of(study: Study) -> float:
    """The load under which mechanisms are applied: of the study's the one nearest to a half."""
    return min(study.run.fractions, key=lambda fraction: (abs(fraction - USUAL), fraction))


def length_s(study: Study) -> float:
    """How long the load runs: a turn for every mechanism, s."""
    return len(MECHANISMS) * min(study.run.measure_s, TURN_S_MAX)


def order(study: Study, label: str, block: int) -> tuple[str, ...]:
    """The conditions of one block in the order in which they are measured."""
    hosts = list(HOSTS)
    lot = make.seed_of(study, Cell(label, PHASE, block).key())
    random.Random(lot).shuffle(hosts)  # noqa: S311 - not a secret
    return tuple(hosts)


KIND = IsolationCost()
