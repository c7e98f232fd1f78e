"""A study with factors → one study for each service and combination of levels, with its points.

All that finds something about a service works on these, and knows of no factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import axis as axes
from sojourn.plan import design
from sojourn.plan.points import Phase
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
        has_axis: it measured its own load axis; else that of the service alone is among its points.
        data: the study of the combination, and its points without the levels.
    """

    spec: ServiceSpec
    levels: Setting
    title: str
    has_axis: bool = True
    data: StudyData


def parts(data: StudyData) -> tuple[Part, ...]:
    """Every service under every combination, in the study's and the design's order."""
    if not data.study.factors:
        return tuple(
            Part(
                spec=spec,
                levels=Setting(),
                title=spec.label,
                data=replace(data, study=data.study.of(spec.label)),
            )
            for spec in data.study.services
        )
    measured: dict[str, list[Measured]] = {}
    for one in data.measured:
        point = one.outcome.point
        levels = design.levels_of(data.study, point)
        plain = replace(one, outcome=design.without(one.outcome, levels))
        measured.setdefault(design.home(point.service, levels), []).append(plain)
    return tuple(
        _part(data, label, levels, measured) for label, levels, _ in design.studies(data.study)
    )


def _part(
    data: StudyData, label: str, levels: Setting, measured: Mapping[str, Sequence[Measured]]
) -> Part:
    study = data.study.under(levels).of(label)
    lenders = (design.axis_of(data.study, levels), design.base_of(study, label, levels))
    home, axis, base = (design.home(label, of) for of in (levels, *lenders))
    lent = [
        one
        for one in (measured.get(axis, ()) if axis != home else ())
        if one.outcome.point.phase is Phase.PEAK and not axes.is_base(one.outcome.point)
    ]
    low = [one for one in measured.get(base, ()) if axes.is_base(one.outcome.point)]
    own = [
        one for one in measured.get(home, ()) if base == home or not axes.is_base(one.outcome.point)
    ]
    return Part(
        spec=study.service(label),
        levels=levels,
        title=title(data, label, levels),
        has_axis=not lent,
        data=replace(
            data,
            study=study,
            measured=(*lent, *(low if base != home else ()), *own),
            setups={label: data.setups.get(home, ())},
            cpu_kinds={label: data.cpu_kinds.get(home, frozenset())},
            workers={label: data.workers[home]} if home in data.workers else {},
        ),
    )


def title(data: StudyData, label: str, levels: Setting) -> str:
    """A service and its levels, as people tell it from the others."""
    called = names(data.study.factors)
    own = [key for key in data.study.factors if key in levels]
    return ", ".join([label, *(f"{called[key]} = {level_text(levels[key])}" for key in own)])
