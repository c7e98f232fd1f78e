"""What each mechanism took, what it did to p99, and the paper's table, in rows."""

from __future__ import annotations

from sojourn.questions.isolation_cost.costs import Cost, ratio_words
from sojourn.questions.isolation_cost.judge import IsolationCosts, Row
from sojourn.questions.isolation_cost.plan import HOSTS
from sojourn.questions.isolation_cost.table_iv import TABLE_IV
from sojourn.report import show
from sojourn.report.draw.table import Record

# fmt: off
COST_COLUMNS = (
    "mechanism", "host", "applications", "mean_ns", "mean_lo_ns", "mean_hi_ns",
    "p50_ns", "p50_lo_ns", "p50_hi_ns", "p99_ns", "p99_lo_ns", "p99_hi_ns", "max_ns",
    "cpu_ns", "child_cpu_ns", "by_lab_ns", "missing", "fix", "doubts", "one",
)
# fmt: on
PAPER_COLUMNS = ("column", "machine", "mean_ns", "source")
# fmt: off
TAIL_EFFECT_COLUMNS = (
    "mechanism", "changes", "requests", "before_ns", "after_ns", "times", "lo", "hi",
    "is_longer", "refused",
)
# fmt: on


def cost_rows(isolation_costs: IsolationCosts) -> list[Record]:
    """A record of each mechanism on each host; one of each that lacks or failed."""
    return [
        _cost(row, host, row.costs.get(host))
        for row in isolation_costs.rows
        for host in ([host for host in HOSTS if host in row.costs] or [""])
    ]


def _cost(row: Row, host: str, cost: Cost | None) -> Record:
    cells: Record = {
        "mechanism": row.name,
        "host": host,
        "missing": row.missing,
        "fix": row.fix,
        "doubts": show.sentences(row.doubts),
        "one": row.one,
        "applications": cost.count if cost else 0,
    }
    if cost is None:
        return cells
    for name, result in (("mean", cost.mean), ("p50", cost.p50), ("p99", cost.p99)):
        cells[f"{name}_ns"] = result.value
        cells[f"{name}_lo_ns"] = result.interval.lo if result.interval else None
        cells[f"{name}_hi_ns"] = result.interval.hi if result.interval else None
        cells[name] = show.time(result.value) if result.value is not None else "refused"
        cells[f"{name}_sure"] = (
            show.times(result.interval) if result.interval else _short(result.refused)
        )
    cells |= {
        "max_ns": cost.max_ns,
        "cpu_ns": cost.cpu_ns,
        "child_cpu_ns": cost.child_ns,
        "by_lab_ns": cost.lab_ns,
        "max": show.time(cost.max_ns),
        "cpu": show.time(cost.cpu_ns),
        "child": show.time(cost.child_ns) if cost.child_ns else "–",
        "lab": show.time(cost.lab_ns),
    }
    return cells


def _short(refused: str) -> str:
    """Why there is no number, for a narrow cell: applications are no requests.

    >>> _short("too few requests: p99 needs 563, there are 200")
    'p99 needs 563'
    """
    return refused.removeprefix("too few requests: ").partition(",")[0]


def tail_effect_rows(isolation_costs: IsolationCosts) -> list[Record]:
    """A record of each mechanism that was changed while requests came."""
    return [_tail_effect(row) for row in isolation_costs.rows if row.felt is not None]


def _tail_effect(row: Row) -> Record:
    effect = row.felt
    assert effect is not None  # noqa: S101  # those without were left out
    lo, hi = (effect.interval.lo, effect.interval.hi) if effect.interval else (None, None)
    text = ratio_words(effect) or "refused"
    # fmt: off
    return {
        "mechanism": row.name, "changes": effect.changes, "requests": effect.requests,
        "before_ns": effect.before_ns, "after_ns": effect.after_ns, "times": effect.ratio,
        "lo": lo, "hi": hi, "is_longer": int(effect.is_longer), "refused": effect.refused,
        "said": text, "before": show.time(effect.before_ns), "after": show.time(effect.after_ns),
        "word": "longer" if effect.is_longer else effect.refused or "not shown",
    }
    # fmt: on


def paper_rows() -> list[Record]:
    """The paper's Table IV as data."""
    return [
        {
            "column": one.column,
            "machine": one.machine,
            "mean_ns": one.mean_ns,
            "source": "ISPASS 2017, Table IV: mean of 10,000 applications (C19)",
        }
        for one in TABLE_IV
    ]
