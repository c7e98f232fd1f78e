"""The highest load within the QoS target: what `plan.search` looks for, as a question (M18, M28).

With `max_rps = "qos"` the search is the load axis, and has been made before this is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sojourn.plan.evidence import LOAD_PHASES
from sojourn.plan.points import Outcome, Phase, Point
from sojourn.plan.question import Known, PhaseKind, Question
from sojourn.plan.search import Search, needs_s, search
from sojourn.plan.time_budget import AROUND_S, RESTART_S
from sojourn.spec import MaxRps, ServiceSpec, Study
from sojourn.units import show_count

NAME = "max_load"


def search_of(known: Known) -> Search | None:
    """The search of a service; None if it was not begun."""
    stored = known.found.get(NAME)
    return stored if isinstance(stored, Search) else None


class MaxLoad(Question):
    """The search, and the longer runs at its lower end."""

    name = NAME
    about = "the highest load within the QoS target, with its interval"
    phases = (
        PhaseKind(
            name=Phase.SEARCH,
            about="the highest load within QoS",
            is_about=True,
            is_decided=True,
            grows_with=("run.search.budget_s",),
        ),
        PhaseKind(
            name=Phase.CONFIRM, about="its lower end once more", is_decided=True, grows_with=()
        ),
        PhaseKind(
            name=Phase.SCHEDULED,
            about="the same without the shield",
            is_bare=True,
            is_decided=True,
            grows_with=(),
        ),
    )
    tables = ("qos",)
    gives_axis = True

    def searched(self, known: Known) -> Search | None:
        """The search of a service; None if it was not begun."""
        return search_of(known)

    def finds(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Search | None:
        """Where the search stands; None before axis and target are known."""
        stored = search_of(known)
        if stored is not None or known.axis is None or known.target is None:
            return stored
        return search(study, service, outcomes, known.axis, known.target)

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """The next probe or last run."""
        del study, service, outcomes
        stored = search_of(known)
        return stored.next if stored else None

    def reserved_s(self, study: Study, service: ServiceSpec, known: Known) -> float:
        """The search's own budget, unless it has been spent on the axis."""
        is_to_come = known.target is not None and service.max_rps is not MaxRps.QOS
        return study.run.search.budget_s if is_to_come else 0.0

    def so_far(self, known: Known) -> str:
        """`so far ≈ 100k/s (80k–130k)`: the interval of what all runs say."""
        stored = search_of(known)
        ends = stored.interval_rps if stored else None
        if stored is None or ends is None:
            return ""
        lo, hi = ends
        if lo <= 0 and math.isinf(hi):
            return ""
        if lo <= 0:
            return f"so far at most {show_count(hi, 1)}/s"
        if math.isinf(hi):
            return f"so far at least {show_count(lo, -1)}/s"
        between = f"{show_count(lo)}–{show_count(hi)}"
        estimate = stored.estimate_rps
        return (
            f"so far ≈ {show_count(estimate)}/s ({between})" if estimate else f"so far {between}/s"
        )

    def chance_of(self, known: Known, outcome: Outcome) -> float | None:
        """What all runs so far say about a load: one answer for log, page and record.

        They say nothing of the same load without the shield, which is apart (M32).
        """
        stored = search_of(known)
        if stored is None or stored.posterior is None or not outcome.offered_rps:
            return None
        if outcome.point.phase is Phase.SCHEDULED:
            return None
        return float(stored.posterior.holds_at(outcome.offered_rps))

    def rehearsed(
        self, study: Study, point: Point, played: Sequence[Outcome], fresh_s: float
    ) -> Sequence[Point]:
        """A probe counts for all of its search: on real machines it takes the time that it may.

        Where they go would have to be asked of the model, which takes longer than all else here.
        """
        if point.phase is not Phase.SEARCH:
            return [point]
        spent_s = sum(
            o.wall_s
            for o in played
            if (o.point.service, o.point.phase) == (point.service, point.phase)
        )
        each_s = point.measure_s + point.warmup_s + fresh_s
        count = max(1, int((study.run.search.budget_s - spent_s) / each_s + 1e-9))
        later = (replace(point, repeat=point.repeat + n) for n in range(count))
        return [replace(one, key=one.cell.key()) for one in later]

    def shortfalls(
        self, study: Study, service: ServiceSpec, points: Sequence[Point]
    ) -> Iterator[str]:
        """Whether the load is too little for the target to be known, whatever it will show."""
        spec = study.run.search
        if not service.qos or not service.qos.bound_ns:
            return
        wanted_s = needs_s(service.qos.q, service.qos.bound_ns / 1e9)
        selected = [point for point in points if point.phase in LOAD_PHASES]
        load_s = sum(point.measure_s for point in selected)
        if selected and load_s < wanted_s:
            each_s = spec.probe_s + study.run.warmup_s + AROUND_S + RESTART_S
            more_s = each_s * math.ceil((wanted_s - load_s) / spec.probe_s)
            typed_s = (spec.budget_s + more_s) / service.stretch
            yield (
                f"{service.label}: {load_s:.0f} s of load cannot settle a bound of "
                f"{service.qos.bound}, {wanted_s:.0f} s can; "
                f"--set run.search.budget_s={math.ceil(typed_s / 10) * 10}"
            )


KIND = MaxLoad()
