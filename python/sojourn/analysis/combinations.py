"""A study with factors → one study for each service and combination of levels, with its points.

All that finds something about a service works on these, and knows of no factors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sojourn.analysis.data import Measured, StudyData
from sojourn.plan import design
from sojourn.plan.setting import Setting, level_text
from sojourn.spec import ServiceSpec
from sojourn.spec.levels import names


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One service under one combination of levels.

    Attributes:
        spec: the service, with the levels set.
        levels: of the factors that it feels; empty without factors.
        title: how people tell it from the others: `memcached, threads = 2`.
        given: the study of the combination, and its points without the levels.
    """

    spec: ServiceSpec
    levels: Setting
    title: str
    given: StudyData


def parts(given: StudyData) -> tuple[Part, ...]:
    """Every service under every combination, in the study's and the design's order."""
    if not given.study.factors:
        return tuple(
            Part(spec=spec, levels=Setting(), title=spec.label, given=given)
            for spec in given.study.services
        )
    measured: dict[str, list[Measured]] = {}
    for one in given.measured:
        point = one.outcome.point
        levels = design.levels_of(given.study, point)
        plain = replace(one, outcome=design.without(one.outcome, levels))
        measured.setdefault(design.home(point.service, levels), []).append(plain)
    return tuple(
        _part(given, label, levels, tuple(measured.get(design.home(label, levels), ())))
        for label, levels, _ in design.studies(given.study)
    )


def _part(given: StudyData, label: str, levels: Setting, measured: tuple[Measured, ...]) -> Part:
    home = design.home(label, levels)
    study = given.study.under(levels)
    return Part(
        spec=study.service(label),
        levels=levels,
        title=title(given, label, levels),
        given=replace(
            given,
            study=study,
            measured=measured,
            setups={label: given.setups.get(home, ())},
            workers={label: given.workers[home]} if home in given.workers else {},
        ),
    )


def title(given: StudyData, label: str, levels: Setting) -> str:
    """A service and its levels, as people tell it from the others."""
    called = names(given.study.factors)
    return ", ".join([label, *(f"{called[key]} = {level_text(levels[key])}" for key in levels)])
