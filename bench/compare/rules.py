"""Rules by which others call a number worse, as their documentation has them.

Each takes the runs of both sides, blocks × (old, new), and says whether it alarms. None of them is
sequential: they see the first `BLOCKS` blocks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from machines import Floats
from scipy import stats

BLOCKS = 10
NOISE = 0.01  # criterion's default noise threshold
RESAMPLES = 1000
SIGNIFICANCE = 0.05  # criterion's default


def threshold(limit: float) -> Callable[[Floats], bool]:
    """Means of all runs, compared with a fixed limit: github-action-benchmark and scripts."""

    def rule(runs: Floats) -> bool:
        old, new = runs[:BLOCKS].mean(axis=0)
        return bool(new / old > 1 + limit)

    return rule


def one_run(limit: float) -> Callable[[Floats], bool]:
    """One run a side, as most jobs in CI have it."""
    return lambda runs: bool(runs[0, 1] / runs[0, 0] > 1 + limit)


def welch(runs: Floats) -> bool:
    """Welch's t on runs at 1 %, two-sided, worse only: hyperfine's script at a stricter level."""
    old, new = runs[:BLOCKS].T
    result = stats.ttest_ind(new, old, equal_var=False)
    return bool(result.pvalue < 0.01 and new.mean() > old.mean())


def criterion(runs: Floats) -> bool:
    """criterion.rs: bootstrapped t at 5 %, and the interval of the change above 1 %."""
    old, new = runs[:BLOCKS].T
    rng = np.random.default_rng(1)
    both = np.concatenate([old, new])
    drawn = rng.choice(both, (RESAMPLES, len(both)))
    t = _t(drawn[:, : len(old)], drawn[:, len(old) :])
    seen = float(_t(old[None, :], new[None, :])[0])
    p = np.mean(np.abs(t) >= abs(seen))
    change = (
        rng.choice(new, (RESAMPLES, len(new))).mean(axis=1)
        / rng.choice(old, (RESAMPLES, len(old))).mean(axis=1)
        - 1
    )
    return bool(p < SIGNIFICANCE and np.quantile(change, 0.025) > NOISE)


def _t(old: Floats, new: Floats) -> Floats:
    error = np.sqrt(old.var(axis=1, ddof=1) / old.shape[1] + new.var(axis=1, ddof=1) / new.shape[1])
    return np.asarray((new.mean(axis=1) - old.mean(axis=1)) / np.maximum(error, 1e-300))


RULES: dict[str, Callable[[Floats], bool]] = {
    "one run, 10 %": one_run(0.10),
    "one run, 25 %": one_run(0.25),
    "mean of 10 runs, 10 %": threshold(0.10),
    "mean of 10 runs, 25 %": threshold(0.25),
    "Welch on 10 runs, 1 %": welch,
    "criterion on 10 runs": criterion,
}
