"""What applying isolation costs: bars by mechanism; the cheapest, the dearest, and the paper's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings
from sojourn.questions.isolation_cost import bars
from sojourn.questions.isolation_cost.costs import Cost
from sojourn.questions.isolation_cost.judge import IsolationCosts, Row
from sojourn.questions.isolation_cost.plan import HOSTS, IDLE, LOADED, NAME
from sojourn.questions.isolation_cost.table_iv import COLUMNS, TABLE_IV
from sojourn.report import dot_rows, numbers, show
from sojourn.report.openings.opening import Opening, Opens, fitting, sentence
from sojourn.stats.interval import Interval

EMPTY = "empty"  # the measurement of nothing
LONGER_MAX = 2
NAMED = 2  # mechanisms that are in doubt
DOUBTED = " (?)"
BESIDE, PAPER = "▲", "◆"


class IsolationCost(Opens):
    """Every mechanism that this machine has."""

    name = NAME
    place = 70

    def applies(self, findings: Findings) -> bool:
        """Where any mechanism was applied."""
        return bool(_of(findings))

    def opening(self, findings: Findings, width: int) -> Opening:
        """The cheapest and the dearest, then the paper, then what p99 of the service does."""
        (label, section), *_ = _of(findings)
        result = ranked(section)
        of = sum(bool(_cost(row)) for row in section.rows if row.name != EMPTY)
        doubted = f"Of {of} mechanisms every cost is doubted"
        return Opening(
            headline=headline(result) if result else doubted,
            sentences=tuple(sentences(section, result) if result else _doubted(section)),
            figures=(f"{NAME.replace('_', '-')}-{label}",),
            text=tuple(lines(section, width)),
        )


def _of(findings: Findings) -> list[tuple[str, IsolationCosts]]:
    """The sections in which anything was measured, by service."""
    return [
        (service.service, section)
        for service in findings.services
        if (section := service.section(IsolationCosts)) and _in_order(section)
    ]


def ranked(section: IsolationCosts) -> list[tuple[str, Cost]]:
    """Mechanisms with what one change costs, the cheapest first; nothing does not count.

    Nor do those that failed, or that were not in force after a change: these cost what does
    nothing. A cost on another host than the idle one is named as that.
    """
    rows = [row for row in _in_order(section) if not row.doubts]
    return [(_called(row), cost) for row in rows if (cost := _cost(row))]


def _in_order(section: IsolationCosts) -> list[Row]:
    """All mechanisms with a cost, believed or not, the cheapest first."""
    rows = [row for row in section.rows if row.name != EMPTY and _mean(row) is not None]
    return sorted(rows, key=lambda row: _mean(row) or 0.0)


def _mean(row: Row) -> float | None:
    cost = _cost(row)
    return cost.mean.value if cost else None


def _host(row: Row) -> str:
    """The idle host, or the first of the others on which it was applied; "" of none."""
    return next((host for host in HOSTS if host in row.costs), "")


def _cost(row: Row) -> Cost | None:
    return row.costs.get(_host(row))


def _called(row: Row) -> str:
    """A mechanism, and the host where that is not the idle one: `cpu quota, loaded host`."""
    name, host = bars.called(row.name), _host(row)
    return name if host in {IDLE, ""} else f"{name}, {host} host"


def _doubted(section: IsolationCosts) -> Iterator[str]:
    """Which costs are not believed; nothing where all are."""
    names = [bars.called(row.name) for row in _in_order(section) if row.doubts]
    if names:
        yield sentence(f"doubted: {show.listed(names, NAMED)}")


def _time(cost: Cost) -> str:
    return numbers.time(cost.mean.value or 0.0, cost.mean.interval)


def headline(results: Sequence[tuple[str, Cost]]) -> str:
    """From the cheapest to the dearest."""
    (cheap, low), (dear, high) = results[0], results[-1]
    least, most = (numbers.time(cost.mean.value or 0.0, None) for cost in (low, high))
    if len(results) == 1:
        return fitting(f"One change of {cheap} costs {least}", f"{cheap}: {least}")
    return fitting(
        f"One change costs from {least} ({cheap}) to {most} ({dear})",
        f"One change costs {least} ({cheap}) to {most} ({dear})",
        f"One change costs from {least} to {most}",
    )


def sentences(section: IsolationCosts, results: Sequence[tuple[str, Cost]]) -> Iterator[str]:
    """The ends of the order, the paper, and the tail of the service or what is in doubt."""
    (cheap, low), (dear, high) = results[0], results[-1]
    if len(results) > 1:
        least, most = ("is" if sure else "may be" for sure in _are_sure([c for _, c in results]))
        yield sentence(
            f"cheapest {least} {cheap}, {_time(low)} a change; dearest {most} {dear}, {_time(high)}"
        )
    else:
        yield sentence(f"a change of {cheap} takes {_time(low)}")
    if text := _against_paper(section):
        yield text
    if text := _tail(section):
        yield text
    else:
        yield from _doubted(section)


def _are_sure(ordered: Sequence[Cost]) -> tuple[bool, bool]:
    """Whether the first is surely the cheapest and the last surely the dearest, by intervals."""
    ends = [cost.mean.interval or Interval(lo=0.0, hi=math.inf) for cost in ordered]
    is_first = all(ends[0].hi < other.lo for other in ends[1:])
    return is_first, all(other.hi < ends[-1].lo for other in ends[:-1])


def _against_paper(section: IsolationCosts) -> str:
    """By how much the paper's command-line tools took longer."""
    ratios = {
        bars.called(row.name): min(others) / cost.mean.value
        for row in section.rows
        if (others := [one.mean_ns for one in TABLE_IV if one.column == COLUMNS.get(row.name)])
        and not row.doubts
        and (cost := row.costs.get(IDLE))  # the paper's host was idle, too
        and cost.mean.value
    }
    if not ratios:
        return ""
    least, most = min(ratios.values()), max(ratios.values())
    span = f"{least:.2g}" if least == most else f"{_times(least)} to {_times(most)}"
    return sentence(
        f"the paper's command-line tools took {span} times as long as the same change here, which"
        " calls the kernel directly",
        f"the paper's tools took {span} times as long",
    )


def _times(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 100 else f"{float(f'{ratio:.1g}'):,.0f}"


def _tail(section: IsolationCosts) -> str:
    """What one change does to p99 of the service under load."""
    selected = [row for row in section.rows if row.felt and row.felt.ratio and not row.doubts]
    longer = [row for row in selected if row.felt and row.felt.is_longer]
    if longer:
        longer.sort(key=lambda row: -(row.felt.ratio or 0.0 if row.felt else 0.0))
        texts = [
            f"{bars.called(row.name)} {_longer(row.felt.ratio, row.felt.interval)} times"
            for row in longer[:LONGER_MAX]
            if row.felt and row.felt.ratio
        ]
        rest = f" and {len(longer) - LONGER_MAX} more" if len(longer) > LONGER_MAX else ""
        return sentence(
            f"one change lengthens p99 of the service under load: {', '.join(texts)}{rest}",
            f"one change of {bars.called(longer[0].name)} lengthens p99 of the service",
        )
    if selected:
        return "No single change was shown to lengthen p99 of the service under load."
    return ""


def _longer(ratio: float, ends: Interval | None) -> str:
    """By how much; without an upper end at least by how much."""
    if ends is not None and math.isinf(ratio):
        return f"at least {numbers.outward(ends.lo, -1)}"
    if ends is not None and math.isinf(ends.hi):
        return numbers.span(ratio, ends, is_shown=True)
    return numbers.ratio(ratio, ends)


def lines(section: IsolationCosts, width: int) -> Iterator[str]:
    """A row for each mechanism, the cheapest first."""
    marks = [f"● {IDLE} host", f"{BESIDE} beside the loaded service", f"{PAPER} the paper's tools"]
    yield f"mean time of one change: {', '.join(marks)}"[:width]
    rows = [_row(_marked(row), row) for row in _in_order(section)]
    yield from dot_rows.lines(rows, width, one=None)
    missing = [f"{bars.called(row.name)} ({row.missing})" for row in section.rows if row.missing]
    if missing:
        yield from show.wrapped(f"not measured: {'; '.join(missing)}", width)


def _marked(row: Row) -> str:
    """A mechanism as its line has it, with a sign where its cost is not believed."""
    return f"{_called(row)}{DOUBTED if row.doubts else ''}"


def _row(name: str, row: Row) -> dot_rows.Row:
    cost = _cost(row)
    mean = cost.mean if cost else None
    loaded = row.costs.get(LOADED)
    ends = mean.interval if mean else None
    others = [one.mean_ns for one in TABLE_IV if one.column == COLUMNS.get(row.name)]
    beside = [(loaded.mean.value, BESIDE)] if loaded and loaded.mean.value else []
    return dot_rows.Row(
        name=name,
        at=mean.value if mean else None,
        lo=ends.lo if ends else None,
        hi=ends.hi if ends else None,
        words=numbers.time(mean.value, ends) if mean and mean.value else "",
        others=(*((ns, PAPER) for ns in others), *beside),
    )


KIND = IsolationCost()
