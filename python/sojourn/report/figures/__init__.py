"""Every kind of figure but those of questions, in the order in which the page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.report import parts
from sojourn.report.draw.figure import Figure, Kind, unchecked
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

KINDS: Sequence[Kind] = (
    overview.KIND,
    chance.KIND,
    trends.KIND,
    effects.KIND,
    services.KIND,
    by_level.KIND,
    factors.KIND,
    antagonists.KIND,
    kept.KIND,
    null.KIND,
    tail_load.KIND,
    mean_load.KIND,
    probes.KIND,
    achieved.KIND,
    resources.KIND,
    distribution.KIND,
    restarts.KIND,
    series.KIND,
)
APART = 10  # places between two of them


def of_service(service: ServiceFinding, *, is_crowded: bool = False) -> list[Figure]:
    """All figures about one service; `is_crowded`: one of very many."""
    with unchecked():
        return [
            replace(figure, is_detail=kind.is_detail)
            for kind in _kinds()
            if kind.of_service and not (is_crowded and kind.is_for_few)
            for figure in kind.of_service(service)
        ]


def of_study(findings: Findings) -> list[Figure]:
    """All figures about the study as a whole."""
    with unchecked():
        return [figure for kind in _kinds() if kind.of_study for figure in kind.of_study(findings)]


def _kinds() -> tuple[Kind, ...]:
    """All of the table, and those of questions, each in its place."""
    own = ((APART * number, kind) for number, kind in enumerate(KINDS))
    others = ((kind.place, kind) for shown in parts.sections() for kind in shown.figures)
    return tuple(kind for _, kind in sorted((*own, *others), key=lambda one: one[0]))
