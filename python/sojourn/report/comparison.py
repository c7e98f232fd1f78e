"""A comparison as text and Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from sojourn.analysis.comparison import Comparison
from sojourn.analysis.comparison_rows import AT_LEAST, Ratio, Row
from sojourn.stats.interval import Interval
from sojourn.stats.paired_ratio import Judgement
from sojourn.text.markdown import plain
from sojourn.text.markdown import row as markdown_row
from sojourn.text.numbers import percent
from sojourn.units import show_count, show_ns

NOISE_MOST = 3.0  # factor; a floor from one pair of runs is larger, and says nothing
LACKS = "–"  # nothing was measured: never a 0
OFTEN = 3  # numbers with the same reason, which is then written once
WEAKER = (
    "The records were measured at different times, so drift of the machine counts as a difference. "
    "`sojourn compare --command OLD --command NEW` measures in turn."
)
MORE_RESTARTS = (
    "Profile quick has one start at a load; `sojourn run STUDY --profile standard` has four."
)
EQUAL_LOADS = (
    "To measure both at equal loads, give run.rates in the study instead of run.fractions."
)
FEW = "Numbers in brackets rest on too few requests: the report has none there."
ACROSS = "The records are of different machines, so a ratio compares machines, too."
MOVED = ("of", "stage or cause", "first", "second", "change", "95 % interval", "")
_SIGNS = {
    Judgement.WORSE: "✗",
    Judgement.BETTER: "✓",
    Judgement.SAME: "=",
    Judgement.OPEN: "?",
}


def sentence(result: Comparison) -> str:
    """The whole comparison in a sentence, or one for each record that is judged."""
    first, *rest = called(result)
    texts = [
        text
        for number, name in enumerate(rest, start=1)
        if (text := _judged(result, number, name, first))
    ]
    if texts:
        return " ".join([*texts, *_undecided(result)])
    others = " and ".join(rest)
    if result.judgement is Judgement.SAME:
        most = percent(result.limits.same, 1)
        return f"{others} and {first} differ by less than {most} in every number."
    whether = f"Whether {others} differs from {first} cannot be decided from these runs"
    return f"{whether}{_nearest(result)}."


def _undecided(result: Comparison) -> list[str]:
    """How many numbers have no verdict beside those that have one."""
    every = [side.judgement for row in shared(result) for side in row.sides[1:]]
    count = every.count(Judgement.OPEN)
    return [f"Not decided: {count} of {len(every)} numbers."] if count else []


def _judged(result: Comparison, number: int, name: str, first: str) -> str:
    """What is worse or better of one record; "" if nothing is."""
    worse, better = (
        _named(result, number, judgement) for judgement in (Judgement.WORSE, Judgement.BETTER)
    )
    if worse:
        more = f"; better: {', '.join(better)}" if better else ""
        return f"{name} is worse than {first}: {', '.join(worse)}{more}."
    return f"{name} is better than {first}: {', '.join(better)}." if better else ""


def _nearest(comparison: Comparison) -> str:
    """The number that is nearest to an answer, with what it lacks; "" where none is near."""
    near = [
        (side.p, f": {row.number}{f' at {row.load}' if row.load else ''}, {side.note}")
        for row in comparison.rows
        for side in row.sides[1:]
        if side.note and side.interval is not None and side.p < 1
    ]
    return min(near)[1] if near else ""


def _named(comparison: Comparison, number: int, judgement: Judgement) -> list[str]:
    """The numbers of one record that have this judgement."""
    return [
        f"{row.number} {f'at {row.load}' if row.load else ''}".rstrip()
        for row in comparison.rows
        if row.sides[number].judgement is judgement
    ]


def letters(comparison: Comparison) -> list[tuple[str, str]]:
    """(letter, record) for each: names of records are long."""
    return list(zip("ABCDEFGH", comparison.names, strict=False))


def called(comparison: Comparison) -> tuple[str, ...]:
    """A letter for each record."""
    return tuple(letter for letter, _ in letters(comparison))


def shared(comparison: Comparison) -> list[Row]:
    """The rows that a second record has, too."""
    return [
        row
        for row in comparison.rows
        if row.sides[0].value is not None and any(side.value is not None for side in row.sides[1:])
    ]


def lacking(comparison: Comparison) -> str:
    """Where the first record is alone or lacks, in a sentence; "" if nowhere."""
    there = {(row.service, row.load) for row in shared(comparison)}
    places = dict.fromkeys((row.service, row.load) for row in comparison.rows)
    gone = [
        f"{service} at {load}" if load else f"max load of {service}"
        for service, load in places
        if (service, load) not in there
    ]
    return f"Not measured in both: {', '.join(gone)}." if gone else ""


def columns(comparison: Comparison) -> tuple[str, ...]:
    """Names of the columns of `lines`."""
    first, *others = called(comparison)
    each = ((name, f"{name}/{first}", "verdict") for name in others)
    return ("service", "load", "number", first, *(cell for cells in each for cell in cells))


def lines(comparison: Comparison) -> list[tuple[str, ...]]:
    """A line of texts for each row."""
    once = reasons(comparison)
    return [_line(row, once) for row in shared(comparison)]


def _line(row: Row, once: Mapping[str, int]) -> tuple[str, ...]:
    cells = [row.service, row.load or "any", row.number, value(row, row.sides[0])]
    for side in row.sides[1:]:
        cells += [value(row, side), ratio(side), verdict(side, once)]
    return tuple(cells)


def reasons(comparison: Comparison) -> dict[str, int]:
    """Why numbers cannot be decided, with their count: reasons that many of them share."""
    open_ = [
        side.note
        for row in shared(comparison)
        for side in row.sides[1:]
        if side.note and side.judgement is Judgement.OPEN
    ]
    return {note: count for note, count in Counter(open_).items() if count >= OFTEN}


def _reasons_text(comparison: Comparison) -> list[str]:
    every = sum(len(row.sides) - 1 for row in shared(comparison))
    texts = []
    for note, count in reasons(comparison).items():
        cure = f" {MORE_RESTARTS}" if note.endswith("restarts") else ""
        texts.append(f"Of {every} numbers, {count} cannot be decided: {note}.{cure}")
    return texts


def value(row: Row, side: Ratio) -> str:
    """A number with its unit; in brackets where the report has none."""
    if side.value is None:
        return LACKS
    if math.isinf(side.value):
        return "∞"
    if side.bound:
        way = -1 if side.bound == AT_LEAST else 1
        return side.bound + (f" {show_count(side.value, way)}/s" if side.value else "")
    text = f"{show_count(side.value)}/s" if row.is_rate else show_ns(side.value)
    return text if side.is_carried else f"({text})"


def ratio(side: Ratio) -> str:
    """`1.10 (1.05 to 1.15), A/A ±3.2 %`; `at most 0.56` where an end is open."""
    if side.ratio is None:
        return _open_ratio(side.interval)
    text = "∞" if math.isinf(side.ratio) else f"{side.ratio:.3g}"
    if side.interval:
        text += f" ({side.interval.lo:.3g} to {side.interval.hi:.3g})"
    if side.noise is not None:
        is_known = side.noise <= NOISE_MOST
        text += f", A/A ±{side.noise - 1:.1%}" if is_known else ", A/A: too few pairs"
    return text


def _open_ratio(ends: Interval | None) -> str:
    """The ratio to a bound: what is known of it, rounded so that it still holds."""
    if ends is None or (ends.lo <= 0 and math.isinf(ends.hi)):
        return LACKS
    if ends.lo <= 0:
        return f"at most {show_count(ends.hi, 1)}"
    if math.isinf(ends.hi):
        return f"at least {show_count(ends.lo, -1)}"
    return f"{show_count(ends.lo, -1)} to {show_count(ends.hi, 1)}"


def verdict(side: Ratio, once: Mapping[str, int]) -> str:
    """A judgement with its sign, and why there is none, unless that is written once for many."""
    text = f"{_SIGNS[side.judgement]} {side.judgement}"
    is_own = side.note and side.note not in once and side.judgement is Judgement.OPEN
    return f"{text}: {side.note}" if is_own else text


def notes(comparison: Comparison) -> Sequence[str]:
    """What else a reader must know."""
    alpha = f"Chance of any wrong worse or better: {comparison.limits.alpha:.3g} (Holm)."
    who = "; ".join(f"{letter} is {name}" for letter, name in letters(comparison))
    open_ = [f"{name} is not finished." for name in comparison.unfinished]
    own = [lacking(comparison)] if lacking(comparison) else []
    why = _reasons_text(comparison)
    each = (side for row in shared(comparison) for side in row.sides)
    are_few = any(side.value is not None and not side.is_carried for side in each)
    return (
        f"{who}.",
        *([FEW] if are_few else []),
        *why,
        *([ACROSS] if comparison.is_across else []),
        *open_,
        *axes(comparison),
        *own,
        WEAKER,
        alpha,
    )


def axes(comparison: Comparison) -> list[str]:
    """Where 100 % load is not the same in all records, in a sentence each."""
    results = []
    for service, each in comparison.axes:
        named = [
            f"{show_count(rps)}/s in {letter}"
            for rps, letter in zip(each, called(comparison), strict=True)
            if rps is not None
        ]
        loads = f"100 % load of {service} is {' and '.join(named)}"
        results.append(f"Loads are compared in requests/s, because {loads}. {EQUAL_LOADS}")
    return results


def markdown(comparison: Comparison) -> str:
    """For a comment on a change: the answer, the differences, and the table."""
    parts = [f"**{plain(sentence(comparison))}**", ""]
    if comparison.differences:
        rows = [(what, *each) for what, each in comparison.differences]
        parts += _table(("differs", *called(comparison)), rows)
    parts += _table(columns(comparison), lines(comparison))
    for one in comparison.moved:
        parts += [f"What moved, {plain(one.what)}: {plain(one.answer)}", ""]
        parts += _table(MOVED, one.rows) if one.rows else []
    return "\n".join([*parts, *map(plain, notes(comparison))]) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    shown = [head, ["---"] * len(head), *rows]
    return [*map(markdown_row, shown), ""]
