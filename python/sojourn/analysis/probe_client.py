"""The load's client against the probe beside it: is the client in the numbers (M5)?

Both see the same service at the same time, so their quantiles agree but for chance. The highest
quantile is compared that the probe's few requests can bound. Where the two intervals lie apart the
client, not the service, makes the difference: the load's own requests wait for it, or for each
other's connections.

The probe's interval is much wider than the load's, so two of 95 % lie apart by chance in 2 % of the
runs. A study has many runs. So the error probability is shared among them (Bonferroni): where
the client is right, at most one study in twenty says otherwise of any run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sojourn import quantiles as table
from sojourn.analysis import runs
from sojourn.analysis.runs import Judged
from sojourn.findings.measurement_error import ProbeRow
from sojourn.stats import quantiles
from sojourn.stats.interval import Estimate
from sojourn.text.numbers import load_share

HIGHEST = 0.99  # of a probe, which sends few requests
CONFIDENCE = 0.95  # of all comparisons of a study together


def compare(judged: Sequence[Judged]) -> tuple[ProbeRow, ...]:
    """A row for each believable run that had a probe; one without a number says why."""
    believed = [j for j in judged if j.is_believed]
    count = sum(j.measured.probe is not None and not j.measured.probe.doubts for j in believed)
    level = 1 - (1 - CONFIDENCE) / max(1, count)
    return tuple(row for j in believed if (row := _row(j, level)) is not None)


def _row(judged: Judged, level: float) -> ProbeRow | None:
    probe, run = judged.measured.probe, judged.run
    if probe is None:
        return None
    key, fraction = run.key, run.fraction or 0.0
    if probe.doubts:
        return ProbeRow(key=key, fraction=fraction, q=None, why=probe.doubts[0])
    for q in table.falling(HIGHEST):
        # The probe's requests are far apart; those of the load depend on each other.
        seen = quantiles.estimate(probe.sojourn, q, confidence=level)
        shrink = runs.ratio([judged], q, level) if q in judged.ratios else 1.0
        load = quantiles.estimate(judged.measured.sojourn, q, correlation=shrink, confidence=level)
        if _is_bounded(seen) and _is_bounded(load):
            return ProbeRow(key=key, fraction=fraction, q=q, probe=seen, load=load)
    return ProbeRow(key=key, fraction=fraction, q=None, why="too few requests for any quantile")


def _is_bounded(estimate: Estimate) -> bool:
    return estimate.interval is not None and math.isfinite(estimate.interval.hi)


def doubts(rows: Sequence[ProbeRow]) -> tuple[str, ...]:
    """In words, where the client is in the numbers."""
    apart = [row for row in rows if row.is_apart]
    if not apart:
        return ()
    loads = ", ".join(dict.fromkeys(load_share(row.fraction) for row in apart))
    saw = "a probe client beside the load saw other times than the load's own client"
    return (f"client bias at {loads} load: {saw}, beyond both intervals",)
