"""The highest load within the QoS target: rounds of probes, then confirmation (M12, M18)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sojourn.plan.axis import Axis, Target
from sojourn.plan.confirm import Confirmation, confirm
from sojourn.plan.decide import Decision, meets_qos
from sojourn.plan.haste import Haste, haste
from sojourn.plan.ladder import Round, Rules
from sojourn.plan.points import Outcome, Phase, Point, Verdict
from sojourn.plan.rounds import LEAST, Bracket, bracket, doubling, probe_of, rounds_of
from sojourn.spec import ServiceSpec, Study

RETRIES_MAX = 1  # of one load; then the search goes on beside it
BEYOND = 2.0  # times the budget; then the search ends, whatever it has
START = 0.5  # of the closed-loop peak, where nothing is known yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How far the search has come, and what it found.

    Attributes:
        rounds: in order; the last may not be over.
        probes: (offered requests/s, decision, round) of every load of every round.
        bracket: where the border lies by the rounds alone; None before the first is over.
        confirmation: of the bracket's lower end; None before the rounds are over.
        next: the run to make; None when the search is over.
        reasons: why there is no answer.
    """

    rounds: tuple[Round, ...]
    probes: tuple[tuple[float, Decision, int], ...]
    bracket: Bracket | None
    confirmation: Confirmation | None
    next: Point | None
    reasons: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """`holds`: found and confirmed; `violated`: even the lowest load fails."""
        if self.next or self.reasons or self.bracket is None or self.bracket.hi is None:
            return Verdict.UNKNOWN
        return Verdict.VIOLATED if self.bracket.lo == 0 else Verdict.HOLDS

    @property
    def interval_rps(self) -> tuple[float, float] | None:
        """From the confirmed load to the upper end of the bracket; None without an answer."""
        if self.verdict is Verdict.UNKNOWN or self.bracket is None or self.bracket.hi is None:
            return None
        low = self.confirmation.rps if self.confirmation else None
        return (low or 0.0, self.bracket.hi)

    @property
    def answer_rps(self) -> float | None:
        """The load that fits, confirmed; None without an answer."""
        return self.confirmation.rps if self.confirmation and not self.reasons else None


def search(
    study: Study,
    service: ServiceSpec,
    outcomes: Sequence[Outcome],
    axis: Axis,
    target: Target,
) -> Search:
    """Where the search of a service stands; `outcomes` are all of that service, in order."""
    spec = study.run.search
    prefix = f"{service.label}/search"
    spent_s = sum(o.wall_s for o in outcomes if o.point.phase is Phase.SEARCH)
    others_s = sum(o.wall_s for o in outcomes) - spent_s
    time = haste(
        spent_s,
        late_s=min(spec.budget_s, study.run.budget_s - others_s),
        over_s=max(BEYOND * spec.budget_s, _least_s(study)),
    )
    known = _known_border(service, outcomes, target, study)
    first = (known, False) if known else (START * axis.rps, True)
    rounds = rounds_of(
        prefix,
        outcomes,
        wanted=spec.rounds,
        first=(first[0], _rules(study, axis, target, is_blind=first[1])),
        later=_rules(study, axis, target, is_blind=False),
        time=time,
    )
    probes = tuple((g.rps, g.decision, n) for n, r in enumerate(rounds) for g in r.rungs)
    found = bracket(rounds)
    following = probe_of(
        study, prefix, Phase.SEARCH, rounds, outcomes, axis=axis, overrides=target.overrides
    )
    confirmation = None
    reasons: tuple[str, ...] = ()
    if following is None:
        reasons = against(rounds, found, time)
        if not reasons and found and found.lo > 0:
            confirmation = confirm(
                study,
                service,
                outcomes,
                start_rps=found.lo,
                step=max(1 + spec.resolution, ((found.hi or found.lo) / found.lo) ** 0.25),
                axis=axis,
                target=target,
            )
            following, reasons = confirmation.next, confirmation.reasons
    return Search(
        rounds=rounds,
        probes=probes,
        bracket=found,
        confirmation=confirmation,
        next=following,
        reasons=reasons,
    )


def _least_s(study: Study) -> float:
    """What the fewest rounds may take that give an answer: half a dozen loads each, seen twice."""
    return LEAST * 6 * 2 * study.run.search.probe_s


def _rules(study: Study, axis: Axis, target: Target, *, is_blind: bool) -> Rules:
    spec = study.run.search
    lengths = doubling(spec.probe_s, spec.probe_max_s)
    return Rules(
        decide=partial(meets_qos, q=target.q, confidence=spec.confidence, looks=len(lengths)),
        climb=spec.climb,
        step=spec.climb if is_blind else 1 + spec.resolution,
        resolution=spec.resolution,
        lengths=lengths,
        retries=min(study.run.retries, RETRIES_MAX),
        scale=axis.rps,
    )


def _known_border(
    service: ServiceSpec, outcomes: Sequence[Outcome], target: Target, study: Study
) -> float | None:
    """Where the sweep, if there was one, saw the border; a place to start, not evidence."""
    passed: list[float] = []
    failed: list[float] = []
    for outcome in outcomes:
        point = outcome.point
        if (
            point.service != service.label
            or point.phase is not Phase.SWEEP
            or not point.offered_rps
        ):
            continue
        said = meets_qos([outcome], target.q, confidence=study.run.search.confidence)
        if said is Decision.PASS:
            passed.append(point.offered_rps)
        elif said is Decision.FAIL:
            failed.append(point.offered_rps)
    if not passed:
        return None
    below = [rps for rps in passed if not failed or rps < min(failed)]
    if not failed:
        return max(passed)
    return math.sqrt(max(below) * min(failed)) if below else min(failed)


def against(rounds: Sequence[Round], found: Bracket | None, time: Haste) -> tuple[str, ...]:
    """Why the rounds, all over, give no border; none if they do."""
    rungs = [rung for r in rounds for rung in r.rungs]
    if found is None:
        unknown = sum(rung.decision is Decision.UNKNOWN for rung in rungs)
        undecided = sum(rung.decision is Decision.UNDECIDED for rung in rungs)
        when, mend = "", ""
        if time is Haste.OVER:
            when, mend = " before the time was over", "; raise run.search.budget_s"
        why = (
            f"no round found the border{when}: of {len(rungs)} loads {unknown} failed their "
            f"self-checks and {undecided} stayed undecided{mend}"
        )
        return (why,)
    if found.hi is None:
        top = max(rung.rps for rung in rungs)
        return (f"no load failed, up to {top:g} requests/s: the client cannot overload the server",)
    if found.rounds < LEAST:
        why = (
            f"{found.rounds} of {len(rounds)} rounds found the border, {LEAST} are needed: how far "
            "it moves between starts of the service is not known"
        )
        return (why,)
    if found.lo == 0 and (unclear := _unclear(rounds)):
        return (f"no load passed its test, but {unclear}",)
    return ()


def _unclear(rounds: Sequence[Round]) -> str:
    """Why it is not known that the loads failed of the rounds in which nothing passed."""
    said = [rung.decision for r in rounds if r.lo is None for rung in r.rungs]
    if Decision.UNDECIDED in said:
        return "probes were too short to tell; raise probe_max_s"
    unknown = said.count(Decision.UNKNOWN)
    return f"{unknown} of {len(said)} loads cannot be believed" if unknown else ""
