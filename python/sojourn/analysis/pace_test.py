"""What a neighbour retained of its pace alone: closed forms, and what is reported about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis import pace
from sojourn.analysis.study import study
from sojourn.analysis.testing import memcached, run_study, study_of
from sojourn.findings.measured import StudyData
from sojourn.plan.points import Outcome, Verdict
from sojourn.samples.pace import Pace
from sojourn.testing_questions import answers


def ran(per_s: float, *, error: float = 0.1, asked: float | None = None) -> Pace:
    return Pace(
        called="xz",
        unit="files",
        per_s=per_s,
        error_per_s=error,
        alone_per_s=10.0,
        alone_error_per_s=0.1,
        asked_per_s=asked,
        seconds=21,
    )


def test_who_was_asked_for_half_and_did_half_kept_all() -> None:
    assert ran(5.0).kept == 0.5
    assert ran(5.0, asked=5.0).kept == 1.0
    assert ran(5.0, asked=50.0).kept == 0.5  # more than it can do: what it can do counts


def test_few_runs_are_judged_by_their_seconds_and_the_words_say_so() -> None:
    share, ends, _ = pace.share_of([ran(5.0)])
    assert ends is not None
    assert share == pytest.approx(0.5)
    wide = ends.hi / ends.lo
    two = pace.share_of([ran(5.0), ran(5.0)])[1]
    assert two is not None
    assert np.log(two.hi / two.lo) == pytest.approx(np.log(wide) / np.sqrt(2), rel=0.05)
    text = pace.sentence(pace.of_runs("batch:xz", 0.7, [ran(5.0)]))
    assert text.startswith("xz kept 50 % (")
    assert text.endswith("of its pace alone at 70 % load, by the seconds of one run alone")


def test_the_interval_over_runs_covers_the_truth_as_often_as_it_says() -> None:
    """95 % of 400: three sigma are 3.3 points."""
    lot, within = np.random.default_rng(7), 0
    for _ in range(400):
        runs = [ran(4.0 * float(np.exp(lot.normal(0, 0.1)))) for _ in range(4)]
        ends = pace.share_of(runs)[1]
        assert ends is not None
        within += ends.lo <= 0.4 <= ends.hi
    assert within / 400 == pytest.approx(0.95, abs=0.033)


def test_what_cannot_be_told_says_why() -> None:
    assert pace.of_runs("batch:xz", 0.7, []).reason == "no run is valid"
    share, ends, why = pace.share_of([ran(0.0)])
    assert (share, ends) == (0.0, None)
    assert "stood still" in why
    one = replace(ran(5.0), error_per_s=None)
    assert pace.share_of([one])[1] is None
    assert "too few seconds" in pace.sentence(pace.of_runs("batch:xz", 0.7, [one]))


def beside(per_s: Callable[[Outcome], float]) -> StudyData:
    levels = ("none", "batch:xz")
    asked = study_of(memcached(measure=["sweep"])).model_copy(
        update={"factors": {"neighbour": levels}}
    )
    run = asked.run.model_copy(update={"repeats": 3, "fractions": (0.3, 0.7)})
    played = run_study(asked.model_copy(update={"run": run}), capacity_rps=20_000)
    measured = tuple(
        replace(one, pace=ran(per_s(one.outcome)))
        if one.outcome.point.setting.get("neighbour") == "batch:xz"
        else one
        for one in played.measured
    )
    return replace(played, measured=measured)


def pace_by_load(outcome: Outcome) -> float:
    return 10 * (1 - (outcome.point.fraction or 0.0)) * (1 + 0.01 * outcome.point.repeat)


def test_a_study_says_it_at_each_load_and_of_no_one_else() -> None:
    data = beside(pace_by_load)
    findings = study(data, answers())
    alone, xz = findings.services
    assert alone.kept == ()
    assert [(one.fraction, round(one.share or 0, 2)) for one in xz.kept] == [
        (0.3, 0.71),
        (0.7, 0.3),
    ]
    last = xz.kept[-1]
    assert (last.called, last.runs, last.is_across_runs) == ("xz", 3, True)
    assert last.alone_interval is not None
    assert (
        "beside memcached xz kept 30 % (30 to 31 %) of its pace alone at 70 % load."
        in findings.answer
    )


def test_runs_that_are_not_believed_say_nothing() -> None:
    data = beside(pace_by_load)
    doubted = tuple(
        replace(one, outcome=replace(one.outcome, verdict=Verdict.UNKNOWN)) if one.pace else one
        for one in data.measured
    )
    findings = study(replace(data, measured=doubted), answers())
    assert {one.reason for one in findings.services[1].kept} == {"no run is valid"}
    assert "is unknown: no run is valid" in findings.answer
