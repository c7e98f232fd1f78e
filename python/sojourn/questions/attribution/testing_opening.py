"""Made-up findings of this question, for what opens a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from sojourn.findings.findings import Findings
from sojourn.findings.point_row import PointRow
from sojourn.plan.points import Verdict
from sojourn.questions.attribution.judge import Attributed, Attributions
from sojourn.questions.testing_openings import Case
from sojourn.report import testing
from sojourn.stats.interval import Interval
from sojourn.stats.quantile_regression import MOVES, NOT_SHOWN, SEEMS, Fit, Term


def attribution(*, moves: bool = True) -> Findings:
    """Three factors; the first moves the tail, or none does."""
    keys = {
        "threads": ("services.memcached.params.threads", "1", "2"),
        "policy": ("services.memcached.knobs.policy", "other", "nice:-10"),
        "thp": ("services.memcached.knobs.thp", "madvise", "never"),
    }
    terms = [
        _term(("threads",), 2.04 if moves else 1.01, MOVES if moves else NOT_SHOWN),
        _term(("policy",), 0.95, SEEMS),
        _term(("thp",), 1.01, NOT_SHOWN),
        _term(("threads", "policy"), 1.02, NOT_SHOWN),
    ]
    levels = tuple((name, _text(low), _text(high)) for name, (_, low, high) in keys.items())
    one = Attributed(
        service="memcached",
        rate="8k",
        levels=levels,
        fits=(Fit(q=0.99, blocks=4, terms=tuple(terms), pseudo_r2=0.2),),
    )
    point = PointRow(
        key="a",
        service="memcached",
        levels=tuple((key, low) for key, low, _ in keys.values()),
        phase="attribution",
        repeat=0,
        fraction=None,
        offered_rps=8e3,
        achieved_rps=8e3,
        p50_ns=1e5,
        p99_ns=1e6,
        verdict=Verdict.HOLDS,
        reasons=(),
    )
    result = replace(testing.findings(), services=(), sections={}, points=(point,))
    return result.having("attribution", Attributions(of=(one,)))


def _text(level: str) -> str:
    return f'"{level}"' if "-" in level else level


def _term(factors: tuple[str, ...], ratio: float, text: str) -> Term:
    return Term(
        factors=factors,
        q=0.99,
        ratio=ratio,
        p=0.01,
        p_holm=0.02,
        said=text,
        interval=Interval(lo=0.97 * ratio, hi=1.03 * ratio),
    )


CASES: Mapping[str, Case] = {
    "attribution": Case(attribution, "p99 is moved by 2 threads: 2.04 times"),
    "none moves": Case(partial(attribution, moves=False), "No factor was shown to move p99"),
}
