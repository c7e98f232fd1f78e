"""Factors: one plan for each combination of levels, and their blocks shuffled together (M16).

A combination is a study of its own (`Study.under`), planned from the outcomes under it alone, whose
settings have lost the combination's levels. Each has one candidate for the next point; of these the
one is taken that is first by phase, then by block, then by lot. So a block holds every combination
once, in an order of its own, and drift of the machine does not line up with any factor.

Factors that take a fresh start of the service are the whole plots of a split-plot design: all loads
of a combination are measured in one life before the next one is started. Others change within a
life, point by point. Lots are drawn for the life first, then for the point.

Source: Montgomery, Design and Analysis of Experiments, 8th ed. (2013), 14.4 on split plots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sojourn.plan import axis as axes
from sojourn.plan import make
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.questions import Questions
from sojourn.plan.setting import MANAGER, NEIGHBOUR, Level, Setting
from sojourn.plan.traced import NO_NEIGHBOUR
from sojourn.spec import MaxRps, Study

LOCAL = "local"  # the place and the axis
Turn = tuple[tuple[int, bool], int, int, int]


@dataclass(frozen=True, slots=True)
class Group:
    """A combination of levels for one service, and what became of it so far.

    Attributes:
        service: label.
        levels: of the factors that the service feels.
        study: of this combination, without factors.
        outcomes: under it, in order, without the levels: the study's own. Those of the load axis
            come first where it is that of another combination.
        has_axis: whether it measures its own load axis.
        has_base: whether it measures its own run at low load, where its QoS bound needs one.
    """

    service: str
    levels: Setting
    study: Study
    outcomes: list[Outcome] = field(default_factory=list)
    has_axis: bool = True
    has_base: bool = True

    def may(self, point: Point) -> bool:
        """Whether it is this combination that measures a point, and not the one that lends it."""
        if point.phase is not Phase.PEAK:
            return True
        return self.has_base if axes.is_base(point) else self.has_axis


def groups(study: Study, label: str, outcomes: Iterable[Outcome]) -> tuple[Group, ...]:
    """One service's combinations in the design's order, each with its outcomes."""
    result = Groups(study, label)
    for outcome in outcomes:
        result.add(outcome)
    return result.all


class Groups:
    """One service's combinations in the design's order; outcomes are added one by one.

    A combination is made anew only when it, or the one whose load axis it shares, got an outcome.
    """

    def __init__(self, study: Study, label: str) -> None:
        """A combination that has no outcomes yet."""
        self._study, self._label = study, label
        own = [_group(study, label, levels) for levels in study.combinations(label)]
        self._own = {group.levels.text: group for group in own}
        self._shown: dict[str, Group] = {}

    def add(self, outcome: Outcome) -> str:
        """Put an outcome to its combination; its text, or "" where it is of no concern here."""
        point = outcome.point
        if point.service != self._label or point.rules.is_of_all:
            return ""
        text = own_levels(self._study, point).text
        if (group := self._own.get(text)) is None:
            return ""
        group.outcomes.append(without(outcome, group.levels))
        self._shown.pop(text, None)
        if point.phase is Phase.PEAK:
            lent = [n for n, one in self._shown.items() if not (one.has_axis and one.has_base)]
            for other in lent:
                del self._shown[other]
        return text

    @property
    def all(self) -> tuple[Group, ...]:
        """Every combination with its outcomes so far."""
        for text, group in self._own.items():
            if text not in self._shown:
                self._shown[text] = _at_equal_load(group, self._own)
        return tuple(self._shown[text] for text in self._own)


def _at_equal_load(group: Group, by_text: Mapping[str, Group]) -> Group:
    """Beside a neighbour 100 % is that of the same combination without one, if there is one.

    In a place it is that of the machine as it is, if the study says so (`axis = "local"`). So what
    a neighbour does is seen at equal offered load, as in the papers (L17, L19), and a bound that is
    measured is that of the service alone. With `max_rps = "qos"` the axis is an answer, and
    each combination has its own. A QoS bound that is measured under some levels (`qos.under`) is
    that of the combination that has them.
    """
    alone = by_text.get(axis_of(group.study, group.levels).text, group)
    base = by_text.get(base_of(group.study, group.service, group.levels).text, alone)
    if alone is group and base is group:
        return group
    axis = [o for o in alone.outcomes if o.point.phase is Phase.PEAK and not axes.is_base(o.point)]
    low = [o for o in base.outcomes if axes.is_base(o.point)]
    own = [o for o in group.outcomes if base is group or not axes.is_base(o.point)]
    return replace(
        group,
        outcomes=[*(axis if alone is not group else ()), *(low if base is not group else ()), *own],
        has_axis=alone is group,
        has_base=base is group,
    )


def base_of(study: Study, label: str, levels: Setting) -> Setting:
    """The combination whose run at low load gives the QoS bound, if it is measured."""
    qos = study.service(label).qos
    under = qos.under if qos else {}
    reports = {name: _level(under.get(name, level)) for name, level in levels.items()}
    return axis_of(study, Setting.of(reports))


def _level(value: object) -> Level:
    assert isinstance(value, bool | int | float | str)  # noqa: S101  # a level of a factor
    return value


def axis_of(study: Study, levels: Setting) -> Setting:
    """The combination whose load axis is that of `levels`, if it is measured: itself, or alone."""
    lent = {f"services.{spec.label}.place": LOCAL for spec in study.services if spec.axis == LOCAL}
    other = {NEIGHBOUR: NO_NEIGHBOUR, MANAGER: NO_NEIGHBOUR, **lent}
    return Setting.of({name: other.get(name, level) for name, level in levels.items()})


def group_of(study: Study, point: Point, outcomes: Iterable[Outcome]) -> Group:
    """The combination that a point belongs to, with its outcomes.

    Of services at once it is that of the point's own service.
    """
    levels = own_levels(study, point)
    axis, base = axis_of(study, levels), base_of(study, point.service, levels)
    near = {levels.text, axis.text, base.text}
    own = (
        outcome
        for outcome in outcomes
        if outcome.point.service == point.service and own_levels(study, outcome.point).text in near
    )
    return next(g for g in groups(study, point.service, own) if g.levels == levels)


def study_of(study: Study, point: Point) -> Study:
    """The study under the levels of a point: what is to be measured, with nothing left to vary."""
    under = study.under(levels_of(study, point)) if study.factors else study
    return under.of(point.service)


def studies(study: Study) -> tuple[tuple[str, Setting, Study], ...]:
    """Every service's label, with the levels and the study of each of its combinations."""
    return tuple(
        (service.label, Setting.of(levels), study.under(levels).of(service.label))
        for service in study.services
        for levels in study.combinations(service.label)
    )


def servers(study: Study) -> tuple[str, ...]:
    """The nodes of a cluster on which services run, each once; "": the lab's own host."""
    if study.hosts is None:
        return ("",)
    every = (under.hosts.server for _, _, under in studies(study) if under.hosts)
    return tuple(dict.fromkeys(every))


def levels_of(study: Study, point: Point) -> Setting:
    """The levels of the study's factors in a point's setting.

    Of services at once they are all that one of them feels.
    """
    return _restricted(point.setting, tuple(study.factors)) if study.factors else _NOTHING


def own_levels(study: Study, point: Point) -> Setting:
    """Those of them that the point's own service feels."""
    return factor_levels(study, point.service, point.setting)


def factor_levels(study: Study, label: str, setting: Setting) -> Setting:
    """The levels of the factors that a service feels, in a setting."""
    return _restricted(setting, study.factors_of(label)) if study.factors else _NOTHING


@lru_cache(maxsize=1 << 16)  # a campaign has far fewer settings than points
def _restricted(setting: Setting, keys: tuple[str, ...]) -> Setting:
    return Setting.of({key: setting[key] for key in keys if key in setting})


def home(label: str, levels: Setting) -> str:
    """One text for a service and a combination of levels; the label alone without levels."""
    return f"{label}/{levels.text}" if levels else label


def text_of(levels: Mapping[str, Level]) -> str:
    """Canonical text of a combination, as in a point's key."""
    return Setting.of(levels).text


def without(outcome: Outcome, levels: Mapping[str, Level]) -> Outcome:
    """An outcome as the study of a combination knows it: these levels are no factors there."""
    if not levels:
        return outcome
    own = {NEIGHBOUR} if outcome.point.phase is Phase.TRACE else set()  # the plan's own factors
    gone = set(levels) - own
    left = {key: level for key, level in outcome.point.setting.items() if key not in gone}
    return replace(outcome, point=replace(outcome.point, setting=Setting.of(left)))


def turn(study: Study, group: Group, merged: Point, questions: Questions) -> Turn:
    """Whose candidate comes first: by phase, by block, then by lots of the life and of the point.

    It is the same until the combination gets an outcome. `merged`: a point with its levels.
    """
    block = Cell(group.service, merged.phase, merged.repeat).key()
    whole_plot = make.seed_of(study, f"{block}/{merged.setting.whole_plot.text}")
    return _rank(group, merged.phase, questions), merged.repeat, whole_plot, merged.seed


def _rank(group: Group, phase: Phase, questions: Questions) -> tuple[int, bool]:
    """Where a phase is in the order of a service's: by question, an open number first."""
    question = questions.of_phase(phase)
    if question is None:
        return -2, False  # the load axis
    is_axis = group.study.service(group.service).max_rps is MaxRps.QOS
    number = -1 if is_axis and question.gives_axis else questions.number(phase)
    return number, not questions.kind_of(phase).is_about


def with_levels(study: Study, group: Group, point: Point) -> Point:
    """A point of a combination's study as the whole study has it: levels in setting, key and seed.

    Raises:
        ValueError: the plan sets a factor of the study by itself.
    """
    if not group.levels:
        return point
    attempt = sum(outcome.point.is_of_cell(point) for outcome in group.outcomes)
    setting = Setting.of({**point.setting, **group.levels})
    if any(setting[key] != level for key, level in point.setting.items()):
        raise ValueError(f"{point.key} has a level of its own of a factor: {group.levels.text}")
    key = replace(point.cell, setting=setting).key(attempt)
    return replace(point, setting=setting, key=key, seed=make.seed_of(study, key))


def _group(study: Study, label: str, levels: Mapping[str, Level]) -> Group:
    return Group(label, Setting.of(levels), drawn_under(study, label, levels).of(label))


def drawn_under(study: Study, who: str, levels: Mapping[str, Level]) -> Study:
    """The study of a combination: orders within its blocks are drawn for itself and for `who`."""
    if not levels:
        return study.under(levels)
    seed = make.seed_of(study, f"{who}/{Setting.of(levels).text}")
    return study.under(levels).model_copy(update={"seed": seed})


_NOTHING = Setting()
