"""What the first screen says of suspects."""

from __future__ import annotations

import math
from dataclasses import replace

from sojourn.questions.blame import figure as suspects
from sojourn.questions.blame import opening
from sojourn.questions.blame.figure import Accused
from sojourn.questions.blame.suspects import GUILTY, UNDECIDED, Row
from sojourn.questions.blame.testing_opening import CASES, _suspect
from sojourn.report import figures, openings
from sojourn.stats.interval import Interval


def test_a_suspect_that_is_tried_in_every_condition_is_named_with_it() -> None:
    guilty, cleared, open_ = openings.of(CASES["guilty"].make()).sentences
    assert guilty.endswith("as with it stopped, on the CPU.")
    assert "cleared" in cleared
    assert "undecided: only changes above a factor of 3" in open_
    (worst,) = [row for row in openings.of(CASES["guilty"].make()).text if "system calls" in row]
    assert worst.startswith("system calls at 1 %, worst of 3")
    drawn = next(f for f in figures.of_study(CASES["guilty"].make()) if f.name == suspects.NAME)
    assert sum("beside" in str(row) for row in drawn.table.rows) == 3


def accused(row: Row) -> Accused:
    return Accused(service="memcached", name=row.name, beside="", row=row)


def test_a_doubt_is_why_a_suspect_is_open_and_not_its_narrow_interval() -> None:
    row = _suspect("xz", UNDECIDED)
    narrow = replace(row.stop, ratio=1.0, interval=Interval(lo=0.97, hi=1.03))
    row = replace(row, stop=narrow, doubt="it was not stopped: it used 90 % of its CPU time")
    assert opening._why([accused(row)]) == "it was not stopped"
    other = _suspect("fio", UNDECIDED)
    assert opening._why([accused(other), accused(row)]) == "of xz, it was not stopped"


def test_the_widest_of_both_comparisons_says_what_could_be_seen() -> None:
    row = _suspect("xz", UNDECIDED)
    narrow = replace(row.stop, ratio=1.0, interval=Interval(lo=0.97, hi=1.03))
    wide = replace(row.stop, ratio=1.0, interval=Interval(lo=0.5, hi=2.0))
    open_ = accused(replace(row, stop=narrow, alone=wide))
    assert "above a factor of 2 can" in opening._why([open_])


def test_of_a_ratio_without_an_end_the_bound_is_shown() -> None:
    row = _suspect("xz", GUILTY)
    wide = replace(row.stop, ratio=60.0, interval=Interval(lo=32.0, hi=140.0))
    lost = replace(row.stop, ratio=math.inf, interval=Interval(lo=3.4, hi=math.inf))
    none = replace(row.stop, ratio=0.0, interval=Interval(lo=0.0, hi=0.2))
    shown = [opening._number(accused(replace(row, stop=one))) for one in (wide, lost, none)]
    assert shown == ["at least 32", "at least 3.40", "at most 0.20"]
    findings = CASES["guilty"].make()
    first = next(opening.sentences(findings, [accused(replace(row, stop=lost))]))
    assert "p99 of memcached is at least 3.40 times as long as with it stopped" in first
