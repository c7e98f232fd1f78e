"""The instrument against a known truth: the synthetic service, beside the closed forms (M20).

A row holds if theory lies inside the measured interval *and* the interval is narrow enough to have
seen an error (`WIDTH_MAX`); a wide one is `unknown`, for anything would have fitted. Four things
make the interval honest:

- requests in a queue depend on each other: n_eff is taken from batches of the run and from theory
  (`effect`), whichever is smaller;
- many comparisons are made, so each is made at 1 − 0.05 / (their number): all of them together are
  right 95 times in 100 if instrument and theory agree (Bonferroni);
- the utilisation is the planned one: the draw's own luck with its arrivals is part of the variance
  that `effect` counts;
- a request also travels through the kernel and back. Theory is shifted by that path, and the row
  says by how much: by what a low quantile measured at the lowest load is more than theory's. Mean,
  p95 and p99, which are compared, have no part in it. A study with M/D/1 takes it from there: of
  those that do not wait, a share of 1 − ρ, all take one service time, and their median, which is
  the quantile (1 − ρ)/2, is the path's. What the least tenth shows is its shortest instead, and
  how far the two lie apart, theory may be off. In M/M/1 the tenth that waits least takes a few µs,
  shorter than reading and replying, which then look like path although others wait anyway.

Quantiles of M/D/1 are Franx's, of M/M/n by Erlang C (`queueing`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sojourn import units
from sojourn.analysis import runs
from sojourn.analysis.runs import Judged
from sojourn.findings.measured import Measured
from sojourn.plan.points import Verdict
from sojourn.questions.check.asks import Check
from sojourn.questions.check.rows import CheckRow
from sojourn.stats import quantiles, queue_autocorrelation, queueing
from sojourn.stats.interval import Estimate
from sojourn.stats.method import Method
from sojourn.text.numbers import percent, percentile

METHOD = Method(
    name="oracle",
    about="measured quantiles of a synthetic service against M/M/1, M/D/1 and M/M/n",
    ids=("M20",),
    source="Gross et al. (2008), 2.3; Franx (2001); Bonferroni for the family",
)

QUANTILES = (0.95, 0.99)
FAMILY = 0.05  # chance that any row fails although instrument and theory agree
PATH_Q = 0.1
WIDTH_MAX = 0.20  # half-width over theory: wider intervals prove nothing


def comparisons(checks: Sequence[Check]) -> int:
    """How many comparisons with theory a study makes."""
    return sum(len(c.rho) * (len(QUANTILES) + 1) for c in checks if c.system != "null")


def confidence(count: int) -> float:
    """Of one comparison among `count`, so that all together keep 95 %.

    >>> round(confidence(36), 5)
    0.99861
    """
    return 1 - FAMILY / max(1, count)


def theory(check: Check, rho: float, q: float | None) -> float:
    """Closed form of the sojourn time, ns: quantile `q`, or the mean."""
    service = check.service_s * units.NS_PER_S
    if check.system == "M/D/1":
        return (
            queueing.md1_mean(rho, service) if q is None else queueing.md1_quantile(q, rho, service)
        )
    if q is None:
        return queueing.mmn_mean(check.servers, rho, service)
    return queueing.mmn_quantile(q, check.servers, rho, service)


@dataclass(frozen=True, slots=True)
class Path:
    """The path through the kernel and back.

    Attributes:
        ns: of the request in the middle.
        spread_ns: by how much it is longer than of the least tenth; means lie as far beyond it.
    """

    ns: float = 0.0
    spread_ns: float = 0.0


def path(check: Check, measured: Sequence[Measured]) -> Path:
    """The path as one system shows it, at its lowest load."""
    believed = [m for m in measured if m.outcome.verdict is not Verdict.UNKNOWN]
    times = [(m.outcome.point.fraction or 0.0, m.sojourn) for m in believed if m.sojourn.finite]
    if not times:
        return Path()
    rho = min(rho for rho, _ in times)
    at = [t for load, t in times if load == rho]

    def beyond(q: float) -> float:
        least = [t.at_rank(math.ceil(q * t.n))[0] for t in at]
        return max(0.0, sum(least) / len(least) - theory(check, rho, q))

    least = beyond(PATH_Q)
    if check.system != "M/D/1":
        return Path(least)
    middle = beyond((1 - rho) / 2)
    return Path(middle, abs(middle - least))


def rows(
    check: Check, measured: Sequence[Measured], count: int, shift: Path
) -> tuple[CheckRow, ...]:
    """All comparisons of one synthetic service.

    Args:
        check: the system.
        measured: its runs.
        count: comparisons of the whole study.
        shift: path through the kernel by which theory is shifted.

    The null service has no theory and no rows (`service.null`).
    """
    if check.system == "null":
        return ()
    level = confidence(count)
    check_rows: list[CheckRow] = []
    for rho in check.rho:
        own = [m for m in measured if m.outcome.point.fraction == rho]
        judged = [runs.judge(m, None, confidence=level) for m in own]
        check_rows += [
            _row(check, rho, q, judged, shift=shift, count=count) for q in (None, *QUANTILES)
        ]
    return tuple(check_rows)


def _row(
    check: Check,
    rho: float,
    q: float | None,
    judged: Sequence[Judged],
    *,
    shift: Path,
    count: int,
) -> CheckRow:
    level = confidence(count)
    believed = [j for j in judged if j.is_believed]
    ideal = theory(check, rho, q)
    estimate = _estimate(believed, q, 1.0, level)
    if believed:
        over = None if q is None else ideal / (check.service_s * units.NS_PER_S)
        shrink = _shrink(believed, q, queue_autocorrelation.ratio(check.system, rho, over))
        estimate = _estimate(believed, q, shrink, level)
        verdict, reasons = _verdict(estimate, ideal + shift.ns, shift, level, count)
    else:
        doubts = dict.fromkeys(reason for j in judged for reason in j.run.reasons)
        verdict, reasons = Verdict.UNKNOWN, tuple(doubts) or ("not measured",)
        estimate = replace(estimate, refused="no run is valid")
    return CheckRow(
        system=check.system.replace("n", str(check.servers)),
        rho=rho,
        quantity=percentile(q),
        theory_ns=ideal + shift.ns,
        estimate=estimate,
        verdict=verdict,
        reasons=reasons,
    )


def _shrink(believed: Sequence[Judged], q: float | None, theory_says: float) -> float:
    """Ratio n / n_eff: theory's, or the measured one if that is larger.

    The measured one is taken as it is: if instrument and theory agree, theory's is the right one,
    and widening for few batches would only make intervals that prove nothing.
    """
    n = sum(j.measured.sojourn.n for j in believed)
    own = sum(j.ratios[q].ratio * j.measured.sojourn.n for j in believed) / n if n else 1.0
    return max(theory_says, own)


def _estimate(believed: Sequence[Judged], q: float | None, shrink: float, level: float) -> Estimate:
    together = runs.merged(believed)
    if q is None:
        return quantiles.mean_estimate(together, correlation=shrink, confidence=level)
    return quantiles.estimate(together, q, correlation=shrink, confidence=level)


def _verdict(
    estimate: Estimate, expected: float, shift: Path, level: float, count: int
) -> tuple[Verdict, tuple[str, ...]]:
    if estimate.value is None or estimate.interval is None:
        return Verdict.UNKNOWN, (estimate.refused,)
    half = (estimate.interval.hi - estimate.interval.lo) / 2
    within = f" ± {units.show_ns(shift.spread_ns)}" if shift.spread_ns else ""
    notes = (
        f"interval at {level:.2%}: all {count} comparisons together keep 95 %",
        f"theory includes {units.show_ns(shift.ns)}{within} of path through the kernel",
    )
    low, high = expected - shift.spread_ns, expected + shift.spread_ns
    if estimate.interval.lo > high or estimate.interval.hi < low:
        off = estimate.value / expected - 1
        return Verdict.VIOLATED, (f"measured {off:+.1%} off theory, outside the interval", *notes)
    if half > WIDTH_MAX * expected:
        if math.isinf(half):
            wide = "the interval has no upper end: too few independent requests; measure longer"
            return Verdict.UNKNOWN, (wide, *notes)
        wide = (
            f"the interval spans ±{percent(half / expected)} of theory, more than "
            f"{percent(WIDTH_MAX)}: it could not have seen an error; measure longer"
        )
        return Verdict.UNKNOWN, (wide, *notes)
    return Verdict.HOLDS, notes
