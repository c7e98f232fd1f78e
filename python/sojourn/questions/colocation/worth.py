"""What co-location is worth by our tables, beside the papers' numbers (L32, L34)."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.errors import SpecFault
from sojourn.findings.findings import Findings
from sojourn.models import gains
from sojourn.models.colocation import Table
from sojourn.models.tco import Costs
from sojourn.questions.colocation import measured_table
from sojourn.questions.colocation.judge import Colocation
from sojourn.report import show
from sojourn.report.draw.table import Record


def tables(findings: Findings) -> tuple[Table, ...]:
    """Our tables, as `sojourn provision` reads them from the record."""
    return measured_table.tables(findings)


def rows(findings: Findings) -> list[Record]:
    """L32's gain at each load and L34's by its rule, of each of our tables beside the papers'."""
    section = findings.section(Colocation)
    return [row for one in tables(findings) for row in _worth(one, section)] if section else []


def _worth(table: Table, colocation: Colocation) -> Iterator[Record]:
    costs = Costs()
    try:
        of_loads = gains.of_loads(table, costs)
    except SpecFault:  # no load at which every neighbour reported its pace
        of_loads = ()
    for row in of_loads:
        paper = gains.PAPER_L32.get(row.load) if table.core_share == 1 else None
        yield {
            "id": "L32" if table.core_share == 1 else "L34",
            "setting": table.setting,
            "what": f"gain at {show.load(row.load)} load",
            "paper": "–" if paper is None else show.share(paper),
            "ours": _between(row.gain, row.gain_lo, row.gain_hi),
        }
    losses = {rule.setting: rule.loss_max for rule in colocation.rules}
    for bound_ns, loss_max in dict.fromkeys(
        ((colocation.bound_ns, losses.get(table.setting, 1.0)), gains.PAPER_L34[:2])
    ):
        is_paper = (bound_ns, loss_max) == gains.PAPER_L34[:2]
        yield _rule_worth(table, bound_ns, loss_max, is_paper=is_paper)


def _rule_worth(table: Table, bound_ns: float, loss_max: float, *, is_paper: bool) -> Record:
    one = gains.admitted(table, Costs(), bound_ns=bound_ns, loss_max=loss_max)
    text = "no load is admitted"
    if one.load_hi is not None:
        surely = "none" if one.load_lo is None else show.load(one.load_lo)
        text = f"load {surely} surely, {show.load(one.load_hi)} not excluded; gain "
        text += _between(one.gain, one.gain_lo, one.gain_hi)
    elif one.unknown:
        text = "not known"
    tail = f"{show.quantile(table.q)} ≤ {show.time(bound_ns)}"
    others = f"load {show.load(gains.PAPER_L34[2])}; gain {show.share(gains.PAPER_L34[3])}"
    return {
        "id": "L34",
        "setting": table.setting,
        "what": f"{tail}, loss ≤ {show.share(loss_max)}: load to plan, and the gain there",
        "paper": f"{others} (p95, half the cores)" if is_paper else "–",
        "ours": text,
    }


def _between(value: float | None, lo: float | None, hi: float | None) -> str:
    """A gain with its ends: `29.1 % (27.5 to 30.6 %)`."""
    if value is None:
        return "unknown"
    if lo is None or hi is None:
        return show.share(value)
    return f"{show.share(value)} ({show.share(lo).removesuffix(' %')} to {show.share(hi)})"
