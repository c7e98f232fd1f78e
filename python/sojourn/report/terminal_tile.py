"""One service's answer as two or three lines of text: number, interval, bar, what to know."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from sojourn.findings.findings import ServiceFinding
from sojourn.report import labels, show, tiles
from sojourn.report.section import Bar

BAR = 40  # columns of the load axis
FIXED = "\u00a0"


def lines(service: ServiceFinding, width: int) -> Iterator[str]:
    """The answer with its interval first; the rest of the tile below, indented."""
    tile = tiles.of_service(service)
    word = show.verdict(tile.verdict).replace(" ", FIXED)  # sign and word stay on one line
    for line in textwrap.wrap(
        f"{labels.called(service)} {tile.line}  {word}", width, subsequent_indent="  "
    ):
        yield line.replace(FIXED, " ")
    if tile.bar:
        axis = f"  0 {bar(tile.bar)} {tile.bar.end}"
        whole = f"{axis}   {tile.target}" if tile.target else axis
        yield from [whole] if len(whole) <= width else [axis, f"  {tile.target}"]
    elif tile.target:
        yield f"  with {tile.target}"
    for note in (*tile.notes, *([tile.why] if tile.why else [])):
        yield from textwrap.wrap(note, width, initial_indent="  ", subsequent_indent="  ")


def bar(result: Bar, columns: int = BAR) -> str:
    """The interval on the load axis; an open end is drawn as an arrow.

    >>> of = dict(end="", is_open_low=False, is_open_high=False)
    >>> bar(Bar(lo=0.5, hi=0.8, at=0.6, **of), 20)
    '----------[|===]----'
    >>> bar(Bar(lo=0.5, hi=1.0, at=0.5, end="", is_open_low=False, is_open_high=True), 20)
    '----------[========>'
    >>> bar(Bar(lo=1.0, hi=1.0, at=1.0, end="", is_open_low=False, is_open_high=True), 20)
    '------------------->'
    """
    last = columns - 1
    lo, hi, at = (round(last * share) for share in (result.lo, result.hi, result.at))
    cells = ["-"] * columns
    cells[lo : hi + 1] = "=" * (hi - lo + 1)
    cells[hi] = "]"
    cells[lo] = "<" if result.is_open_low else "["
    if result.is_open_high:
        cells[hi] = ">"
    if not (result.is_open_low or result.is_open_high):
        cells[at] = "|"
    return "".join(cells)
