"""The highest load within the QoS target: number, interval, bar, and the machine's part in it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from sojourn import units
from sojourn.analysis.service import NOT_RESTARTED
from sojourn.findings import answer
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.highest_load import OF_STARTS, Border, MaxLoad, Scheduled, is_closed
from sojourn.findings.state import Settle
from sojourn.report import plot, show
from sojourn.report.section import Bar, Number, Shown
from sojourn.samples.failed import LIMIT

WORTH = answer.APART  # a ratio above which what took the server's CPU is part of the answer
CULPRITS = 3


class MaxLoadShown(Shown):
    """The search's answer first, for it has an interval."""

    name = "max_load"
    place = 1
    template = ""

    def number(self, service: ServiceFinding) -> Number | None:
        """The load that fits, with its interval."""
        search = service.section(MaxLoad)
        return _number_of(search) if search else None

    def bar(self, service: ServiceFinding) -> Bar | None:
        """Where it lies on the load axis."""
        search = service.section(MaxLoad)
        return _bar(search.border, service.highest_rps) if search and search.border else None

    def notes(self, service: ServiceFinding) -> list[str]:
        """The machine's share in it."""
        search = service.section(MaxLoad)
        return _notes(search) if search else []

    def reasons(self, service: ServiceFinding) -> tuple[str, ...]:
        """Why the interval decides nothing."""
        search = service.section(MaxLoad)
        return search.reasons if search else ()

    def settle(self, service: ServiceFinding) -> Settle | None:
        """What would make the interval narrow."""
        search = service.section(MaxLoad)
        return search.settle if search else None

    def facts(self, service: ServiceFinding) -> Iterator[tuple[str, str]]:
        """What the interval rests on, and what it says of the machine."""
        if search := service.section(MaxLoad):
            yield from _searched(search, is_one_start=NOT_RESTARTED in service.reasons)
        if service.limit is not None:
            yield "what limits it", service.limit.text.removeprefix(f"{LIMIT}: ")

    def plot(self, service: ServiceFinding, width: int) -> Iterator[str]:
        """How surely each load meets the target, where no load was swept."""
        search = service.section(MaxLoad)
        if not service.points and search and search.border and search.border.curve:
            yield from _chance(search.border, width)
            yield ""


def _number_of(search: MaxLoad) -> Number:
    if search.border is not None:
        number = show.border(search.border)
        unit = "" if number in {"unknown", "no load"} else "requests/s"
        text = f"{show.within(search.border)}; {show.basis(search.border)}"
        return Number(number=number, unit=unit, said=text, short=f"{number}/s" if unit else number)
    return Number(number="unknown", said="no run is valid", short="unknown")


def _bar(border: Border, max_rps: float | None) -> Bar:
    lo, hi = border.interval_rps.lo, border.interval_rps.hi
    ends = [border.estimate_rps, lo, *([hi] if math.isfinite(hi) else [])]
    # Loads above max RPS are tried too; then the axis goes on to them.
    top = max(max_rps or 0.0, *ends) or 1.0
    is_max = max_rps is not None and top == max_rps
    return Bar(
        lo=lo / top,
        hi=min(1.0, hi / top),
        at=border.estimate_rps / top,
        end=f"{show.round_count(top)}{' max' if is_max else ''}",
        is_open_low=lo <= 0,
        is_open_high=not math.isfinite(hi),
    )


def _notes(search: MaxLoad) -> list[str]:
    notes = []
    border, other = search.border, search.undisturbed
    if border is not None and other is not None and _is_worth(other, border):
        notes.append(
            f"undisturbed {show.border(other)} ({show.within(other)}):"
            " the machine decides, not the service"
        )
    if border is not None and search.scheduled is not None:
        notes += _scheduled(border, search.scheduled)
    if border is not None and _do_starts_differ(border):
        least = show.round_count(border.start_rps or 0.0)
        part = show.share(OF_STARTS)
        notes.append(f"starts of the service differ: {part} of them carry {least}/s or more")
    return notes


def _do_starts_differ(border: Border) -> bool:
    """Whether one start in ten carries much less than what the median one surely does."""
    return border.start_rps is not None and WORTH * border.start_rps < border.interval_rps.lo


def _scheduled(border: Border, scheduled: Scheduled) -> list[str]:
    """What the machine makes of the service, if that is much less than it can."""
    who = f": {show.listed(scheduled.culprits, CULPRITS)} ran there" if scheduled.culprits else ""
    other = scheduled.border
    if other is not None and _is_worth(border, other):
        own, there = _number(border), _number(other)
        return [f"{own} with the CPU to itself; {there} as this machine schedules it{who}"]
    pair = scheduled.quantile_ns
    if pair is not None and pair[1] > WORTH * pair[0]:
        own, there = map(_time, pair)
        at = f"{show.round_count(scheduled.at_rps)} requests/s"
        return [f"at {at} {own} with the CPU to itself; {there} as this machine schedules it{who}"]
    return []


def _time(ns: float) -> str:
    """A quantile; of one that is infinite why it is."""
    return show.time(ns) if math.isfinite(ns) else "lost requests"


def _is_worth(more: Border, less: Border) -> bool:
    """Whether they differ by more than is usual; "at least" says nothing of how little it is."""
    is_known = math.isfinite(less.interval_rps.hi)
    return is_known and more.estimate_rps > WORTH * less.estimate_rps


def _number(border: Border) -> str:
    lo, hi = border.interval_rps.lo, border.interval_rps.hi
    if is_closed(border):
        inside = f"{show.round_count(lo)}–{show.round_count(hi)}"
        return f"{show.round_count(border.estimate_rps)} ({inside})"
    return show.border(border)


def _searched(search: MaxLoad, *, is_one_start: bool) -> Iterator[tuple[str, str]]:
    """What the search rests on, and what it says of the machine."""
    if search.border is None:
        why = show.sentences(search.reasons) or "no run is valid"
        yield "max load within QoS", f"{search.verdict}: {why}"
        return
    border = search.border
    has_shares = border.fraction is not None and is_closed(border)
    shares = f", {show.shares(border.fraction)} of max RPS" if has_shares else ""
    yield "max load within QoS", f"{_in_full(border)}{shares}"
    where = "of one start" if is_one_start else f"on {border.starts} starts"
    runs = f"{border.runs} runs {where}, {border.measured_s:.0f} s of load"
    yield "the answer rests on", runs
    if border.start_rps is not None:
        least = show.round_count(border.start_rps)
        yield f"{show.share(OF_STARTS)} of starts carry", f"{least} requests/s or more"
    yield "the search", f"{len(search.probes)} runs of its own took {units.show_s(search.wall_s)}"
    if search.undisturbed is not None:
        yield "undisturbed", _in_full(search.undisturbed)
    if search.scheduled is not None:
        yield "as this machine schedules it", _as_scheduled(search.scheduled)
    if search.shield:
        yield "shield of the server's CPUs", search.shield
    if search.stall_s is not None:
        yield "not excluded", f"stalls rarer than one in {units.show_s(search.stall_s)}"


def _in_full(border: Border) -> str:
    if border.interval_rps.hi <= 0:
        return show.within(border)
    return f"{show.border(border)} requests/s ({show.within(border)})"


def _as_scheduled(unshielded: Scheduled) -> str:
    texts = [_in_full(unshielded.border)] if unshielded.border else []
    if unshielded.quantile_ns:
        quiet, noisy = map(_time, unshielded.quantile_ns)
        pairs = f"{unshielded.pairs} pair{'' if unshielded.pairs == 1 else 's'} of runs"
        texts.append(
            f"{noisy} instead of {quiet} at {show.count(unshielded.at_rps)} requests/s ({pairs})"
        )
    if unshielded.culprits:
        texts.append(f"ran there: {', '.join(unshielded.culprits)}")
    return "; ".join(texts) or "not known"


def _chance(border: Border, width: int) -> Iterator[str]:
    """How surely each load meets the target: all there is to draw where none was swept."""
    top = border.curve[-1][0]
    steps = [top * i / 5 for i in range(6)]
    yield from textwrap.wrap(
        "probability that an offered load (requests/s) meets the target", width
    )
    yield from plot.canvas(
        [plot.Mark(x=rps, y=chance, sign="o") for rps, chance in border.curve],
        x=plot.Axis(lo=0.0, hi=top, ticks=tuple((rps, show.round_count(rps)) for rps in steps)),
        y=plot.Axis(lo=0.0, hi=1.0, ticks=tuple((p, show.share(p)) for p in (0.0, 0.5, 0.95, 1.0))),
        width=width,
        height=10,
    )


KIND = MaxLoadShown()
