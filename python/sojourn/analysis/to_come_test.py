"""An unfinished study: what is not begun is open, and its command goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn import analysis, spec
from sojourn.analysis import state, to_come
from sojourn.analysis.testing import memcached, run_study, study_of
from sojourn.findings.measured import StudyData
from sojourn.plan import rehearse
from sojourn.plan.left_out import ABANDONED, SKIPPED, LeftOut
from sojourn.plan.points import Phase
from sojourn.plan.setting import Setting
from sojourn.testing_questions import PLANS, answers


@pytest.fixture(scope="module")
def whole() -> StudyData:
    """A sweep of four loads in one block, played to its end."""
    asked = study_of(memcached(measure=["sweep"]))
    changes = {"fractions": (0.1, 0.3, 0.5, 0.7), "repeats": 1, "measure_s": 4.0}
    asked = asked.model_copy(update={"run": asked.run.model_copy(update=changes)})
    return run_study(asked, capacity_rps=20_000)


def ended(whole: StudyData, loads: int) -> StudyData:
    """The same after so many loads, as its record would have it."""
    swept = [one for one in whole.measured if one.outcome.point.phase is Phase.SWEEP]
    before = [one for one in whole.measured if one.outcome.point.phase is not Phase.SWEEP]
    return replace(whole, measured=(*before, *swept[:loads]))


def test_a_study_that_was_ended_early_is_not_answered(whole: StudyData) -> None:
    every = analysis.study(whole, answers())
    assert (every.state.of, every.unanswered) == (4, ())
    part = analysis.study(ended(whole, 1), answers())
    assert part.unanswered == ("sweep",) * 3
    assert part.state.of == state.of(part, answers()).of == 4
    assert part.state.done <= 1
    assert part.state.word != "answered"


def test_loads_of_a_service_that_was_not_begun_are_counted_once() -> None:
    one = memcached(measure=["sweep"])
    asked = study_of(one, one.model_copy(update={"label": "other"}))
    changes = {"fractions": (0.1, 0.3, 0.5, 0.7), "repeats": 1, "measure_s": 4.0}
    asked = asked.model_copy(update={"run": asked.run.model_copy(update=changes)})
    played = run_study(asked, capacity_rps=20_000)
    begun = tuple(m for m in played.measured if m.outcome.point.service == one.label)
    assert 0 < len(begun) < len(played.measured)
    result = analysis.study(replace(played, measured=begun), answers())
    assert result.unanswered == ("sweep",) * 4
    assert result.state.of == 8


def test_a_record_that_is_complete_wants_nothing_more(whole: StudyData) -> None:
    done = replace(ended(whole, 1), is_complete=True)
    assert to_come.ahead(done) is None
    assert analysis.study(done, answers()).unanswered == ()


def test_what_was_not_begun_at_all_has_nothing_to_go_on_with(whole: StudyData) -> None:
    assert to_come.ahead(replace(whole, measured=())) is None


def test_more_blocks_of_what_is_begun_leave_one_thing_open(whole: StudyData) -> None:
    run = whole.study.run.model_copy(update={"repeats": 2})
    more = replace(whole, study=whole.study.model_copy(update={"run": run}))
    left = to_come.ahead(more)
    assert left is not None
    assert list(to_come.open_names(more, left)) == ["sweep"]
    assert analysis.study(more, answers()).state.of == 5


def test_where_only_the_load_axis_is_left_a_question_is_open_that_is_asked() -> None:
    """Not the first of all that there are."""
    asked = study_of(memcached(measure=["max_load"]))
    left = rehearse(asked, PLANS)
    axis = replace(left, points=tuple(p for p in left.points if p.phase is Phase.PEAK))
    assert axis.points
    bare = StudyData(study=asked, measured=(), questions=PLANS)
    assert list(to_come.open_names(bare, axis)) == ["max_load"]


def test_an_unfinished_study_goes_on_and_is_not_begun_anew(whole: StudyData) -> None:
    typed = "sojourn run x --new --set run.repeats=1"
    data = replace(ended(whole, 1), command=typed)
    settle = analysis.study(data, answers()).state.settle
    assert settle is not None
    assert settle.command == "sojourn run x --set run.repeats=1"
    assert settle.why == "measure the 3 points that are left"
    left = rehearse(data.study, PLANS, [one.outcome for one in data.measured])
    assert settle.seconds == pytest.approx(left.wall_s)


def test_factors_do_not_hide_what_an_unfinished_study_has_not_begun() -> None:
    key = "services.memcached.params.threads"
    sets = ('services.memcached.measure=["sweep"]', "run.fractions=[0.3,0.7]", "run.repeats=2")
    asked = spec.load(
        "max_load_memcached", profile="quick", overrides=("aa=false", *sets), varied=[f"{key}=1,2"]
    )
    played = run_study(asked, capacity_rps=20_000)
    begun = tuple(
        one
        for one in played.measured
        if one.outcome.point.phase is not Phase.SWEEP or one.outcome.point.setting[key] == 1
    )
    result = analysis.study(replace(played, measured=begun), answers())
    assert result.unanswered.count("sweep") == 2, "both loads with two threads"
    assert result.state.word != "answered"


def test_a_combination_that_failed_is_open_and_one_that_was_skipped_is_not(
    whole: StudyData,
) -> None:
    def lacking(how: str) -> StudyData:
        levels = Setting.of({"services.memcached.params.threads": 9})
        left = LeftOut(state=how, service="memcached", levels=levels, reason="out of memory")
        return replace(whole, left_out=(left,), is_complete=True)

    failed = analysis.study(lacking(ABANDONED), answers())
    assert failed.unanswered == ("sweep",)
    assert failed.state.of == 5
    assert failed.state.word != "answered"
    assert analysis.study(lacking(SKIPPED), answers()).unanswered == ()
