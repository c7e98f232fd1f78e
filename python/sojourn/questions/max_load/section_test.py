"""The search in words: its own time, and how far its interval is from deciding."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sojourn.analysis.service import NOT_RESTARTED
from sojourn.findings.highest_load import Border, MaxLoad
from sojourn.findings.limit import By, Limit
from sojourn.plan.points import Verdict
from sojourn.questions.max_load import section, worst
from sojourn.report import show, testing
from sojourn.stats.interval import Interval

BORDER = Border(
    estimate_rps=150.0,
    interval_rps=Interval(lo=100.0, hi=200.0),
    level=0.9,
    fraction=None,
    runs=27,
    starts=17,
    measured_s=56.0,
)


def test_the_time_of_the_search_is_that_of_its_own_runs() -> None:
    """The answer rests on the sweep's runs, too: their load is no part of the search's time."""
    probes = tuple((100.0 + n, "pass") for n in range(14))
    search = MaxLoad(verdict=Verdict.HOLDS, border=BORDER, probes=probes, wall_s=44.0)
    service = testing.memcached().having("max_load", search)
    facts = dict(section.KIND.facts(service))
    assert facts["the answer rests on"] == "27 runs on 17 starts, 56 s of load"
    assert facts["the search"] == "14 runs of its own took 44 s"
    running = replace(service, reasons=(NOT_RESTARTED,))
    known = dict(section.KIND.facts(running))["the answer rests on"]
    assert known == "27 runs of one start, 56 s of load"


@pytest.mark.parametrize(("hi", "text"), [(200.4, "2.01"), (203.6, "2.04"), (310.0, "3.1")])
def test_a_factor_that_does_not_decide_is_shown_as_more_than_the_one_that_does(
    hi: float, text: str
) -> None:
    doubt = worst._undecided(replace(BORDER, interval_rps=Interval(lo=100.0, hi=hi)))
    shown, decides = re.findall(r"factor of ([\d.]+), ([\d.]+) decides", doubt)[0]
    assert shown == text
    assert float(shown) > float(decides)
    assert worst._undecided(BORDER) == ""


def test_who_limits_the_service_is_a_fact_of_its_own() -> None:
    limit = Limit(by=By.REFUSALS, from_rps=500.0, text="limit: from 500 requests/s on, refused")
    service = testing.memcached()
    assert "what limits it" not in dict(section.KIND.facts(service))
    facts = dict(section.KIND.facts(replace(service, limit=limit)))
    assert facts["what limits it"] == "from 500 requests/s on, refused"


@pytest.mark.parametrize(("start_rps", "is_noted"), [(82.0, True), (90.0, False), (None, False)])
def test_what_one_start_carries_is_a_fact_and_a_note_if_it_is_much_less(
    start_rps: float | None, *, is_noted: bool
) -> None:
    border = replace(BORDER, start_rps=start_rps)
    search = MaxLoad(verdict=Verdict.HOLDS, border=border, probes=(), wall_s=44.0)
    service = testing.memcached().having("max_load", search)
    known = dict(section.KIND.facts(service)).get(f"{show.share(0.9)} of starts carry")
    assert known == (f"{start_rps} requests/s or more" if start_rps else None)
    text = f"starts of the service differ: {show.share(0.9)} of them carry 82.0/s or more"
    assert (text in section.KIND.notes(service)) == is_noted
