"""What a study found: all that the report shows, so that it need not compute.

All times are float ns; `math.inf` where requests that never completed decide the quantile; None
where a number is refused, with the reason beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from sojourn.findings.effects import FactorFinding
from sojourn.findings.limit import Limit
from sojourn.findings.load_point import Line, LoadPoint, Run
from sojourn.findings.measurement_error import NoiseFloor, ProbeRow
from sojourn.findings.neighbour_pace import Kept
from sojourn.findings.point_row import PointRow
from sojourn.findings.resource_use import ResourceUse
from sojourn.findings.section import Section
from sojourn.findings.state import State
from sojourn.plan.left_out import LeftOut
from sojourn.plan.points import Verdict
from sojourn.stats.interval import Interval

S = TypeVar("S", bound=Section)


@dataclass(frozen=True, slots=True, kw_only=True)
class Qos:
    """The target: quantile, bound, and where the bound comes from (given, or LQoS of P8)."""

    q: float
    bound_ns: float
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFinding:
    """All about one service of the study: what is common, and what each question found.

    Attributes:
        service: its label; under factors with the levels, `memcached, threads = 2`.
        label, levels: the same apart: (factor, level) pairs; () without factors.
        max_rps_rule: M19's definition in use: `achieved_peak`, `no_drop` or `qos`; for the null
            service `highest_asked`.
        crossing: fraction at which the curve of the QoS quantile crosses the bound; None if it
            does not within the measured loads.
        paper: (what, paper's value in words, ours in words, id) rows, such as C7's 70 %.
        setup: service facts for people: version, threads, CPUs, items, scaling.
        sections: what each question found, by its name, those that speak first first.
        noise_floor: what equal runs differ by; None without pairs of them.
        twins: second runs of a load in the same block (A/A), on no curve.
        probes: the load's client against the probe beside it, run by run.
        resources: what it used, at the QoS crossing and at every load; None in older records.
        kept: what its neighbour kept of its pace alone, loads ascending; () without one that tells.
        is_axis_valid: a valid run has max RPS; else 100 % is only a name.
        served_rps: what a valid run at a set load got, if that is more than any closed-loop run
            got: max RPS is at least that. None: no run got more.
    """

    service: str
    kind: str
    qos: Qos | None
    max_rps: float | None
    max_rps_interval: Interval | None
    max_rps_rule: str
    points: tuple[LoadPoint, ...]
    lines: tuple[Line, ...]
    crossing: Interval | None
    paper: tuple[tuple[str, str, str, str], ...]
    setup: tuple[tuple[str, str], ...]
    answer: str
    verdict: Verdict
    reasons: tuple[str, ...]
    sections: Mapping[str, Section] = field(default_factory=dict)
    noise_floor: NoiseFloor | None = None
    twins: tuple[Run, ...] = ()
    probes: tuple[ProbeRow, ...] = ()
    resources: ResourceUse | None = None
    kept: tuple[Kept, ...] = ()
    label: str = ""
    levels: tuple[tuple[str, bool | int | float | str], ...] = ()
    is_axis_valid: bool = True
    served_rps: float | None = None
    limit: Limit | None = None

    @property
    def highest_rps(self) -> float | None:
        """Max RPS where a valid run has it; None: it is only a name, or not known."""
        return self.max_rps if self.is_axis_valid else None

    def section(self, kind: type[S]) -> S | None:
        """What the question found that gives this type; None if it was not asked or begun."""
        return _of_type(self.sections, kind)

    def having(self, name: str, section: Section | None) -> Self:
        """The same with this section, or without it."""
        return replace(self, sections=_changed(self.sections, name, section))


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a study found, ready to be shown.

    Attributes:
        answer: the answer in one or two sentences, first thing in every report.
        factors: what each factor does to each service that feels it.
        environment: the manifest of M25 (nested, JSON).
        noise: (what adds noise on this host, how to fix it).
        study_file: the resolved study, TOML.
        command: the command that reproduces it.
        sections: what questions found of all services together, by name.
        points: every measured point, in order of time.
        left_out: combinations of levels without an answer, each with its reason.
        unanswered: names of questions that it asks and of which nothing is known, once for each
            service; once for all of them where the question is about several. Also once for each
            load, pair or combination that an unfinished study has not begun, and for each
            combination that was abandoned.
        state: how far the study has answered its own question, and what would settle the rest.
    """

    study: str
    question: str
    answer: str
    verdict: Verdict
    reasons: tuple[str, ...]
    started: str
    wall_s: float
    services: tuple[ServiceFinding, ...]
    sections: Mapping[str, Section] = field(default_factory=dict)
    factors: tuple[FactorFinding, ...] = ()
    environment: dict[str, object] = field(default_factory=dict)
    noise: tuple[tuple[str, str], ...] = ()
    study_file: str = ""
    command: str = ""
    points: tuple[PointRow, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    unanswered: tuple[str, ...] = ()
    state: State = State(done=0, of=0, unit="")  # noqa: RUF009 - it is frozen

    def section(self, kind: type[S]) -> S | None:
        """What the question found that gives this type; None if it was not asked."""
        return _of_type(self.sections, kind)

    def having(self, name: str, section: Section | None) -> Self:
        """The same with this section, or without it."""
        return replace(self, sections=_changed(self.sections, name, section))


def _of_type(sections: Mapping[str, Section], kind: type[S]) -> S | None:
    return next((one for one in sections.values() if isinstance(one, kind)), None)


def _changed(
    sections: Mapping[str, Section], name: str, section: Section | None
) -> Mapping[str, Section]:
    changed = {**sections, name: section}
    return {name: one for name, one in changed.items() if one is not None}
