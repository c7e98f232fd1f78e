"""One run alone: what it says of its target is what its own interval shows."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.analysis import load_point, runs
from sojourn.analysis.findings import Qos
from sojourn.analysis.testing import measured, mg1
from sojourn.plan import Phase, Point, Verdict

POINT = Point(
    key="s/sweep/b0/f0.80", service="s", phase=Phase.SWEEP, offered_rps=8_000.0, fraction=0.8,
    measure_s=5.0, warmup_s=0.0, seed=1,
)  # fmt: skip
TRUE_P99 = np.log(100) / (1 - 0.8)  # of M/M/1 in service times, at a load of 0.8
SERVICE_NS = 1e5


@pytest.mark.parametrize("bound", [0.5, 0.9, 1.0, 1.1, 1.5, 3.0])
def test_no_run_holds_or_fails_while_its_own_interval_crosses_the_bound(bound: float) -> None:
    qos = Qos(q=0.99, bound_ns=bound * TRUE_P99 * SERVICE_NS, rule="given")
    said = set()
    for seed in range(12):
        times = SERVICE_NS * mg1(np.random.default_rng(seed), 0.8, 40_000)
        judged = runs.judge(measured(POINT, times, bound_ns=qos.bound_ns, seconds=10), qos)
        point = load_point.gather([judged], qos, None, None)
        shown = next(e.interval for e in point.quantiles if e.q == 0.99)
        said.add(judged.run.verdict)
        if not judged.is_believed or shown is None:
            continue
        if judged.run.verdict is Verdict.HOLDS:
            assert shown.hi <= qos.bound_ns
        elif judged.run.verdict is Verdict.VIOLATED:
            assert shown.lo > qos.bound_ns
        else:
            assert "count as" in judged.run.reasons[-1]
    if bound == 3.0:
        assert Verdict.HOLDS in said
    if bound == 0.5:
        assert Verdict.VIOLATED in said
