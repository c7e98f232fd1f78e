"""Every kind of figure, in the order in which the page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.questions import shown as sections
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.figures import (
    achieved,
    antagonists,
    by_level,
    chance,
    distribution,
    effects,
    factors,
    kept,
    mean_load,
    null,
    overview,
    probes,
    resources,
    restarts,
    series,
    services,
    tail_load,
    trends,
)

KINDS: Sequence[Kind]


@cache
def _table() -> Sequence[Kind]:
    """In the order of the page."""
    from sojourn.questions.beside import figure as beside
    from sojourn.questions.blame import figure as suspects
    from sojourn.questions.breakdown import figure as stages
    from sojourn.questions.breakdown import flame, stage_loads
    from sojourn.questions.check import figure as checks
    from sojourn.questions.check import selfcheck

    return (
        overview.KIND,
        chance.KIND,
        trends.KIND,
        effects.KIND,
        suspects.KIND,
        stage_loads.KIND,
        services.KIND,
        by_level.KIND,
        factors.KIND,
        beside.KIND,
        antagonists.KIND,
        kept.KIND,
        null.KIND,
        stages.KIND,
        flame.KIND,
        tail_load.KIND,
        mean_load.KIND,
        probes.KIND,
        achieved.KIND,
        resources.KIND,
        distribution.KIND,
        restarts.KIND,
        series.KIND,
        selfcheck.KIND,
        checks.KIND,
    )


def __getattr__(name: str) -> Sequence[Kind]:
    if name == "KINDS":
        return _table()
    raise AttributeError(name)


def of_service(service: ServiceFinding, *, is_crowded: bool = False) -> list[Figure]:
    """All figures about one service; `is_crowded`: one of very many."""
    return [
        replace(figure, is_detail=kind.is_detail)
        for kind in _kinds()
        if kind.of_service and not (is_crowded and kind.is_for_few)
        for figure in kind.of_service(service)
    ]


def of_study(findings: Findings) -> list[Figure]:
    """All figures about the study as a whole."""
    return [figure for kind in _kinds() if kind.of_study for figure in kind.of_study(findings)]


def _kinds() -> tuple[Kind, ...]:
    """All of the table, and those that a section alone knows of."""
    return (*_table(), *(kind for shown in sections.KINDS.values() for kind in shown.figures))
