"""Arrays → findings. Pure: no file, no clock, no machine; one method per file, its source cited."""

from sojourn.analysis import (
    answer,
    attribution,
    beside,
    blame,
    breakdown,
    contrasts,
    costs,
    culprits,
    independence,
    lowess,
    lqos,
    max_load,
    oracle,
    pace,
    paper,
    paper_factors,
    paper_tailbench,
    properties,
    quantiles,
    queueing,
    resources,
    restarts,
    scaling,
    steady,
    targets,
    trend,
    workers,
)
from sojourn.analysis.answered import is_answered
from sojourn.analysis.data import Measured, Second, StudyData
from sojourn.analysis.method import Method
from sojourn.analysis.study import study

KINDS: tuple[Method, ...] = (
    quantiles.METHOD,
    independence.METHOD,
    steady.METHOD,
    restarts.METHOD,
    lowess.METHOD,
    queueing.METHOD,
    max_load.METHOD,
    lqos.METHOD,
    oracle.METHOD,
    paper.METHOD,
    breakdown.METHOD,
    culprits.METHOD,
    answer.METHOD,
    contrasts.METHOD,
    trend.METHOD,
    scaling.METHOD,
    workers.METHOD,
    pace.METHOD,
    beside.METHOD,
    properties.METHOD,
    paper_factors.METHOD,
    paper_tailbench.METHOD,
    attribution.METHOD,
    costs.METHOD,
    blame.METHOD,
    resources.METHOD,
    targets.METHOD,
)

__all__ = ["KINDS", "Measured", "Method", "Second", "StudyData", "is_answered", "study"]
