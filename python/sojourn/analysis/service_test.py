"""Curves of a service: runs that lost requests end them."""

from __future__ import annotations

import math

import pytest

from sojourn.analysis.runs import Judged
from sojourn.analysis.service import _curves
from sojourn.findings.load_point import Run
from sojourn.findings.testing import made
from sojourn.plan.decide import Decision


def test_the_mean_has_a_curve_only_as_far_as_most_runs_have_a_mean() -> None:
    """At 80 % two of three runs lost a request; a mean of the third is chosen for its success."""

    def judged(load: float, mean_ns: float | None) -> Judged:
        run = made(Run, fraction=load, mean_ns=mean_ns, quantiles=((0.99, 1e6),))
        return made(Judged, run=run, decision=Decision.PASS)

    loads = (0.1, 0.3, 0.5, 0.7)
    each = [judged(load, 1e5) for load in loads for _ in range(3)]
    each += [judged(0.8, 1e5), judged(0.8, None), judged(0.8, None), judged(0.9, 1e5)]
    lines, _ = _curves(each, None, 0.99)
    ends = {line.name: line.fraction[-1] for line in lines}
    assert ends == pytest.approx({"lowess p99": 0.9, "lowess mean": 0.7})
    assert all(math.isfinite(ns) for line in lines for ns in line.value_ns)
