"""The league: every manager at each load, and what equal runs differ by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn import units
from sojourn.actors.managers import called
from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.combinations import Part, parts
from sojourn.analysis.counted import Counted, count
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import Measured, StudyData
from sojourn.findings.section import Section
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.plan.setting import LOAD, TWIN
from sojourn.plan.traced import NO_NEIGHBOUR
from sojourn.questions.manager_league.plan import NAME, PHASE
from sojourn.questions.manager_league.rows import Row, best, misses_alone, rivals, row
from sojourn.spec import ServiceSpec
from sojourn.text.numbers import load_share, percent
from sojourn.units import show_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class League(Section):
    """Every manager at every load.

    Attributes:
        service: label.
        bound_ns: of p99, the target of every manager.
        rows: loads ascending, and managers as the study has them; the twin of the A/A level too.
    """

    service: str = ""
    bound_ns: float = 0.0
    rows: tuple[Row, ...] = ()

    @property
    def loads(self) -> tuple[float, ...]:
        """Loads of the rows, ascending."""
        return tuple(sorted({one.load for one in self.rows}))

    def at(self, load: float) -> tuple[Row, ...]:
        """Rows of one load, without the twin."""
        return tuple(one for one in self.rows if one.load == load and not one.is_twin)

    def twins(self, load: float) -> tuple[Row, Row] | None:
        """The A/A level and its twin; None where one of them is not known."""
        own = [one for one in self.rows if one.load == load]
        twin = next((one for one in own if one.is_twin and one.violated is not None), None)
        if twin is None:
            return None
        first = next((one for one in own if one.manager == twin.manager and not one.is_twin), None)
        return (first, twin) if first and first.violated is not None else None


class LeagueAnswer(Answer):
    """About all managers together, so none has a section of its own."""

    name = NAME
    section = League

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> None:
        """None: it is about all managers."""
        del data, spec, progress, finding

    def is_part(self, spec: ServiceSpec) -> bool:
        """A manager is measured for the sake of the league."""
        return NAME in spec.measure

    def whole(self, data: StudyData) -> League | None:
        """A row of each manager at each load."""
        asked = [part for part in parts(data) if self.is_part(part.spec)]
        if not asked:
            return None
        rows = sorted((one for part in asked for one in _rows(part)), key=lambda one: one.load)
        spec = asked[0].spec
        bound_ns = _bound_ns(asked)
        reasons = [
            f"{called(one.manager)} at {load_share(one.load)} load: {one.why}"
            for one in rows
            if one.why
        ]
        loads = sorted({one.load for one in rows})
        missed = [at for at in loads if misses_alone([one for one in rows if one.load == at])]
        reasons += [
            f"{spec.label} alone misses its target at {load_share(load)} load: give it less load "
            "or a higher bound, or a quieter machine"
            for load in missed
        ]
        text = " ".join(sentence(rows, load) for load in loads)
        text = text or "No manager was measured."
        return League(
            headline=text,
            answer=text,
            verdict=Verdict.UNKNOWN if reasons or not rows else Verdict.HOLDS,
            reasons=tuple(reasons),
            leads=True,
            service=spec.label,
            bound_ns=bound_ns,
            rows=tuple(rows),
        )

    def counted(self, findings: Findings) -> Counted | None:
        """Managers of which violated seconds and work are known."""
        section = findings.section(League)
        if section is None:
            return None
        each = [
            one.verdict is Verdict.HOLDS and not misses_alone(section.at(load))
            for load in section.loads
            for one in section.at(load)
        ]
        return count(each or [False], "managers")

    def service_json(self, section: Section | None) -> Mapping[str, object]:
        """Nothing: it is about all managers."""
        del section
        return {}

    def service_types(self) -> Mapping[str, Any]:
        """No type either: there is no such section."""
        return {}

    def study_types(self) -> Mapping[str, Any]:
        """A section where it was asked."""
        return {}


def _rows(part: Part) -> list[Row]:
    study = part.data.study
    is_alone = study.neighbour == NO_NEIGHBOUR
    groups: dict[tuple[float, bool], list[Measured]] = {}
    for one in part.data.measured:
        point = one.outcome.point
        if point.phase is PHASE:
            key = float(point.setting[LOAD]), TWIN in point.setting
            groups.setdefault(key, []).append(one)
    return [
        row(study.manager, load, runs, is_alone=is_alone, is_twin=is_twin)
        for (load, is_twin), runs in groups.items()
    ]


def _bound_ns(asked: list[Part]) -> float:
    points = (one.outcome.point for part in asked for one in part.data.measured)
    texts = (dict(point.overrides).get("qos_bound") for point in points if point.phase is PHASE)
    return float(units.parse_ns(str(next(filter(None, texts), "0s"))))


def sentence(rows: list[Row], load: float) -> str:
    """Who leaves most work among those with the fewest violated seconds, and what none does."""
    own = [one for one in rows if one.load == load and not one.is_twin]
    at = f"At {load_share(load)} load"
    if misses_alone(own):
        return f"{at} the service misses its target without any job, so no manager can keep it."
    first = best(own)
    if first is None:
        return f"{at} it is unknown which manager is best."
    job = first.neighbour or "the job"
    text = f"{at} {called(first.manager)} keeps {percent(first.work or 0.0)} of {job}"
    text = f"{text} with {seconds(first)} violated{or_others(own)}."
    none = next((one for one in own if one.manager == "none" and not one.is_alone), None)
    if none is None or none is first or none.work is None:
        return text
    return f"{text} Without a manager {job} keeps {percent(none.work)} and {seconds(none)} are."


def or_others(rows: Sequence[Row]) -> str:
    """That the best one is not surely the best: `; 2 others may keep as much`."""
    count = len(rivals(rows))
    return f"; {count} {'other' if count == 1 else 'others'} may keep as much" if count else ""


def seconds(one: Row) -> str:
    """Violated seconds of a run on average: `2.5 of 10 s`.

    >>> seconds(Row(manager="x", load=0.5, violated=0.25, seconds=10))
    '2.5 of 10 s'
    """
    if one.violated is None:
        return "an unknown part"
    return f"{one.violated * one.seconds:.1f} of {one.seconds:.0f} s"


def target(section: League) -> str:
    """The target in words: `p99 ≤ 1 ms`."""
    return f"p99 ≤ {show_ns(section.bound_ns)}"


KIND = LeagueAnswer()
