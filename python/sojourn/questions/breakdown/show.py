"""The breakdown in words: a line per stage, a column per condition; who made the tail slow."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from sojourn.plan.points import Verdict
from sojourn.questions.breakdown.findings import Breakdown, Culprits, Stages, Suspect, Windows
from sojourn.report import show
from sojourn.stats.interval import Interval

NAME = 12
CELL = 13  # holds `interference`
SUSPECTS = 6  # in the table; the others explain next to nothing
CPU = {
    "user_share": "CPU user",
    "kernel_share": "CPU kernel",
    "softirq_share_of_kernel": "its softIRQ",
}
RESIDUAL = "residual"  # shown also where there is none; other stages that take no time are not
SPIN, YIELD, SLEEP = "spin", "yield", "sleep"
_GAP = "gap: the client's wire time less the server's total, quantile against quantile; "
_CLIENT = {
    **dict.fromkeys(
        (SPIN, YIELD),
        "the client spins, so it holds the client's and the network's work and no wake-up",
    ),
    SLEEP: "the client sleeps until a reply comes, so it also holds the client's wake-up",
    "": "whether the client spins or sleeps is not known",
}


def lines(breakdown: Breakdown, width: int) -> Iterator[str]:
    """Means per stage, totals, the client's gap and the tracer's cost, in tables that fit."""
    columns = known(breakdown)
    at_once = max(1, (width - NAME) // CELL)
    for first in range(0, len(columns), at_once):
        yield ""
        yield from _table(columns[first : first + at_once])
    texts = [f"{c.name} ?: {show.sentences(c.reasons)}" for c in breakdown.columns if c.reasons]
    texts += [f"{named(c)}, {answer(c.culprits)}" for c in blamed(breakdown) if c.culprits]
    for line in (*texts, *notes(breakdown)):
        yield from textwrap.wrap(f"- {line}", width, subsequent_indent="  ")


def known(breakdown: Breakdown | None) -> tuple[Stages, ...]:
    """The columns that hold something."""
    return tuple(c for c in breakdown.columns if c.stages) if breakdown else ()


def blamed(breakdown: Breakdown | None) -> tuple[Stages, ...]:
    """The columns in which it was asked who made the slowest requests slow."""
    return tuple(c for c in known(breakdown) if c.culprits)


def answer(culprits: Culprits) -> str:
    """Who made the slowest slow, in one sentence."""
    return culprits.answer.rstrip(".")


def suspects(culprits: Culprits) -> list[Suspect]:
    """Those that are worth a line: the named ones, then the largest."""
    ranked = sorted(culprits.suspects, key=lambda s: (not s.is_named, -s.share))
    return ranked[:SUSPECTS]


def price(column: Stages) -> str:
    """Which requests were traced, and what that cost at this very point, culprits included."""
    cost = column.cost
    pairs = f"{cost.pairs} pair{'' if cost.pairs == 1 else 's'} of runs"
    return (
        f"{_which(column.windows)} With the tracer the client's p99 is {_ratio(cost.p99)}, the"
        f" server's CPU time per request {_ratio(cost.cpu)}, throughput"
        f" {_ratio(cost.throughput)} ({pairs})."
    )


def _which(windows: Windows | None) -> str:
    if windows is None:
        return "Every request was traced."
    measured = "" if windows.measured is None else f", measured {_percent(windows.measured)}"
    interval = "" if windows.lo is None else f" (95 %: {_interval(windows)})"
    return (
        f"Requests that came in {show.whole(windows.count)} random windows were traced: asked for"
        f" {show.share(windows.asked)} of the service's CPU time{measured}{interval}."
    )


def notes(breakdown: Breakdown | None) -> list[str]:
    """What to know of the numbers: remarks, with the conditions they are about, and the gap."""
    columns = known(breakdown)
    by: dict[str, list[str]] = defaultdict(list)
    for column in columns:
        for remark in column.remarks:
            by[remark].append(column.name)
    texts = [
        remark if len(names) == len(columns) else f"{', '.join(names)}: {remark}"
        for remark, names in by.items()
    ]
    waits = list(dict.fromkeys(c.client_wait for c in columns if c.gaps))
    return [*texts, *(_GAP + _CLIENT[wait] for wait in waits)]


def _table(columns: Sequence[Stages]) -> Iterator[str]:
    heads = [textwrap.wrap(named(column), CELL - 1) for column in columns]
    for row in range(max(map(len, heads))):
        yield _row("mean" if row == 0 else "", [h[row] if row < len(h) else "" for h in heads])
    for name, cells in rows(columns):
        yield _row(name, cells)


def rows(columns: Sequence[Stages], *, is_tail: bool = False) -> list[tuple[str, list[str]]]:
    """(name, a cell per column): stages and what they add to; of all requests, or at p99 and above.

    For all requests also the client's p99 and its gap to the server's, the tracer's cost, and who
    used the CPU (L11); for the tail its causes (L3).
    """
    results: list[tuple[str, list[str]]] = []
    each = [dict(c.tail if is_tail else c.stages) for c in columns]
    for stage in dict.fromkeys(name for column in each for name in column):
        times = [column.get(stage) for column in each]
        if any(times) or stage == RESIDUAL:
            results.append((stage, [show.time(ns) for ns in times]))
    if is_tail:
        results.append(("total", [show.time(c.tail_mean_ns) for c in columns]))
        return results + _shares([c.tail_causes for c in columns])
    return [
        *results,
        ("total", [show.time(c.mean_ns) for c in columns]),
        ("total p99", [show.time(dict(c.quantiles).get(0.99)) for c in columns]),
        ("client p99", [_wire(c, 0.99) for c in columns]),
        ("gap p50", [_gap(c, 0.5) for c in columns]),
        ("gap p99", [_gap(c, 0.99) for c in columns]),
        ("worst cause", [_cause(c) for c in columns]),
        ("cost p99", [_ratio(c.cost.p99) for c in columns]),
        ("cost CPU", [_ratio(c.cost.cpu) for c in columns]),
        *_of_windows([c.windows for c in columns]),
        *_shares([c.cpu for c in columns]),
    ]


def _of_windows(columns: Sequence[Windows | None]) -> list[tuple[str, list[str]]]:
    """What the tracer measured of itself, where it traced in windows."""
    if not any(columns):
        return []

    def cells(of: Callable[[Windows], str]) -> list[str]:
        return [of(windows) if windows else "–" for windows in columns]

    return [
        ("p99, 95 %", cells(_p99)),
        ("windows", cells(lambda w: show.whole(w.count))),
        ("asked", cells(lambda w: show.share(w.asked))),
        ("measured", cells(lambda w: _percent(w.measured))),
        ("  95 %", cells(_interval)),
        ("in a window", cells(lambda w: _percent(w.while_attached))),
        ("est. mean", cells(lambda w: _ratio(w.mean_ratio))),
        ("est. tail", cells(lambda w: _ratio(w.tail_ratio))),
    ]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %".replace("-", "−")


def _interval(windows: Windows) -> str:
    if windows.lo is None or windows.hi is None:
        return "–"
    return f"{100 * windows.lo:.1f}–{100 * windows.hi:.1f} %".replace("-", "−")


def _p99(windows: Windows) -> str:
    if windows.p99_lo_ns is None:
        return "–"
    hi = math.inf if windows.p99_hi_ns is None else windows.p99_hi_ns
    return show.times(Interval(lo=windows.p99_lo_ns, hi=hi))


def _shares(columns: Sequence[Sequence[tuple[str, float]]]) -> list[tuple[str, list[str]]]:
    names = list(dict.fromkeys(name for column in columns for name, share in column if share))
    return [
        (CPU.get(name, name), [show.share(dict(column).get(name)) for column in columns])
        for name in names
    ]


def named(column: Stages) -> str:
    """The column's name, with a question mark where it is in doubt."""
    return column.name if column.verdict is Verdict.HOLDS else f"{column.name} ?"


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:<{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)


def _wire(column: Stages, q: float) -> str:
    return show.time(next((gap.wire_ns for gap in column.gaps if gap.q == q), None))


def _gap(column: Stages, q: float) -> str:
    """Below 0 where the requests that were traced took longer than those that were not."""
    result = next((gap for gap in column.gaps if gap.q == q), None)
    if result is None:
        return "–"
    ns = result.wire_ns - result.server_ns
    return show.time(ns) if ns >= 0 else f"−{show.time(-ns)}"


def _cause(column: Stages) -> str:
    return max(column.tail_causes, key=lambda pair: pair[1], default=("–", 0.0))[0]


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return "–"
    return f"× {ratio:.2f}" if math.isfinite(ratio) else "× ∞"
