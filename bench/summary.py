"""Rows to ratios: ours against each tool, run by run of the same round, median of the rounds.

A row counts if others left its CPUs alone and, at a fixed rate, if the tool does not doubt its own
numbers: a client that came too late has done less work for its CPU time. All rows stay in the file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from measure import Row

OURS = "sojourn-load"
FIELDS = ("rps", "cpu_us_per_request", "user_us_per_request", "p50_us", "p99_us")
HEADS = ("rps", "CPU µs/req", "of it user", "p50 µs", "p99 µs")
WIDTHS = (9, 12, 12, 9, 9)
NO_DOUBT = ("", "holds")


def counts(row: Row) -> bool:
    """Whether a row takes part in medians and ratios."""
    is_peak = "/peak/" in row.case
    return not row.is_disturbed and (is_peak or row.verdict.partition(":")[0] in NO_DOUBT)


def medians(rows: Iterable[Row]) -> dict[str, dict[str, dict[str, float | None]]]:
    """case → tool → field → median over the rounds."""
    grouped: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if counts(row):
            grouped[row.case, row.peer].append(row)
    out: dict[str, dict[str, dict[str, float | None]]] = defaultdict(dict)
    for (case, peer), group in grouped.items():
        out[case][peer] = {
            field: middle([getattr(row, field) for row in group]) for field in FIELDS
        }
    return out


def middle(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def ratios(rows: list[Row]) -> list[tuple[str, str, str, str, float, float, float]]:
    """(case, ours, tool, field, least, median, most) of ours / theirs within the same round."""
    by_round = {(row.round, row.case, row.peer): row for row in rows if counts(row)}
    values: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for row in by_round.values():
        if not row.peer.startswith(OURS):
            continue
        for (number, case, peer), other in by_round.items():
            if (number, case) != (row.round, row.case) or peer.startswith(OURS):
                continue
            for field in FIELDS:
                own, others = getattr(row, field), getattr(other, field)
                if own is not None and others:
                    values[case, row.peer, peer, field].append(own / others)
    return [(*key, min(v), median(v), max(v)) for key, v in values.items()]


def show(rows: list[Row], blind: set[str]) -> str:
    """The tables that people read; `blind` tools measure no latency and set no target."""
    lines: list[str] = [counted(rows)]
    for case, tools in medians(rows).items():
        heads = "".join(f"{head:>{width}}" for head, width in zip(HEADS, WIDTHS, strict=True))
        lines += [f"\n{case}", f"  {'tool':<28}{heads}"]
        for tool, fields in tools.items():
            cells = [number(fields[name]) for name in FIELDS]
            note = "  (measures no latency)" if tool in blind else ""
            text = "".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))
            lines.append(f"  {tool:<28}{text}{note}")
    lines.append("\nratios ours / theirs, same round: least, median, most")
    for case, ours, peer, field, low, mid, high in ratios(rows):
        lines.append(
            f"  {case:<24}{ours + ' / ' + peer:<48}{field:<20}{low:6.2f}{mid:7.2f}{high:7.2f}"
        )
    return "\n".join(lines)


def counted(rows: list[Row]) -> str:
    """How many runs each tool has in each case, and why others do not count."""
    names = ("runs", "disturbed", "doubted", "count", "server busy", "others")
    lines = [f"{'case':<24}{'tool':<28}" + "".join(f"{name:>12}" for name in names)]
    grouped: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row.case, row.peer].append(row)
    for (case, peer), group in grouped.items():
        disturbed = sum(row.is_disturbed for row in group)
        clean = sum(counts(row) for row in group)
        doubted = len(group) - disturbed - clean
        busy, others = (
            median(getattr(r, f) for r in group) for f in ("server_busy", "foreign_share")
        )
        lines.append(
            f"{case:<24}{peer:<28}{len(group):>12}{disturbed:>12}{doubted:>12}{clean:>12}"
            f"{busy:>12.0%}{others:>12.1%}"
        )
    return "\n".join(lines)


def number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"
