"""What each factor does, in rows and words: for page and terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sojourn.findings.effects import Effect, FactorFinding
from sojourn.report import platforms, show
from sojourn.report.ratios import named

FAR = 1e-3
WHOLE = 76  # columns in which a row of the table fits, its remark perhaps cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One effect as the cells of a row, in the order of the heads."""

    what: str
    beside: str
    ratio: str
    interval: str
    basis: str
    remark: str
    is_known: bool


def rows(factor: FactorFinding) -> list[Row]:
    """The effects of a factor, in the order of the findings."""
    return [_row(factor, effect) for effect in factor.effects]


def _row(factor: FactorFinding, effect: Effect) -> Row:
    ends, count = effect.interval, effect.blocks
    is_open = ends is not None and ends.lo <= 1 <= ends.hi
    of_all = "all runs" if ends else "–"
    return Row(
        what=effect.what,
        beside=f"{named(factor.key, effect.level)} to {named(factor.key, effect.base)}",
        ratio=_ratio(effect),
        interval=f"{_end(ends.lo)}–{_end(ends.hi)}, {show.share(effect.coverage)}" if ends else "–",
        basis=f"{count} block{'' if count == 1 else 's'}" if count else of_all,
        remark=show.sentences(
            (
                effect.reason,
                "may be no difference" if is_open else "",
                "within the noise of equal runs" if effect.is_noise else "",
                effect.doubt,
            )
        ),
        is_known=ends is not None or bool(effect.endless),
    )


def _ratio(effect: Effect) -> str:
    if effect.endless:
        return "× ∞" if effect.endless > 0 else "× 0"
    return "unknown" if effect.ratio is None else f"× {effect.ratio:.3g}"


def _end(ratio: float) -> str:
    """An end of an interval; beyond a thousand nothing more is reported.

    >>> _end(0.668), _end(2.85e-10), _end(1.66e8)
    ('0.668', '<0.001', '>1000')
    """
    return "<0.001" if ratio < FAR else ">1000" if ratio > 1 / FAR else f"{ratio:.3g}"


def lines(findings: Sequence[FactorFinding], width: int) -> Iterator[str]:
    """The effects as text: a sentence and a table for each factor and service."""
    for factor in findings:
        yield from show.wrapped(show.ruled(f"{factor.name}, {factor.service}", width), width)
        yield from textwrap.wrap(factor.sentence, width)
        if factor.paper:
            yield from textwrap.wrap(f"the papers: {factor.paper}", width)
        yield ""
        yield from _platforms(factor, width)
        known = [row for row in rows(factor) if row.is_known]
        if known:
            yield from _table(known, width, has_levels=len(factor.levels) > 2)
        unknown: dict[str, list[str]] = {}
        for row in rows(factor):
            if not row.is_known:
                unknown.setdefault(row.remark, []).append(row.what)
        for remark, names in unknown.items():
            text = ", ".join(dict.fromkeys(names))
            yield from textwrap.wrap(f"unknown: {text}: {remark}", width, subsequent_indent="  ")


def _table(known: list[Row], width: int, *, has_levels: bool) -> Iterator[str]:
    if width < WHOLE:
        yield from _narrow(known, width, has_levels=has_levels)
        return
    form = "{:<28} {:>8}  {:<17} {:<9} {}"
    yield form.format("number", "ratio", "interval", "rests on", "remark").rstrip()
    for row in known:
        more = (row.beside, row.remark) if has_levels else (row.remark,)
        line = form.format(row.what, row.ratio, row.interval, row.basis, show.sentences(more))
        yield line[: width - 1].rstrip() + ("…" if len(line) > width else line[width - 1 :])


def _narrow(known: list[Row], width: int, *, has_levels: bool) -> Iterator[str]:
    """The same where only three columns fit: what they rest on goes on below."""
    form = "{:<28} {:>8}  {}"
    yield form.format("number", "ratio", "interval")
    for row in known:
        yield form.format(row.what, row.ratio, row.interval)
        more = (row.basis, row.beside if has_levels else "", row.remark)
        indent = "  "
        yield from textwrap.wrap(
            show.sentences(more), width, initial_indent=indent, subsequent_indent=indent
        )


def _platforms(factor: FactorFinding, width: int) -> Iterator[str]:
    """Machines that served the study, one after the other."""
    for one in factor.platforms:
        pairs = zip(platforms.HEAD, platforms.cells(one), strict=True)
        (_, server), *others = pairs
        text = ", ".join(f"{what} {how}" for what, how in others if how != platforms.NONE)
        yield from textwrap.wrap(f"{server}: {text}", width, subsequent_indent="  ")
    if factor.platforms:
        yield ""
