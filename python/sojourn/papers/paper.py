"""The papers' figures beside ours, with what differs between the two.

Numbers are the papers' own (PAPERS C1, C4, C5, C7; L5). A row never says "reproduced": the machines
differ by a factor of ten, and so do the definitions of max RPS (D8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.findings.answer import load_range
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.findings.load_point import LoadPoint
from sojourn.stats.method import Method
from sojourn.text.numbers import percent, percentile
from sojourn.units import show_count, show_ns

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
    "qos": "highest load within QoS",
}


def rows(server: ServiceFinding, workers: int | None, parts_at: float | None) -> tuple[Row, ...]:
    """All rows that apply to this service; `parts_at` is where its tail leaves M/M/n."""
    figure = _FIGURES.get(server.kind)
    rule = RULES.get(server.max_rps_rule, server.max_rps_rule)
    table: list[Row] = []
    if figure and server.qos:
        is_same = server.qos.q == figure.q and server.qos.bound_ns == figure.bound_ns
        ours = f"{percentile(server.qos.q)} ≤ {show_ns(server.qos.bound_ns)}"
        target = "the same target" if is_same else f"another target: {ours}"
        table.append(
            (
                "load within QoS",
                f"{figure.within}; max RPS: highest rate without drops",
                f"{load_range(server.points, server.section(MaxLoad))}; {target}; max RPS: {rule}",
                "C1, C7",
            )
        )
    if figure and server.max_rps:
        on = "" if workers is None else f"{workers} here, client on the same machine; "
        table.append(
            ("max RPS", figure.peak, f"{show_count(server.max_rps)} ({on}{rule})", "C5, D8")
        )
    if ratio := _tail_over_mean(server.points):
        ours = f"{ratio[1]:.1f} at {percent(ratio[0])} load"
        table.append(("p95 over mean", "ln 20 ≈ 3.0 at every load (M/M/1)", ours, "L5"))
    if any(line.name.startswith("M/M/") for line in server.lines):
        ours = "not in the loads measured"
        if parts_at is not None:
            ours = f"from {percent(parts_at)} load up"
        table.append(("tail above 1.5 times that of M/M/n", "to be looked for", ours, "L4"))
    return tuple(table)


def _tail_over_mean(points: Sequence[LoadPoint]) -> tuple[float, float] | None:
    """(load, p95 / mean) at the believable load nearest to 50 %."""
    known = [
        (point.fraction, p95 / point.mean.value)
        for point in points
        if point.mean.value
        and (p95 := next((e.value for e in point.quantiles if e.q == 0.95), None))
    ]
    return min(known, key=lambda pair: abs(pair[0] - 0.5), default=None)
