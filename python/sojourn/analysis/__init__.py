"""Arrays → findings. Pure: no file, no clock, no machine; one method per file, its source cited.

`KINDS` are the methods that are common to all questions; each question has its own besides.
"""

from sojourn.analysis import (
    counted,
    lqos,
    pace,
    qos_probability,
    resource_use,
    scaling,
    state,
    trend,
    workers,
)
from sojourn.analysis.study import study
from sojourn.findings import answer
from sojourn.findings.measured import Measured, Second, StudyData
from sojourn.papers import factors as paper_factors
from sojourn.papers import paper
from sojourn.papers import tailbench as paper_tailbench
from sojourn.stats import (
    change_points,
    equal_machines,
    independence,
    log_ratio_contrasts,
    lowess,
    quantile_regression,
    quantiles,
    queueing,
    restarts,
    steady,
    symmetry_bets,
    unpaired_ratio,
    variance_components,
)
from sojourn.stats.method import Method

KINDS: tuple[Method, ...] = (
    quantiles.METHOD,
    independence.METHOD,
    steady.METHOD,
    restarts.METHOD,
    lowess.METHOD,
    queueing.METHOD,
    lqos.METHOD,
    paper.METHOD,
    answer.METHOD,
    log_ratio_contrasts.METHOD,
    trend.METHOD,
    scaling.METHOD,
    workers.METHOD,
    pace.METHOD,
    paper_factors.METHOD,
    paper_tailbench.METHOD,
    quantile_regression.METHOD,
    resource_use.METHOD,
    qos_probability.METHOD,
    counted.METHOD,
    symmetry_bets.METHOD,
    unpaired_ratio.METHOD,
    change_points.METHOD,
    variance_components.METHOD,
    equal_machines.METHOD,
)

__all__ = ["KINDS", "Measured", "Method", "Second", "StudyData", "state", "study"]
