"""What each factor does, in rows and words: for page and terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sojourn.findings.effects import Effect, FactorFinding
from sojourn.report import factor_words, platforms, show
from sojourn.report.ratios import named

FAR = 1e-3
WHOLE = 76  # columns in which a row of the table fits, its remark perhaps cut
FORM, NARROW = "{:<28} {:>8}  {:<17} {:<9} {}", "{:<28} {:>8}  {:<17}"


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
        for message in factor_words.sentences(factor):
            yield from textwrap.wrap(message, width)
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
    """A line for each number; of several levels each has its lines below its name."""
    form = FORM if width >= WHOLE else NARROW
    yield form.format("number", "ratio", "interval", "rests on", "remark").rstrip()
    level = ""
    for row in known:
        if has_levels and row.beside != level:
            level = row.beside
            yield from textwrap.wrap(f"{level}:", width)
        line = form.format(row.what, row.ratio, row.interval, row.basis, row.remark).rstrip()
        yield line[: width - 1].rstrip() + ("…" if len(line) > width else line[width - 1 :])
        if form == NARROW:
            more = show.sentences((row.basis, row.remark))
            yield from textwrap.wrap(more, width, initial_indent="  ", subsequent_indent="  ")


def _platforms(factor: FactorFinding, width: int) -> Iterator[str]:
    """Machines that served the study, one after the other."""
    for one in factor.platforms:
        pairs = zip(platforms.HEAD, platforms.cells(one), strict=True)
        (_, server), *others = pairs
        text = ", ".join(f"{what} {how}" for what, how in others if how != platforms.NONE)
        yield from textwrap.wrap(f"{server}: {text}", width, subsequent_indent="  ")
    if factor.platforms:
        yield ""
