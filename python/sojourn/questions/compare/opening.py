"""How a comparison opens: who is worse, by which number, and what is still open."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sojourn.findings.findings import Findings
from sojourn.questions.compare.compared import Compared, Row
from sojourn.questions.compare.figure import FIGURE
from sojourn.questions.compare.plan import NAME
from sojourn.questions.compare.words import ratio_text
from sojourn.report import dot_rows, show
from sojourn.report.openings.opening import (
    WORDS_MAX,
    Opening,
    Opens,
    fitting,
    sentence,
    words,
)
from sojourn.stats.paired_ratio import Judgement
from sojourn.units import show_s

NAMED_MAX = 2


class CompareOpens(Opens):
    """A comparison of services in turn."""

    name = NAME
    place = 15

    def applies(self, findings: Findings) -> bool:
        """Where any number was compared."""
        section = findings.section(Compared)
        return section is not None and any(row.ratio is not None for row in section.rows)

    def opening(self, findings: Findings, width: int) -> Opening:
        """The answer, who is who, the largest difference, and what is open."""
        section = findings.section(Compared)
        assert section is not None  # noqa: S101  # it applies
        return Opening(
            headline=headline(section),
            sentences=tuple(sentences(section)),
            figures=(FIGURE.name,),
            text=tuple(lines(section, width)),
        )


def headline(section: Compared) -> str:
    """The answer, with its first number if that fits."""
    start, _, rest = section.headline.partition(": ")
    first = rest.partition(" times")[0]
    return fitting(f"{start}: {first} times" if " times" in rest else "", start.rstrip("."))


def sentences(section: Compared) -> Iterator[str]:
    """The sentences below the headline, at most three."""
    yield from _names(section)
    differs = [row for row in section.rows if row.judgement.differs]
    differs.sort(key=_size, reverse=True)
    if differs:
        row = differs[0]
        more = show.listed([one.number for one in differs[1:]], NAMED_MAX)
        start = f"{row.number} of {row.service} is {ratio_text(row)} that of {section.first}"
        yield sentence(f"{start}; {more} differ as well" if more else start, start)
    open_ = [row for row in section.rows if row.judgement.is_open]
    if open_:
        yield _open(section, open_)
    elif not differs:
        yield sentence(f"{section.blocks} blocks show no difference in any number")


def _names(section: Compared) -> Iterator[str]:
    """What each service is, if that is short."""
    text = "; ".join(f"{label} is {what}" for label, what in section.called)
    if text and words(f"service {text}") <= WORDS_MAX:
        yield sentence(f"service {text}")


def _open(section: Compared, rows: list[Row]) -> str:
    """What cannot be decided, and how long it takes."""
    names = show.listed(list(dict.fromkeys(row.number for row in rows)), NAMED_MAX)
    needed = [row.blocks_for for row in rows if row.blocks_for]
    start = f"{names} cannot be decided after {section.blocks} blocks"
    if len(needed) < len(rows) or max(needed) <= section.blocks:
        return sentence(start)
    long = show_s(max(needed) * section.block_s)
    return sentence(f"{start}; to see a change of {100 * rows[0].target:.3g} % takes {long}", start)


def _size(row: Row) -> float:
    """How far it surely is from 1, on the logarithm."""
    ends = row.interval
    if ends is None:
        return 0.0
    low = math.log(ends.lo) if ends.lo > 0 else -math.inf
    high = math.log(ends.hi) if ends.hi > 0 else -math.inf
    return max(low, -high)


def lines(section: Compared, width: int) -> Iterator[str]:
    """Ratios as dots with intervals."""
    rows = [
        dot_rows.Row(
            name=f"{row.service} {row.number}",
            at=row.ratio,
            lo=row.interval.lo if row.interval else None,
            hi=row.interval.hi if row.interval else None,
            words=ratio_text(row),
            sign="open" if row.judgement is Judgement.OPEN else "shown",
        )
        for row in section.rows
        if row.ratio is not None
    ]
    yield from dot_rows.lines(rows, width)


KIND = CompareOpens()
