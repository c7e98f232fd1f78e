"""The found load once more, longer, over fresh starts of the service (M18).

Every run must pass its own test. When one fails, the load is stepped down, each time further than
before, and confirmed anew; the first step follows from the width of the bracket, which shows how
far the border moves. After a few steps the search has to say that it found nothing that lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.plan import make
from sojourn.plan.axis import Axis, Target
from sojourn.plan.decide import Decision, meets_qos
from sojourn.plan.points import Outcome, Phase, Point, Verdict
from sojourn.spec import ServiceSpec, Study

DOWN = (0, 2, 6, 10)  # steps below the first load
LOOKS = 3  # an undecided run is measured again, and judged together with those before
BEYOND = 4.5  # times its runs' length if all pass; then what is not confirmed stays so
PATIENCE = 2  # times as many retries as elsewhere: all that was found hangs on these few runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """How far the confirmation has come.

    Attributes:
        rps: load that is being, or was, confirmed, requests/s; None: there is none.
        runs: (requests/s, repeat, decision) of every run that was judged.
        steps_down: how often the load was stepped down.
        is_confirmed: every run at `rps` passed.
        next: the run to make; None when there is nothing left to do.
        reasons: why nothing was confirmed.
    """

    rps: float | None
    runs: tuple[tuple[float, int, Decision], ...] = ()
    steps_down: int = 0
    is_confirmed: bool = False
    next: Point | None = None
    reasons: tuple[str, ...] = ()


def confirm(
    study: Study,
    service: ServiceSpec,
    outcomes: Sequence[Outcome],
    *,
    start_rps: float,
    step: float,
    axis: Axis,
    target: Target,
) -> Confirmation:
    """Where the confirmation stands that began at `start_rps`.

    Args:
        study: the study.
        service: one of its services.
        outcomes: of the service, in order.
        start_rps: the load to confirm first.
        step: factor of one step down, above 1.
        axis: its load axis.
        target: its QoS target.
    """
    search = study.run.search
    made = [o for o in outcomes if o.point.phase is Phase.CONFIRM]
    is_over = sum(o.wall_s for o in made) > BEYOND * search.confirm_s * search.confirm_repeats
    done = make.by_key(made)
    judged: list[tuple[float, int, Decision]] = []
    for down, steps in enumerate(DOWN):
        rps = make.rounded(start_rps / step**steps)
        said = Decision.PASS
        for repeat in range(search.confirm_repeats):
            key = f"{service.label}/confirm/s{down}/r{repeat}"
            tried = make.attempts(key, done)
            if tried and tried[0].point.offered_rps:
                rps = tried[0].point.offered_rps  # as it was measured, whatever the rule was then
            said = meets_qos(tried, target.q, confidence=search.confidence, looks=LOOKS)
            believed = sum(o.verdict is not Verdict.UNKNOWN for o in tried)
            is_open = said is Decision.UNDECIDED and believed < LOOKS
            if is_open or make.is_open(tried, PATIENCE * study.run.retries):
                if is_over:
                    return Confirmation(
                        rps=None, runs=tuple(judged), steps_down=down, reasons=(_cut_short(made),)
                    )
                following = make.point(
                    study,
                    make.attempt(key, len(tried)),
                    Phase.CONFIRM,
                    measure_s=search.confirm_s,
                    offered_rps=rps,
                    fraction=round(rps / axis.rps, 4),
                    repeat=down * search.confirm_repeats + repeat,
                    overrides=target.overrides,
                )
                return Confirmation(rps=rps, runs=tuple(judged), steps_down=down, next=following)
            judged.append((rps, repeat, said))
            if said is not Decision.PASS:
                break
        if said is Decision.PASS:
            return Confirmation(rps=rps, runs=tuple(judged), steps_down=down, is_confirmed=True)
        if said is Decision.UNKNOWN:
            why = tried[-1].reasons[0] if tried[-1].reasons else "its self-check failed"
            return Confirmation(
                rps=None, runs=tuple(judged), steps_down=down,
                reasons=(f"no confirmation run at {rps:g} requests/s can be believed: {why}",),
            )  # fmt: skip
    why = (
        f"loads down to {judged[-1][0]:g} requests/s passed short probes, but none passed "
        f"confirmation runs of {search.confirm_s:g} s"
    )
    return Confirmation(rps=None, runs=tuple(judged), steps_down=len(DOWN), reasons=(why,))


def _cut_short(made: Sequence[Outcome]) -> str:
    held, unknown = (
        sum(o.verdict is verdict for o in made) for verdict in (Verdict.HOLDS, Verdict.UNKNOWN)
    )
    return (
        f"the time is over and no load is confirmed: of {len(made)} confirmation runs {held} held "
        f"the bound, too few at one load, and {unknown} cannot be believed"
    )
