"""A record's runs as latency against load: a curve for each service and condition."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.plan.evidence import is_late
from sojourn.plan.points import Outcome, Phase
from sojourn.plan.setting import LOAD, RATE, TWIN, level_text
from sojourn.report import show
from sojourn.spec.levels import short
from sojourn.stats import quantiles

LOADS = {LOAD, RATE, TWIN}  # levels that are no condition of their own
OWN = {Phase.SCHEDULED: "no shield", Phase.TRACE: "traced"}  # not measured as the others are
QUANTILES = {"p50_ns": 0.5, "p95_ns": 0.95, "p99_ns": 0.99}
TIMES = ("mean_ns", *QUANTILES)  # numbers of a run that have a middle and ends


@dataclass(frozen=True, slots=True)
class Load:
    """Runs of one condition at one load."""

    rps: float
    runs: tuple[Outcome, ...]

    @property
    def believed(self) -> tuple[Outcome, ...]:
        """Those whose numbers may be used."""
        return tuple(one for one in self.runs if one.is_believed)

    @property
    def counts(self) -> dict[str, Any]:
        """The load and how many runs it has, as the first columns of a table."""
        return {
            "requests_per_s": self.rps,
            "runs": len(self.runs),
            "runs_that_count": len(self.believed),
        }

    def carries(self, name: str) -> bool:
        """Whether the believed runs together have enough requests for one of `TIMES`."""
        return is_carried(self.believed, name)

    @property
    def lacking(self) -> tuple[str, ...]:
        """Those of `TIMES` of which the report shows no number: too few requests."""
        finite = (name for name in TIMES if (self.middle(name) or math.inf) < math.inf)
        return tuple(name for name in finite if not self.carries(name))

    @property
    def at_most(self) -> tuple[str, ...]:
        """Those of `TIMES` of which the median is an upper bound: a late run has it, or is above.

        Its true time may be lower, and then the median is, too.
        """
        late = [one for one in self.believed if is_late(one)]
        middles = {name: self.middle(name) for name in TIMES} if late else {}
        return tuple(
            name
            for name, middle in middles.items()
            if middle is not None and any((ranked(one, name) or 0.0) >= middle for one in late)
        )

    def shown(self, name: str) -> str:
        """The median as a cell; in brackets where the report gives no number."""
        middle = self.middle(name)
        if middle is None:
            return "–"
        if math.isinf(middle):
            return show.time(middle)
        text = f"≤ {show.time(middle, 1)}" if name in self.at_most else show.time(middle)
        return text if self.carries(name) else f"({text})"

    def middle(self, name: str) -> float | None:
        """Median over the believed runs of one of `TIMES`; None: no run has it.

        Infinite where requests that never completed decide it.
        """
        seen = [v for one in self.believed if (v := ranked(one, name)) is not None]
        return statistics.median(seen) if seen else None

    def ends(self, name: str) -> tuple[float, float] | None:
        """The least and the greatest of the same."""
        seen = [v for one in self.believed if (v := ranked(one, name)) is not None]
        return (min(seen), max(seen)) if seen else None


@dataclass(frozen=True, slots=True)
class Curve:
    """Loads of one service under one condition, ascending.

    Attributes:
        service: its label.
        condition: levels of the factors; "" where nothing is varied.
    """

    service: str
    condition: str
    loads: tuple[Load, ...]

    @property
    def title(self) -> str:
        """Service and condition, as one name."""
        return f"{self.service}, {self.condition}" if self.condition else self.service


def number(outcome: Outcome, name: str) -> float | None:
    """A finite number of a run; None: it has none."""
    value = getattr(outcome, name)
    return float(value) if value is not None and math.isfinite(value) else None


def ranked(outcome: Outcome, name: str) -> float | None:
    """One of `TIMES`, infinite where lost requests decide it; None: it was not measured.

    Args:
        outcome: of a run, which has None for both.
        name: of the number.
    """
    value = getattr(outcome, name)
    if value is not None or not outcome.lost:
        return number(outcome, name)
    is_lost = outcome.is_lost(QUANTILES.get(name, 1.0))  # one lost request makes a mean infinite
    return math.inf if is_lost else None


def is_carried(outcomes: Sequence[Outcome], name: str) -> bool:
    """Whether these runs together carry a quantile, by the report's rule (M10).

    Requests that depend on each other count less: each run has its ratio n / n_eff (M9).
    """
    q = QUANTILES.get(name)
    requests = sum(one.requests for one in outcomes)
    effective = sum(one.requests / max(1.0, one.correlation) for one in outcomes)
    return q is None or not quantiles.is_refused(requests, effective, q)


def cell(outcome: Outcome, name: str) -> str:
    """One of `TIMES` of a run: `145 µs`, `≤ 145 µs`, `never`, `–`.

    `(145 µs)`: it is not valid, or rests on too few requests.
    """
    ns = ranked(outcome, name)
    if ns is None:
        return "–"
    if math.isinf(ns):
        return show.time(ns)
    if not (outcome.is_believed and is_carried([outcome], name)):
        return f"({show.time(ns)})"
    return f"≤ {show.time(ns, 1)}" if is_late(outcome) else show.time(ns)


def curves(outcomes: Sequence[Outcome]) -> tuple[Curve, ...]:
    """All curves, in the order in which their first runs were made; peaks have no load."""
    result: dict[tuple[str, str], dict[float, list[Outcome]]] = {}
    for outcome in outcomes:
        rps = outcome.point.offered_rps
        if rps is not None and 0 < rps < math.inf:
            loads = result.setdefault((outcome.point.service, condition(outcome)), {})
            loads.setdefault(rps, []).append(outcome)
    return tuple(
        Curve(service, text, tuple(Load(rps, tuple(loads[rps])) for rps in sorted(loads)))
        for (service, text), loads in result.items()
    )


def condition(outcome: Outcome) -> str:
    """What a run was measured under, the load left out: `threads = 2, no shield`."""
    levels = [
        f"{short(name)} = {level if isinstance(level, str) else level_text(level)}"
        for name, level in outcome.point.setting.items()
        if name not in LOADS
    ]
    own = OWN.get(outcome.point.phase)
    return ", ".join([*levels, *([own] if own else [])])
