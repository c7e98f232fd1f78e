"""The next point of a study: services in order, each with its questions in order, then all at once.

    closed-loop peak → (run at low load for the QoS bound) → (no-drop search) → question after
    question, such as sweep → search and last runs → the same loads traced

With factors each combination of levels has a plan of its own, and `design` says whose turn it is;
what is asked of all at once has one for each combination of what any of them feels (`joint`).
With `max_rps = "qos"` the search comes before the questions, which need its result as the axis.
Everything is computed anew from the outcomes each time, so there is no state to lose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import is_

from sojourn.plan import axis as axes
from sojourn.plan import design, failures, joint, make
from sojourn.plan.axis import Axis, Target
from sojourn.plan.drop import no_drop
from sojourn.plan.points import Outcome, Point
from sojourn.plan.question import Known
from sojourn.plan.questions import Questions
from sojourn.plan.search import search
from sojourn.spec import MaxRps, ServiceSpec, Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Known):
    """How far one service of a study has come: what the plan and the report both need.

    Attributes:
        next: the measurement to make; None when this service is finished.
        reasons: why something that was asked for could not be measured.
    """

    next: Point | None = None
    reasons: tuple[str, ...] = ()


def next_point(study: Study, outcomes: Sequence[Outcome], questions: Questions) -> Point | None:
    """The measurement to make after `outcomes`; None when the study is complete.

    Pure, and determined by the study's seed: the same arguments give the same point.
    """
    return Planner(study, questions).next(outcomes)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What a combination wants next, and when it is its turn; `point` None: it is complete."""

    count: int
    point: Point | None
    turn: design.Turn
    known: Known


class Planner:
    """The next point, asked again and again while outcomes are added.

    It remembers the outcomes by combination and what each combination wants. One that has got no
    outcome since wants the same as before: a new outcome costs the plan of its own combination, and
    nothing that was there before is looked at. `next_point` says what is right.
    """

    def __init__(self, study: Study, questions: Questions) -> None:
        """For one study; other outcomes than before are taken for what they are, from the start.

        Args:
            study: the study.
            questions: all that may be asked.
        """
        self._study, self._questions = study, questions
        self._seen: list[Outcome] = []
        self._groups: dict[str, design.Groups] = {}
        self._joints: tuple[joint.Joint, ...] = ()
        self._known: dict[tuple[str, str], _Candidate] = {}
        self._failures = failures.Ledger(study)

    def next(self, outcomes: Sequence[Outcome]) -> Point | None:
        """The measurement to make after `outcomes`, as `next_point` has it."""
        self._add(outcomes)
        for groups in self._groups.values():
            wanted = [self._candidate(group) for group in groups.all]
            open_ = [result for result in wanted if result.point is not None]
            if open_:
                return min(open_, key=lambda outcome: outcome.turn).point
        return self._of_all()

    def group(self, point: Point) -> design.Group:
        """The combination of a point's own service, with the outcomes that `next` last saw."""
        levels = design.own_levels(self._study, point)
        return next(g for g in self._groups[point.service].all if g.levels == levels)

    def _of_all(self) -> Point | None:
        """The next point of a question about several services; their own are answered."""
        wanted = [self._joint_candidate(one) for one in self._joints]
        open_ = [result for result in wanted if result.point is not None]
        return min(open_, key=lambda outcome: outcome.turn).point if open_ else None

    def _joint_candidate(self, one: joint.Joint) -> _Candidate:
        homes = [
            (label, design.factor_levels(self._study, label, one.levels).text)
            for label in one.labels
        ]
        known = {home[0]: self._known[home] for home in homes}
        count = len(one.outcomes) + sum(member.count for member in known.values())
        candidate = self._known.get(one.name)
        if candidate is None or candidate.count != count:
            point = one.next({label: member.known for label, member in known.items()})
            point = point and self._questions.stated(point)
            phases = [kind.name for kind in one.question.phases]
            others = (
                failures.home_of_all(phase, label, one.levels)
                for phase in phases
                for label in one.labels
            )
            if any(map(self._failures.is_abandoned, others)):
                point = None
            turn = one.turn(self._study, point) if point else _LAST
            candidate = self._known[one.name] = _Candidate(count, point, turn, _UNPLANNED)
        return candidate

    def _add(self, outcomes: Sequence[Outcome]) -> None:
        """Put what is new to its combination; begin anew if it is not only more than before."""
        count = len(self._seen)
        is_more = len(outcomes) >= count and all(map(is_, self._seen, outcomes))
        if not is_more or not self._groups:
            self._seen, self._known, count = [], {}, 0
            self._failures = failures.Ledger(self._study)
            labels = [service.label for service in self._study.services]
            self._groups = {label: design.Groups(self._study, label) for label in labels}
            self._joints = joint.asked(self._study, self._questions)
        for outcome in outcomes[count:]:
            self._seen.append(outcome)
            known = self._questions.known(outcome)
            self._failures.add(known)
            if known.point.rules.is_of_all:
                joint.add(self._joints, self._study, known)
            elif groups := self._groups.get(known.point.service):
                groups.add(known)

    def _candidate(self, group: design.Group) -> _Candidate:
        name, count = (group.service, group.levels.text), len(group.outcomes)
        known = self._known.get(name)
        if known is None or known.count != count:
            known = self._known[name] = self._results(group)
        home = design.home(group.service, group.levels)
        if self._failures.is_abandoned(home):
            return replace(known, point=None)
        if self._failures.is_late(home):
            return replace(known, turn=(_AFTER_ALL, *known.turn[1:]))
        return known

    def _results(self, group: design.Group) -> _Candidate:
        own, count = group.study.service(group.service), len(group.outcomes)
        known = progress(group.study, own, group.outcomes, self._questions)
        # what it shares with another combination, that one measures
        if (point := known.next) is None or not group.may(point):
            return _Candidate(count, None, _LAST, known)
        point = design.with_levels(self._study, group, point)
        turn = design.turn(self._study, group, point, self._questions)
        return _Candidate(count, point, turn, known)


def progress(
    study: Study, service: ServiceSpec, outcomes: Sequence[Outcome], questions: Questions
) -> Progress:
    """How far one service has come.

    Args:
        study: the study.
        service: one of its services.
        outcomes: in the order in which they were made; those of other services are ignored, and
            those of several at once.
        questions: all that may be asked.
    """
    own = (questions.known(o) for o in outcomes if o.point.service == service.label)
    ours = [o for o in own if not o.point.rules.is_of_all]
    result = _progress(study, service, ours, questions)
    return result if result.next is None else replace(result, next=questions.stated(result.next))


def _progress(
    study: Study, service: ServiceSpec, outcomes: Sequence[Outcome], questions: Questions
) -> Progress:
    left_s = study.run.budget_s - sum(o.wall_s for o in outcomes)
    asked = questions.asked(study, service)
    now = Progress()
    for number, question in enumerate(asked):
        if question.needs_axis and now.axis is None:
            has_peak = study.peaks(service)
            before = now.found
            if has_peak:
                now = _axis(study, service, outcomes, questions.axis_search)
            else:
                now = _asked(study, service, outcomes)
            now = replace(now, found={**before, **now.found})
            if now.next or now.reasons:
                return now
        retained_s = sum(later.reserved_s(study, service, now) for later in asked[number + 1 :])
        now = replace(now, is_late=left_s < retained_s)
        if (result := question.finds(study, service, now, outcomes)) is not None:
            now = replace(now, found={**now.found, question.name: result})
        if point := question.next_point(study, service, now, outcomes):
            return replace(now, next=point)
    return now


def _asked(study: Study, service: ServiceSpec, outcomes: Sequence[Outcome]) -> Progress:
    """The same where the study's loads are rates, and nothing needs the highest there is."""
    return Progress(axis=axes.asked(study), target=axes.target(service, outcomes))


def _axis(
    study: Study, service: ServiceSpec, outcomes: Sequence[Outcome], by_search: str
) -> Progress:
    """What 100 % load means and the QoS target; until both are known, `next` or `reasons`."""
    top = axes.peak(service, outcomes)
    if (point := axes.next_peak(study, service, outcomes)) or top is None:
        return Progress(axis=top, next=point, reasons=() if point else _because(_NO_PEAK, outcomes))
    if point := axes.next_base(study, service, outcomes, top):
        return Progress(axis=top, next=point)
    target = axes.target(service, outcomes)
    if service.qos and target is None:
        return Progress(axis=top, reasons=_because(_NO_BOUND, outcomes))
    if service.max_rps is MaxRps.NO_DROP:
        point, result = no_drop(study, service, outcomes, top)
        reasons = () if point or result else (_NO_DROP,)
        return Progress(axis=result or top, target=target, next=point, reasons=reasons)
    if target and service.max_rps is MaxRps.QOS:
        return _searched(study, service, outcomes, top, target, name=by_search)
    return Progress(axis=top, target=target)


def _searched(
    study: Study,
    service: ServiceSpec,
    outcomes: Sequence[Outcome],
    top: Axis,
    target: Target,
    *,
    name: str,
) -> Progress:
    """The axis that is itself the answer to a question: the highest load within the target.

    `name`: of that question, which finds the search made when it is asked; "": there is none.
    """
    if not name:
        return Progress(axis=top, target=target, reasons=(_NO_SEARCH,))
    result = search(study, service, outcomes, top, target)
    now = Progress(axis=top, target=target, found={name: result}, next=result.next)
    interval = result.interval_rps
    if result.next:
        return now
    if result.estimate_rps is None or interval is None or not interval[0]:
        return replace(now, reasons=(_NO_LOAD,))
    return replace(
        now,
        axis=Axis(
            rps=make.rounded(result.estimate_rps),
            lo_rps=interval[0],
            hi_rps=min(interval[1], result.highest_rps),
            rule=MaxRps.QOS,
            runs=result.starts,
            is_valid=True,
        ),
    )


def _because(what: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """What could not be measured, with the last run's own reason."""
    why = outcomes[-1].reasons if outcomes else ()
    return (f"{what}: {why[0]}",) if why else (what,)


_UNPLANNED = Known()  # of a joint plan, which no one asks for it
_AFTER_ALL = (1_000, True)  # in the place of a phase: of what fails, while others are tried
_LAST: design.Turn = ((0, False), 0, 0, 0)  # of a combination that is complete: never compared
_NO_PEAK = "nothing was answered in any closed-loop run: there is no load axis"
_NO_BOUND = "the run at low load is not valid: there is no QoS bound"
_NO_DROP = "the highest rate without drops is not known: there is no load axis"
_NO_SEARCH = "no question searches for the highest load within QoS: there is no load axis"
_NO_LOAD = "no load meets the QoS target: there is no load axis"
