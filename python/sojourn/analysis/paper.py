"""The papers' figures beside ours, with what differs between the two.

Numbers are the papers' own (PAPERS C1, C4, C5, C7; L5). A row never says "reproduced": the machines
differ by a factor of ten, and so do the definitions of max RPS (D8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.analysis.answer import load_range
from sojourn.analysis.findings import LoadPoint, MaxLoad, Qos
from sojourn.analysis.method import Method
from sojourn.analysis.quantiles import percentile
from sojourn.units import show_count

METHOD = Method(
    name="paper",
    about="the papers' figures beside ours, with the differences in definition",
    ids=("C1", "C4", "C5", "C7", "L4", "L5", "D8"),
    source="Chen et al., ISPASS 2017, section III and Fig. 1; Leverich and Kozyrakis, 2014",
)

Row = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figure:
    """What the ISPASS paper says of one service.

    Attributes:
        within: load within QoS, as words.
        q, bound_ns: its QoS target.
        peak: max RPS of both platforms.
    """

    within: str
    q: float
    bound_ns: float
    peak: str


_FIGURES = {
    "memcached": _Figure(
        within="about 70 % of max RPS (p99 ≤ 1 ms)",
        q=0.99,
        bound_ns=1e6,
        peak="672k Xeon, 128k ThunderX (7 threads on 7 cores)",
    ),
    "nginx": _Figure(
        within="about 80 % of max RPS (p99 ≤ 20 ms)",
        q=0.99,
        bound_ns=20e6,
        peak="420k Xeon, 84k ThunderX (7 workers on 7 cores)",
    ),
}

RULES = {
    "achieved_peak": "closed-loop peak",
    "no_drop": "highest rate without drops",
    "qos": "highest rate within QoS",
}


def rows(
    kind: str,
    *,
    qos: Qos | None,
    max_rps: float | None,
    rule: str,
    workers: int,
    max_load: MaxLoad | None,
    points: Sequence[LoadPoint],
    parts_at: float | None,
) -> tuple[Row, ...]:
    """All rows that apply to a service of this kind."""
    found: list[Row] = []
    figure = _FIGURES.get(kind)
    if figure and qos:
        same = qos.q == figure.q and qos.bound_ns == figure.bound_ns
        target = "same target" if same else f"another target: {percentile(qos.q)}"
        ours = load_range(points, max_load, max_rps)
        axis = RULES.get(rule, rule)
        found.append(
            (
                "load within QoS",
                f"{figure.within}; max RPS: highest rate without drops",
                f"{ours}; {target}; max RPS: {axis}",
                "C1, C7",
            )
        )
    if figure and max_rps:
        ours = f"{show_count(max_rps)} ({workers} on this machine; {RULES.get(rule, rule)})"
        found.append(("max RPS", figure.peak, ours, "C5"))
    ratio = _tail_over_mean(points)
    if ratio:
        load, value = ratio
        found.append(
            (
                "p95 over mean",
                "ln 20 ≈ 3.0 at every load (M/M/1)",
                f"{value:.1f} at {load:.0%}",
                "L5",
            )
        )
    if points and max_rps:
        ours = "not below the highest load" if parts_at is None else f"from {parts_at:.0%} load up"
        found.append(("tail leaves M/M/n (more than 1.5 times it)", "to be looked for", ours, "L4"))
    return tuple(found)


def _tail_over_mean(points: Sequence[LoadPoint]) -> tuple[float, float] | None:
    """(load, p95 / mean) at the believable load nearest to 50 %."""
    known = [
        (point.fraction, p95 / point.mean.value)
        for point in points
        if point.mean.value
        and (p95 := next((e.value for e in point.quantiles if e.q == 0.95), None))
    ]
    return min(known, key=lambda pair: abs(pair[0] - 0.5), default=None)
