"""What a service uses on both sides of the QoS crossing, in words and as a table."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sojourn.analysis.resource_sentence import is_sure
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.resource_use import CpuTrend, ResourceUse, Side, amount, use_text
from sojourn.host.usage.resource import BY_NAME, PER_S, SECONDS
from sojourn.report import show
from sojourn.text.numbers import percent

HEADS = {
    "holds": "highest load within QoS",
    "violated": "first that misses it",
    "highest": "highest load",
}
SHORT = {"holds": "holds", "violated": "misses", "highest": "highest load"}
#: Where the load that gives a side its name is borderline.
MAY_HEADS = {"holds": "highest load that may be within QoS", "violated": "first that may miss it"}
MAY_SHORT = {"holds": "may hold", "violated": "may miss"}
ENDLESS = (SECONDS, PER_S)  # of which there is no most
EVENTS, GAP = 3, 2  # GAP: between columns of text


def heads(use: ResourceUse) -> tuple[str, ...]:
    """The columns of the table: a resource, each side of the crossing, what it can take."""
    return ("resource", *(f"{head(side)}, {load(side)}" for side in use.sides), "of")


def head(side: Side) -> str:
    """What a side is: `first that misses it`."""
    return (HEADS if is_sure(side) else MAY_HEADS)[side.what]


def short(side: Side) -> str:
    """The same in a word or two: `misses`."""
    return (SHORT if is_sure(side) else MAY_SHORT)[side.what]


def load(side: Side) -> str:
    """The load that gives a side its name."""
    rps = side.lo_rps if side.what == "violated" else side.hi_rps
    return f"{show.count(rps)}/s"


def rows(result: ResourceUse) -> list[tuple[str, ...]]:
    """A line for each resource: median and middle half of the samples on each side."""
    names: dict[str, tuple[str, str]] = {}
    for side in result.sides:
        for use in side.uses:
            most = "" if use.capacity is None else amount(use.capacity, use.unit)
            unknown = "" if use.is_part or BY_NAME[use.name].unit in ENDLESS else "not known"
            names.setdefault(use.name, (use.title, most or unknown))
    return [
        (title, *(_cell(side, name) for side in result.sides), most)
        for name, (title, most) in names.items()
        if any(one.name == name and one.box.greatest for side in result.sides for one in side.uses)
    ]


def _cell(side: Side, name: str) -> str:
    use = side.use(name)
    return use_text(use).replace(" to ", "–") if use else "–"


def notes(result: ResourceUse) -> list[str]:
    """What the numbers rest on, what is not counted, and what to doubt."""
    texts = [
        f"{head(side)}: {side.samples} samples of {side.runs} run{'s' * (side.runs > 1)}"
        for side in result.sides
    ]
    texts += [_trend(head(side), side.cpu_trend) for side in result.sides if side.cpu_trend]
    idle = [use.title for use in result.sides[0].uses if not use.box.greatest]
    if idle:
        texts.append(f"none at all: {', '.join(idle)}")
    texts += [f"{title} is not counted: {why}" for title, why in result.not_counted]
    if result.probe_share is not None:
        usual, most = result.probe_share
        texts.append(f"the sampler used {percent(usual)} of one CPU, {percent(most, 1)} at most")
    if not result.is_apart:
        texts.append("the sampler had no CPU but the service's: its use is part of the machine's")
    if result.late:
        texts.append(
            f"{result.late} of {result.samples} samples came late; theirs are longer means"
        )
    texts += [f"{what}, {often} times" for what, often in result.events[:EVENTS]]
    return texts


def _trend(side: str, own: CpuTrend) -> str:
    """By how much CPU time grows within a run, and whether that is shown."""
    what = f"{side}: CPU of the service"
    if own.lo is None or own.hi is None:
        return f"{what} changes by {100 * own.per_s:+.2g} % of its CPUs each second in the only run"
    ends = f"{100 * own.lo:+.2g} to {100 * own.hi:+.2g} % of its CPUs each second, {own.runs} runs"
    if own.lo <= 0 <= own.hi:
        return f"{what} has no shown trend ({ends})"
    return f"{what} {'grows' if own.lo > 0 else 'shrinks'} within a run ({ends})"


def lines(service: ServiceFinding, width: int) -> Iterator[str]:
    """The sentence and the table as text; where it is narrow, without the middle half."""
    resources = service.resources
    if resources is None or not resources.sides:
        return
    yield from textwrap.wrap(resources.sentence, width)
    parts = {use.title for side in resources.sides for use in side.uses if use.is_part}
    heads = ("resource", *(f"{short(side)}, {load(side)}" for side in resources.sides), "of")
    table = [heads, *(row for row in rows(resources) if row[0] not in parts)]
    if sum(_widths(table)) - GAP > width:
        table = [tuple(cell.partition(" (")[0] for cell in line) for line in table]
    wide = _widths(table)
    for line in table:
        cells = (cell.ljust(size) for cell, size in zip(line, wide, strict=True))
        yield "".join(cells).rstrip()[:width]


def _widths(table: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) + GAP for column in zip(*table, strict=True)]
