"""Max RPS as C5 defines it: the highest rate that is injected and answered without a drop.

An open-loop search like the one for QoS, with "nothing was dropped" in place of the QoS test.
Requests wait in the plan while the server is busy, so "dropped" means: lost, or completed more
slowly than offered over the whole run.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.plan import time_budget
from sojourn.plan.axis import Axis
from sojourn.plan.decide import drops_nothing
from sojourn.plan.ladder import Rules
from sojourn.plan.points import Outcome, Phase, Point
from sojourn.plan.rounds import bracket, probe_of, rounds_of
from sojourn.plan.setting import RATE
from sojourn.spec import MaxRps, ServiceSpec, Study
from sojourn.units import show_count

BEYOND = 2.0  # times the budget of a search
START = 0.8  # of the closed-loop peak


def no_drop(
    study: Study, service: ServiceSpec, outcomes: Sequence[Outcome], top: Axis
) -> tuple[Point | None, Axis | None]:
    """The next probe, or the axis once there is none; neither: it could not be found."""
    spec = study.run.search
    rules = Rules(
        decide=drops_nothing,
        climb=1 + 2 * spec.resolution,
        step=1 + spec.resolution,
        resolution=spec.resolution,
        lengths=(study.run.peak_s,),
        retries=study.run.retries,
        scale=top.rps,
    )
    # Other runs of this phase are a closed loop, or at a share of max RPS.
    probes = [o for o in outcomes if o.point.phase is Phase.PEAK and RATE in o.point.setting]
    spent_s = sum(o.wall_s for o in probes)
    rounds = rounds_of(
        probes,
        wanted=study.run.peak_repeats,
        first=(START * top.rps, rules),
        later=rules,
        time=time_budget.after(spent_s, late_s=spec.budget_s, over_s=BEYOND * spec.budget_s),
    )
    probe = probe_of(study, service.label, Phase.PEAK, rounds, probes, axis=top)
    result = bracket(rounds)
    if probe or result is None or not result.lo:
        return probe, None
    is_open = result.hi is None  # nothing failed, as far as the ladder goes
    most = f"every rate up to {show_count(result.lo)}/s was answered: max RPS may be higher"
    return None, Axis(
        rps=result.lo,
        lo_rps=result.lo,
        hi_rps=result.hi or result.lo,
        rule=MaxRps.NO_DROP,
        runs=result.rounds,
        is_valid=not is_open,
        reasons=(most,) if is_open else (),
    )
