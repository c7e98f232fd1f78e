"""Tables of the suspects: each comparison, and what each suspect used and cost."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.questions.blame.blames import Blames
from sojourn.questions.blame.suspects import Row
from sojourn.questions.blame.words import limit
from sojourn.report import show
from sojourn.report.draw.table import Record
from sojourn.stats.interval import Interval

# fmt: off
COLUMNS = (
    "suspect", "who", "verdict", "resource", "comparison", "with_ns", "with_lo_ns", "with_hi_ns",
    "without_ns", "without_lo_ns", "without_hi_ns", "ratio", "lo", "hi", "p", "p_holm", "blocks",
    "requests", "refused",
)
# fmt: on
STOPPED, ALONE = "all run against it stopped", "it alone against none"


def rows(blames: Blames) -> list[Record]:
    """A record of each comparison of each suspect."""
    return [record for row in blames.rows for record in _records(row)]


def _records(row: Row) -> Iterator[Record]:
    for what, one in ((STOPPED, row.stop), (ALONE, row.alone)):
        if one is None:
            continue
        lo, hi = (one.interval.lo, one.interval.hi) if one.interval else (None, None)
        is_known = one.ratio is not None and one.interval is not None
        report = limit(one) or (f"{one.ratio:.3g} ({lo:.3g} to {hi:.3g})" if is_known else "")
        yield {
            "suspect": row.name,
            "who": row.who,
            "verdict": row.word,
            "resource": row.resource,
            "comparison": what,
            "ratio": one.ratio,
            "lo": lo,
            "hi": hi,
            "p": one.p,
            "p_holm": one.p_holm,
            "blocks": one.blocks,
            "requests": one.requests,
            "refused": one.refused,
            "with_ns": one.with_ns,
            "without_ns": one.without_ns,
            **_ends("with", one.with_interval),
            **_ends("without", one.without_interval),
            "with": show.time(one.with_ns),
            "without": show.time(one.without_ns),
            "with_sure": show.times(one.with_interval),
            "without_sure": show.times(one.without_interval),
            "said": report or one.refused,
            "chance": "" if one.refused else f"{one.p_holm:.2g}",
        }


def _ends(name: str, interval: Interval | None) -> Record:
    return {
        f"{name}_lo_ns": interval.lo if interval else None,
        f"{name}_hi_ns": interval.hi if interval else None,
    }


def costs(blames: Blames) -> list[Record]:
    """What each suspect used, and what the service paid per request."""
    return [
        {
            "suspect": row.name,
            "who": row.who,
            "cpu": show.share(row.cpu_share),
            "still": show.share(row.still_share),
            "disk": f"{show.count(row.disk_bytes_per_s)}B/s",
            "traced": "–" if row.traced_share is None else show.share(row.traced_share),
            **{cost.name: _cost(cost.more, cost.interval) for cost in row.costs},
        }
        for row in blames.rows
    ]


def _cost(more_ns: float, interval: Interval | None) -> str:
    """A difference in time per request, with its interval: +3.1 µs (2.8 to 3.4)."""
    ends = f" ({interval.lo / 1e3:.2g} to {interval.hi / 1e3:.2g})" if interval else ""
    return f"{more_ns / 1e3:+.2g} µs{ends}"
