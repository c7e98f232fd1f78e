"""Parts of a comparison of records: ratios, rows, stages that moved."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.stats.interval import Interval
from sojourn.stats.paired_ratio import Judgement

AT_LEAST, AT_MOST, NO_LOAD = "at least", "at most", "no load"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One number of one record, held against that of the first.

    Attributes:
        value: geometric mean over restarts, ns or requests/s; None: not measured; may be `inf`.
        bound: of a value that is the known end of an open interval, `AT_LEAST` or `AT_MOST`;
            `NO_LOAD` where none fits; "" of any other.
        restarts: of which it is the mean.
        is_carried: whether the requests carry the number; else the report has none.
        ratio: to the first record's number; None if one of them has none, or is a bound.
        interval: of that, at level 1 - alpha; None with fewer than three restarts a side.
        noise: equal runs differ by up to this factor (A/A); None: not measured.
        p: that there is no difference, two-sided, of this number alone.
        apart: logarithm of its load over that of the first record; 0 where they count as equal.
        judgement: what follows.
        note: why nothing follows; "" if something does.
    """

    value: float | None
    bound: str = ""
    restarts: int = 0
    is_carried: bool = True
    ratio: float | None = None
    interval: Interval | None = None
    p: float = 1.0
    noise: float | None = None
    apart: float = 0.0
    judgement: Judgement = Judgement.OPEN
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One number at one load in all records.

    Attributes:
        service: how people call it.
        load: "70 % load", "20k requests/s"; "" of a number that is about all loads.
        number: "p99", "mean", …
        is_rate: requests/s, of which more is better; else ns.
        sides: a value for each record, the first of them without a ratio.
    """

    service: str
    load: str
    number: str
    is_rate: bool
    sides: tuple[Ratio, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Which stage moved between two records of traced services.

    Attributes:
        what: service, setting and records.
        answer: in a sentence.
        rows: of mean, tail and causes: table, part, first, second, change, interval, "moved" or "".
    """

    what: str
    answer: str
    rows: tuple[tuple[str, ...], ...] = ()
