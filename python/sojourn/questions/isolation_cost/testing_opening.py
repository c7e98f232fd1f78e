"""Made-up findings of this question, for what opens a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sojourn.findings.findings import Findings
from sojourn.questions.isolation_cost.costs import Cost, Felt
from sojourn.questions.isolation_cost.judge import IsolationCosts
from sojourn.questions.isolation_cost.judge import Row as CostRow
from sojourn.questions.testing_openings import Case
from sojourn.report import testing
from sojourn.stats.interval import Estimate, Interval


def estimate(ns: float, *, q: float | None = None) -> Estimate:
    """A time that is known within five percent."""
    ends = Interval(lo=0.95 * ns, hi=1.05 * ns)
    return Estimate(q=q, value=ns, interval=ends, across_restarts=None, requests=99, effective=99.0)


def isolation() -> Findings:
    """A cheap mechanism, a dear one with the paper's beside it, and one that is missing."""
    rows = (
        _cost_row("empty", 400.0),
        _cost_row("cpu_quota", 38e3),
        _cost_row("memory_limit", 2e6),
        _cost_row("restart_runc", 8e8),
        CostRow(
            name="llc_ways",
            about="",
            one="",
            is_restart=False,
            missing="resctrl",
            fix="mount it",
            doubts=(),
            costs={},
            felt=None,
        ),
    )
    service = testing.memcached().having("isolation_cost", IsolationCosts(rows=rows))
    return replace(testing.findings(), services=(service,), sections={})


def _cost_row(name: str, ns: float) -> CostRow:
    cost = Cost(
        count=1000,
        mean=estimate(ns),
        p50=estimate(ns, q=0.5),
        p99=estimate(ns, q=0.99),
        max_ns=2 * ns,
        cpu_ns=ns,
        child_ns=0.0,
        lab_ns=None,
    )
    effect = Felt(
        changes=20,
        requests=999,
        before_ns=1e5,
        after_ns=2e5,
        ratio=1.97,
        interval=Interval(lo=1.73, hi=2.28),
        is_longer=name == "cpu_quota",
    )
    return CostRow(
        name=name,
        about="",
        one="a write",
        is_restart=name.startswith("restart"),
        missing="",
        fix="",
        doubts=(),
        costs={"idle": cost, "loaded": cost},
        felt=effect,
    )


CASES: Mapping[str, Case] = {
    "isolation": Case(isolation, "One change costs 38 µs (cpu quota) to 800 ms (restart runc)"),
}
