"""What `sojourn open --export FORMAT=FILE` writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from sojourn.errors import SpecFault
from sojourn.report import opened_figure as figure
from sojourn.report import page, show
from sojourn.report.draw.figure import unchecked
from sojourn.report.draw.table import Record, from_records
from sojourn.report.opened import COLUMNS, Side, caveats, rows, side_by_side
from sojourn.report.opened_file import table
from sojourn.report.writers import Exports, replace
from sojourn.text.markdown import plain, row
from sojourn.text.plain_values import plain as json_value
from sojourn.visible import visible

CSV_COLUMNS = (
    "series", "name", "format", "tool", "measured_from", "loop", "number", "q", "value_ns", "lo_ns",
    "hi_ns", "requests", "effective", "failed", "failed_is_least", "rate_rps",
    "rests_on",
)  # fmt: skip
WIDTH = 100


def html(sides: Sequence[Side]) -> str:
    """The page: a table of all, the picture, then each with its numbers and what they mean."""
    with unchecked():
        drawn = figure.draw(sides)
    return page.rendered(
        "opened.html.j2",
        [drawn],
        sides=sides,
        drawn=drawn,
        title=headline(sides),
        all_numbers=side_by_side(sides),
        caveats=caveats(sides),
        columns=COLUMNS,
        lines=rows,
    )


def headline(sides: Sequence[Side]) -> str:
    """p99 of each, the thing that most readers look for."""
    each = []
    for side in sides[:4]:
        estimate = next((one for one in side.estimates if one.q == 0.99), None)
        each.append(f"{side.letter} {show.time(estimate.value if estimate else None)}")
    more = f" and {len(sides) - 4} more" if len(sides) > 4 else ""
    return f"p99 as each tool measured it: {', '.join(each)}{more}"


def text(sides: Sequence[Side]) -> str:
    """The same for a file, without colour."""
    out = []
    for side in sides:
        cells = [COLUMNS, *rows(side)]
        widths = [max(len(line[i]) for line in cells) for i in range(len(COLUMNS))]
        out += [side.heading, ""]
        for line in cells:
            parts = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            out.append(f"  {'  '.join(parts)}".rstrip())
        out += ["", *(f"  {line}" for line in meaning(side)), ""]
    return visible("\n".join([*out, *caveats(sides)])).rstrip() + "\n"


def meaning(side: Side) -> list[str]:
    """What its numbers mean and cannot say, in sentences, with the page that says more."""
    return [*side.notes, *side.facts.sentences, f"More: {side.facts.page}"]


def markdown(sides: Sequence[Side]) -> str:
    """One table of all, then what each means."""
    head, lines = side_by_side(sides)
    out = [f"**{plain(headline(sides))}**", "", row(head), row(["---"] * len(head))]
    out += [*map(row, lines), "", *map(plain, caveats(sides))]
    for side in sides:
        out += ["", f"- {plain(side.heading)}"]
        out += [f"  - {plain(line)}" for line in meaning(side)]
    return "\n".join(out) + "\n"


def _json(sides: Sequence[Side]) -> str:
    return json.dumps(json_value(table(sides)), indent=2, ensure_ascii=False) + "\n"


def _csv(sides: Sequence[Side]) -> str:
    return from_records(CSV_COLUMNS, [r for side in sides for r in _records(side)]).csv()


def _records(side: Side) -> list[Record]:
    return [
        {
            "series": side.letter,
            "name": side.name,
            "format": side.form,
            "tool": side.facts.tool,
            "measured_from": side.facts.clock,
            "loop": side.facts.loop,
            "number": show.quantile(one.q),
            "q": one.q,
            "value_ns": one.value,
            "lo_ns": one.interval.lo if one.interval else None,
            "hi_ns": one.interval.hi if one.interval else None,
            "requests": one.requests or None,
            "effective": one.effective or None,
            "failed": side.failed_count,
            "failed_is_least": not side.are_all_counted,
            "rate_rps": side.rate_rps,
            "rests_on": why,
        }
        for one, why in zip(side.estimates, side.basis, strict=True)
    ]


WRITERS: Mapping[str, Callable[[Sequence[Side]], str]] = {
    "html": html,
    "text": text,
    "json": _json,
    "csv": _csv,
    "markdown": markdown,
}


def check(exports: Exports) -> None:
    """Whether all are formats of opened results.

    Raises:
        SpecFault: one is not.
    """
    for writer, _ in exports:
        if writer.name not in WRITERS:
            raise SpecFault(
                f"opened results cannot be written as {writer.name}",
                at=f"--export {writer.name}",
                fix=f"use {', '.join(WRITERS)}",
            )


def export(sides: Sequence[Side], exports: Exports) -> None:
    """Write each file.

    Raises:
        StoreFault: a file cannot be written.
    """
    for writer, path in exports:
        content = WRITERS[writer.name](sides).encode(errors="backslashreplace")
        replace(path, content, fix="name another file after --export")
