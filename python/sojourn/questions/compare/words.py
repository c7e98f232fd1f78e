"""The answer of a comparison in words, and its numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sojourn.plan.points import Verdict
from sojourn.questions.compare import asks
from sojourn.questions.compare.compared import Compared, Row
from sojourn.spec import Study
from sojourn.stats import visible_change
from sojourn.stats.gate_rule import Decision, Ruling
from sojourn.stats.paired_ratio import Judgement
from sojourn.units import show_count, show_ns, show_s

CPU_TITLE = "CPU per request"
EXACT = 1e-3  # width of an interval below which digits say nothing more
#: (digits after the point, width of the interval below which a ratio has them)
DIGITS = ((3, 0.01), (2, 1.0), (1, 10.0))


def with_words(study: Study, section: Compared, gate: Decision | None, unlike: str) -> Compared:
    """With the answer in words, the verdict, and what an open one would take."""
    text, verdict = _gate_words(study, section, gate) if gate else _words(study, section)
    reasons = [_takes(section)] if verdict is Verdict.UNKNOWN and not section.lacking else []
    if unlike:  # then it is the shield that is compared
        text = f"Whether {' or '.join(asks.of(study).services[1:])} is worse cannot be decided."
        verdict, reasons = Verdict.UNKNOWN, [unlike]
    modes = [f"{row.service} {row.number}" for row in section.rows if row.modes]
    note = f" Starts fall into two groups: {', '.join(modes)}." if modes else ""
    return replace(
        section,
        headline=text,
        answer=text + note + _left_out(section),
        verdict=verdict,
        reasons=tuple(reasons),
        leads=True,
    )


def _words(study: Study, section: Compared) -> tuple[str, Verdict]:
    worse, better, open_ = (
        [row for row in section.rows if row.judgement is judgement]
        for judgement in (Judgement.WORSE, Judgement.BETTER, Judgement.OPEN)
    )
    # A service elsewhere has no CPU time here, and no time would show it.
    uncounted = [row for row in open_ if not row.pairs and row.number == CPU_TITLE]
    open_ = [row for row in open_ if row not in uncounted or len(uncounted) == len(section.rows)]
    texts = [
        f"{rows[0].service} is {word} than {section.first}: {_listed(rows)}."
        for service in asks.of(study).services[1:]
        for word, every in (("worse", worse), ("better", better))
        if (rows := [row for row in every if row.service == service])
    ]
    if open_:
        names = ", ".join(f"{row.number} of {row.service}" for row in open_)
        texts.append(f"Not decided: {names}.")
    if worse:
        return " ".join(texts), Verdict.VIOLATED
    if better:
        return " ".join(texts), Verdict.HOLDS
    others = " and ".join(asks.of(study).services[1:])
    if open_:
        names = ", ".join(dict.fromkeys(row.number for row in open_))
        return f"Whether {others} differs from {section.first} cannot be decided: {names}.", (
            Verdict.UNKNOWN
        )
    limit = f"{100 * asks.of(study).same:.3g} %"
    what = ", ".join(dict.fromkeys(row.number for row in section.rows if row.pairs))
    where = f"in {what}; CPU time was not counted" if uncounted else "in every number"
    return f"{others} and {section.first} differ by less than {limit} {where}.", Verdict.HOLDS


def _gate_words(study: Study, section: Compared, gate: Decision | None) -> tuple[str, Verdict]:
    assert gate is not None  # noqa: S101  # of a gate only
    second, limit = asks.of(study).services[1], f"{100 * asks.of(study).max_regression:.3g} %"
    if gate.ruling is Ruling.REGRESSION:
        rows = [row for row in section.rows if row.number in section.decided_by]
        text = (
            f"{second} is worse than {section.first} by more than {limit}: {_listed(rows)}; "
            f"confirmed by the blocks after number {gate.first}."
        )
        return text, Verdict.VIOLATED
    if gate.ruling is Ruling.FINE:
        names = ", ".join(row.number for row in section.rows if row.pairs)
        return f"{second} is not worse than {section.first} by {limit}: {names}.", Verdict.HOLDS
    if gate.first:
        names = ", ".join(section.decided_by)
        text = (
            f"Whether {second} is worse than {section.first} cannot be decided: {names} alarmed "
            f"after {gate.first} blocks, and fresh blocks did not confirm it."
        )
        return text, Verdict.UNKNOWN
    text = f"Whether {second} is worse than {section.first} by more than {limit} cannot be decided"
    if section.lacking:
        names = ", ".join(section.lacking)
        fix = "longer runs do not help: choose others with --numbers"
        return f"{text}, because no block has {names} of both ({fix}).", Verdict.UNKNOWN
    return f"{text}.", Verdict.UNKNOWN


def _left_out(section: Compared) -> str:
    """How many blocks are left out, because a service that fails often is not what they show."""
    if not section.left_out:
        return ""
    each = " and ".join(f"{count} times {label}" for label, count in section.left_out)
    return f" Blocks are left out because a service had no valid run: {each}."


def _listed(rows: Sequence[Row]) -> str:
    """`p99 1.31 times (1.12 to 1.50), mean …`."""
    return ", ".join(f"{row.number} {ratio_text(row)}" for row in rows)


def ratio_text(row: Row) -> str:
    """`1.31 times (1.12 to 1.50)`; `–` without a pair."""
    if row.ratio is None:
        return "–"
    if row.interval is None:
        return f"{_ratio(row.ratio, None)} times"
    low, high = row.interval.lo, row.interval.hi
    ends = [_ratio(end, high - low) for end in (low, high)]
    return f"{_ratio(row.ratio, high - low)} times ({ends[0]} to {ends[1]})"


def _ratio(value: float, width: float | None) -> str:
    """A ratio with the digits that its interval knows; both ends and the ratio have as many.

    >>> _ratio(1.3, 0.06), _ratio(0.9672, 0.6), _ratio(23.26, 6.2), _ratio(1.0, 0.008)
    ('1.30', '0.97', '23.3', '1.000')
    >>> _ratio(math.inf, math.inf), _ratio(1.3, None), _ratio(0.0123, 0.002)
    ('∞', '1.3', '0.012')
    """
    if math.isinf(value):
        return "∞"
    if not width or width < EXACT or not math.isfinite(width):
        return f"{value:.3g}"
    return f"{value:.{next((n for n, least in DIGITS if width < least), 0)}f}"


def value_texts(row: Row) -> tuple[str, str]:
    """Both sides, as a time or rate; `–` where nothing was counted."""
    if row.first_rps is not None or row.other_rps is not None:
        return _rate_text(row.first_rps), _rate_text(row.other_rps)
    return _time_text(row.first_ns), _time_text(row.other_ns)


def _rate_text(rps: float | None) -> str:
    return f"{show_count(rps)}/s" if rps else "–"


def _time_text(value: float | None) -> str:
    return "–" if value is None else "∞" if math.isinf(value) else show_ns(value)


def moved_words(section: Compared) -> list[str]:
    """What moved, a sentence for each service that was traced."""
    if section.is_traced and not section.moved:
        return ["What moved is not known, because no trace of these services is valid."]
    return [f"Traced, {one.what}: {one.answer}." for one in section.moved]


def blocks_text(section: Compared) -> str:
    """How many blocks there were, and under which load."""
    load = f" at {section.offered_rps:,.0f} requests/s" if section.offered_rps else ""
    return f"{section.blocks} blocks{load}"


def _takes(section: Compared) -> str:
    """How much longer it would take, by the scatter of these blocks."""
    known = [row for row in section.rows if row.scatter is not None]
    if not known:
        return f"{section.blocks} whole blocks are too few to say how many are needed"
    parts = [
        f"{row.number}: {row.blocks_for} blocks, {show_s(row.blocks_for * section.block_s)}"
        if row.blocks_for
        else f"{row.number}: more than {visible_change.BLOCKS_MOST:,} blocks"
        for row in known
    ]
    target = f"{100 * known[0].target:.3g} %"
    return f"to see a change of {target} nine times out of ten takes {'; '.join(parts)}"
