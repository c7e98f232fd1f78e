"""The command that would settle the rest, and whether it would."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sojourn import spec
from sojourn.analysis import counted, more, state
from sojourn.analysis.effect_sentences import NO_LOAD_SOME
from sojourn.findings.effects import Effect
from sojourn.findings.highest_load import MaxLoad
from sojourn.findings.measured import Measured, StudyData
from sojourn.findings.state import Settle
from sojourn.plan import difference
from sojourn.plan.left_out import ABANDONED, LeftOut
from sojourn.plan.points import Phase
from sojourn.plan.rehearsal import imagine
from sojourn.plan.setting import Setting
from sojourn.plan.simulated import play
from sojourn.questions import PLANS, answers
from sojourn.questions.scheduler_bakeoff.judge import Bakeoff, Candidate
from sojourn.questions.state_test import WHAT, effect, factor, study
from sojourn.questions.testing_state import every
from sojourn.stats import log_ratio_contrasts
from sojourn.stats.interval import Interval


def study_data(name: str = "key_size", command: str = "") -> StudyData:
    of = spec.load(name, profile="quick")
    return StudyData(
        study=of,
        measured=tuple(Measured(outcome=o) for o in play(of, imagine, PLANS)),
        command=command,
        questions=PLANS,
    )


def without_end(reason: str) -> Effect:
    """An effect of three blocks that has no ratio, for this reason."""
    return replace(effect(0.1, 10), ratio=None, interval=None, blocks=3, reason=reason)


@pytest.mark.parametrize("blocks", [3, 6])
def test_so_many_blocks_do_settle_it(blocks: int) -> None:
    """Blocks of the same scatter, as many as are asked for, give a narrow interval mostly."""
    rng, scatter, hits, asked = np.random.default_rng(blocks), 0.9, 0, []
    for _ in range(300):
        _, ends = log_ratio_contrasts.ratio(list(rng.normal(0.7, scatter, blocks)))
        assert ends is not None
        wanted = more.blocks_wanted(replace(effect(ends.lo, ends.hi), blocks=blocks))
        asked.append(wanted)
        _, then = log_ratio_contrasts.ratio(list(rng.normal(0.7, scatter, wanted)))
        hits += counted.is_narrow(then)
    assert hits / 300 > 0.5
    known = difference.blocks_for(math.sqrt(3.0), scatter / math.sqrt(2))
    assert known / 1.5 < np.median(asked) < known * 2


def test_effects_ask_for_blocks_peaks_or_a_longer_search_each_by_what_it_rests_on() -> None:
    wide = effect(0.1, 10)
    search = replace(effect(0.1, 10, "the highest load within QoS"), is_time=False, blocks=0)
    peak = replace(effect(0.1, 10, "max RPS"), is_time=False)
    asked = more.settle(study_data(), study(factor(wide)), ())
    assert asked is not None
    assert asked.command.startswith("sojourn run key_size --profile quick --set run.repeats=")
    assert asked.why == "bring 1 interval within a factor of 3"
    every_ = more.settle(study_data(), study(factor(wide, search, peak)), ())
    assert every_ is not None
    for key in ("run.repeats", "run.peak_repeats", "run.search.budget_s"):
        assert every_.command.count(f"--set {key}=") == 1


def test_where_every_reply_length_differs_it_asks_for_any_length_and_not_for_more_runs() -> None:
    why = "10% of the replies were not 191 bytes long, as the first ones were; take any"
    data = study_data()
    failed = [replace(one, outcome=replace(one.outcome, reasons=(why,))) for one in data.measured]
    asked = more.settle(replace(data, measured=tuple(failed)), study(), ())
    assert asked is not None
    assert asked.why == "accept replies of any length"
    assert asked.command.endswith(" --set services.memcached.params.expect_bytes=0")
    one_is_right = replace(data, measured=(data.measured[0], *failed[1:]))
    other = more.settle(one_is_right, study(factor(effect(0.1, 10))), ())
    assert other is not None
    assert "expect_bytes" not in other.command


def test_where_every_reply_is_wrong_no_more_runs_are_asked_for() -> None:
    why = "content: 7188 of 7961 replies had an empty body; look at what the server answers"
    data, wide = study_data(), study(factor(effect(0.1, 10)))
    failed = [replace(one, outcome=replace(one.outcome, reasons=(why,))) for one in data.measured]
    assert more.settle(replace(data, measured=tuple(failed)), wide, ()) is None
    one_is_right = replace(data, measured=(data.measured[0], *failed[1:]))
    assert more.settle(one_is_right, wide, ()) is not None


@pytest.mark.parametrize("verb", ["compare --service memcached", "noise --command x", "try x"])
def test_a_command_without_values_is_not_given_any(verb: str) -> None:
    data = study_data(command=f"sojourn {verb}")
    assert more.settle(data, study(factor(effect(0.1, 10))), ()) is None


def test_a_value_of_ones_own_is_put_in_the_place_of_the_one_that_was_typed() -> None:
    typed = study_data(command="sojourn run key_size --set run.repeats=3 --set run.measure_s=2")
    asked = more.settle(typed, study(factor(effect(0.1, 10))), ())
    assert asked is not None
    assert asked.command.count("run.repeats=") == 1
    assert "--set run.measure_s=2" in asked.command


def test_levels_under_unlike_shields_are_asked_for_without_any() -> None:
    unlike = replace(effect(0.1, 10), interval=None, reason="the shield was not the same (a and b)")
    asked = more.settle(study_data(), study(factor(unlike)), ())
    assert asked is not None
    assert asked.command.endswith(" --set run.shield=none")


def test_its_time_is_that_of_the_phases_that_grow() -> None:
    """Twice the blocks take twice the sweep; the load axis takes what it took."""
    known = study_data()
    ahead = known.study.run.repeats
    wide = effect(0.1, 10)
    asked = more.settle(known, study(factor(wide)), ())
    assert asked is not None
    blocks = float(asked.command.rpartition("=")[2])
    outcomes = [m.outcome for m in known.measured]
    swept = sum(o.wall_s for o in outcomes if o.point.phase is Phase.SWEEP)
    rest = sum(o.wall_s for o in outcomes) - swept
    assert asked.seconds == pytest.approx(rest + swept * blocks / ahead)


def test_blocks_that_were_lost_are_asked_for_again() -> None:
    """Of six blocks three were believed: twice as many are planned as are wanted."""
    half = replace(effect(0.3, 3.0), blocks=3)
    asked = more.settle(study_data(), study(factor(half)), ())
    assert asked is not None
    blocks = int(asked.command.rpartition("=")[2])
    assert study_data().study.run.repeats == 6
    assert blocks == max(7, math.ceil(2 * more.blocks_wanted(half)))


@pytest.mark.parametrize("name", sorted(set(answers()) - {"max_load", "blame", "null"}))
def test_every_other_question_asks_for_four_times_as_much_of_a_key_that_there_is(name: str) -> None:
    result = every()[name].found
    who, _ = state.leading(result, answers())
    known = study_data()
    asked = more.settle(known, result, who)
    assert asked is not None
    assert [kind.name for kind in who] == [name]
    assert all(name in PLANS for name in (kind.name for kind in who))
    for text in asked.command.split(" --set ")[1:]:
        key, _, value = text.partition("=")
        run = known.study.run.model_dump()
        assert float(value) == pytest.approx(4 * run[key.removeprefix("run.")])


def test_a_question_with_a_command_of_its_own_gives_that() -> None:
    result = every()["max_load"].found
    most = result.services[1].section(MaxLoad)
    assert most is not None
    own = Settle(command="sojourn run x --set run.search.budget_s=60", seconds=9.0, why="")
    service = replace(result.services[1], sections={"max_load": replace(most, settle=own)})
    result = replace(result, services=(*result.services[:1], service, *result.services[2:]))
    asked = more.settle(study_data(), result, state.leading(result, answers())[0])
    assert asked is not None
    assert (asked.command, asked.why) == (own.command, own.why)


def test_a_search_that_takes_longer_does_so_for_every_service() -> None:
    """Its command is of the study: two services spend the new time each, and all else is anew."""
    data = study_data("max_load_memcached")
    (service,) = data.study.services
    other = service.model_copy(update={"label": "other", "stretch": 3.0})
    both = data.study.model_copy(update={"services": (service, other)})
    played = [one.outcome for one in data.measured]
    again = [
        Measured(outcome=replace(one, point=replace(one.point, service="other"))) for one in played
    ]
    two = replace(data, study=both, measured=(*data.measured, *again))
    outcomes = [one.outcome for one in two.measured]
    rest = sum(o.wall_s for o in outcomes if o.point.phase is not Phase.SEARCH)
    assert rest < sum(o.wall_s for o in outcomes)
    command = "sojourn run x --set run.search.budget_s=5000"
    assert more._searched_s(two, command) == pytest.approx(rest + 5000 + 3 * 5000)
    assert more._searched_s(two, "sojourn run x --set run.repeats=5") == 0


@pytest.mark.parametrize(("name", "study_name"), [("beside", "square_wave"), ("sweep", "key_size")])
def test_the_time_of_a_question_is_that_of_the_phases_that_its_keys_lengthen(
    name: str, study_name: str
) -> None:
    """`beside` has no phase of its own: it judges the sweep, which four times the blocks repeat."""
    data, result = study_data(study_name), every()[name].found
    asked = more.settle(data, result, (answers()[name],))
    assert asked is not None
    outcomes = [one.outcome for one in data.measured]
    swept = sum(o.wall_s for o in outcomes if o.point.phase is Phase.SWEEP)
    assert swept > 0
    whole = sum(o.wall_s for o in outcomes)
    assert asked.seconds == pytest.approx(whole + 3 * swept)


def test_a_bake_off_wants_windows_for_its_properties_and_longer_runs_for_its_pairs() -> None:
    bakeoff = answers()["scheduler_bakeoff"]
    result = every()["scheduler_bakeoff"].found
    section = result.section(Bakeoff)
    assert section is not None
    one = section.candidates[0]
    sure = tuple(replace(own, verdict="yes") for own in one.properties)

    def wants(candidate: Candidate) -> tuple[str, ...]:
        of = replace(section, candidates=(candidate,))
        return bakeoff.wants(result.having("scheduler_bakeoff", of))

    assert wants(replace(one, open=0)) == ("run.repeats",)
    assert wants(replace(one, open=2, properties=sure)) == ("run.measure_s",)
    assert wants(one) == ("run.measure_s", "run.repeats")
    grows = {kind.name: kind.grows_with for kind in PLANS.phases}
    assert grows[Phase("scheduler_bakeoff")] == ("run.repeats",)
    assert grows[Phase("qos_matrix")] == ("run.measure_s",)


def test_where_all_is_decided_but_what_failed_all_of_it_is_measured_anew() -> None:
    left = LeftOut(state=ABANDONED, service="memcached", levels=Setting(), reason="out of memory")
    data = replace(study_data(), left_out=(left,))
    asked = more.settle(data, study(factor(effect(1, 2))), ())
    assert asked is not None
    assert asked.command == "sojourn run key_size --profile quick --new"
    assert asked.why == "measure what has no answer, once it can run"
    open_ = more.settle(data, study(factor(effect(0.1, 10))), ())
    assert open_ is not None
    assert "--set run.repeats=" in open_.command


def test_what_has_no_answer_beside_effects_that_are_known_is_measured_anew() -> None:
    """More blocks of what is known would not answer it."""
    known = replace(study(factor(effect(1, 2))), unanswered=("sweep",))
    asked = more.settle(study_data(), known, ())
    assert asked is not None
    assert asked.command == "sojourn run key_size --profile quick --new"
    speaks = replace(every()["sweep"].found, unanswered=("qos_matrix",))
    first = speaks.services[0]
    sure = replace(first, points=first.points[:1])
    who = (answers()["sweep"],)
    beside = more.settle(study_data(), replace(speaks, services=(sure,)), who)
    assert beside is not None
    assert beside.command.endswith(" --new")


@pytest.mark.parametrize(("infinite", "blocks"), [(1, 9), (2, 12)])
def test_infinite_blocks_ask_for_as_many_as_the_median_needs(infinite: int, blocks: int) -> None:
    one = without_end(f"it is infinite in {infinite} of 3 blocks: requests were lost")
    assert more.blocks_wanted(one) == blocks
    asked = more.settle(study_data(), study(factor(one)), ())
    assert asked is not None
    assert asked.command.endswith(f" --set run.repeats={2 * blocks}"), "three of six were valid"


@pytest.mark.parametrize(
    "reason", ["it is infinite in 3 of 3 blocks: the queue grew", NO_LOAD_SOME], ids=["all", "none"]
)
def test_nothing_is_asked_for_where_more_of_it_cannot_settle_anything(reason: str) -> None:
    one = without_end(reason)
    assert more.settle(study_data(), study(factor(one)), ()) is None
    beside = more.settle(study_data(), study(factor(one, effect(0.1, 10))), ())
    assert beside is not None
    assert beside.why == "bring 1 interval within a factor of 3"
    once = without_end("it is infinite in 1 of 1 blocks: requests were lost")
    assert more.settle(study_data(), study(factor(once)), ()) is not None


def test_every_phase_takes_longer_that_goes_with_a_key() -> None:
    """Traced runs are repeated by block too."""
    data = study_data()
    traced = [
        replace(m, outcome=replace(m.outcome, point=replace(m.outcome.point, phase=Phase.TRACE)))
        for m in data.measured
        if m.outcome.point.phase is Phase.SWEEP
    ]
    whole = sum(m.outcome.wall_s for m in traced)
    both = replace(data, measured=tuple(traced))
    values = {"run.repeats": 2.0 * data.study.run.repeats}
    assert whole > 0
    assert more._seconds(both, values) == pytest.approx(2 * whole)


def test_without_a_point_there_is_nothing_to_settle() -> None:
    bare = replace(study_data(), measured=())
    assert more.settle(bare, study(factor(effect(0.1, 10))), ()) is None


def test_one_block_is_taken_to_scatter_as_equal_runs_do() -> None:
    none = replace(effect(1, 2), interval=None, blocks=1)
    usual = difference.half(difference.SPREAD, more.blocks_wanted(none))
    assert counted.is_narrow(Interval(math.exp(-usual), math.exp(usual)))
    assert none.what == WHAT
