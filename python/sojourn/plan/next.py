"""The next point of a study: services in order, and for each its phases in order."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.plan.points import Outcome, Phase, Point
from sojourn.spec import Study


def next_point(study: Study, outcomes: Sequence[Outcome]) -> Point | None:
    """The measurement to make after `outcomes`; None when the study is complete."""
    done = {outcome.point.key for outcome in outcomes}
    for service in study.services:
        key = f"{service.label}/peak/r0"
        if key not in done:
            return Point(
                key=key,
                service=service.label,
                phase=Phase.PEAK,
                offered_rps=None,
                measure_s=study.run.peak_s,
                warmup_s=study.run.warmup_s,
                seed=study.seed,
                overrides=(("find_max", True),),
            )
        peak = next(o.achieved_rps for o in outcomes if o.point.key == key)
        for repeat in range(study.run.repeats):
            for fraction in study.run.fractions:
                key = f"{service.label}/sweep/b{repeat}/f{fraction:.2f}"
                if key not in done:
                    return Point(
                        key=key,
                        service=service.label,
                        phase=Phase.SWEEP,
                        offered_rps=fraction * peak,
                        fraction=fraction,
                        repeat=repeat,
                        measure_s=study.run.measure_s,
                        warmup_s=study.run.warmup_s,
                        seed=study.seed + repeat,
                    )
    return None
