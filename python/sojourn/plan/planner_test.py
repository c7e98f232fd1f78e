"""A planner says what the pure plan says, and looks at what is new only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn import spec
from sojourn.plan import Outcome, Planner, design, next_point
from sojourn.plan import next as plan_next
from sojourn.plan.questions import Questions
from sojourn.plan.rehearsal import imagine
from sojourn.plan.setting import Setting
from sojourn.plan.simulated import Simulated, play
from sojourn.spec import ServiceSpec, Study
from sojourn.testing_questions import PLANS

THREADS = "services.memcached.params.threads"
ONLY = 'services.memcached.measure=["sweep"]'


def campaign(*vary: str, sets: Sequence[str] = (), name: str = "latency_vs_load") -> Study:
    small = ("run.repeats=2", "run.search.budget_s=20", *sets)
    return spec.load(name, profile="quick", overrides=small, varied=["load=0.3,0.9", *vary])


CAMPAIGNS = (
    campaign(),
    campaign(f"{THREADS}=1,2", "trace=true,false"),
    campaign("neighbour=none,spin", sets=("aa=false",)),
    campaign(f"{THREADS}=1,2", "neighbour=none,spin", name="max_load_memcached"),
)


@given(
    asked=st.sampled_from(CAMPAIGNS),
    seed=st.integers(1, 1_000),
    doubted=st.sampled_from([0.0, 0.3]),
    begin=st.integers(0, 30),
)
@settings(max_examples=8, deadline=None)
def test_a_planner_says_what_the_pure_plan_says(
    asked: Study, seed: int, doubted: float, begin: int
) -> None:
    served = Simulated(seed=seed, unknown_share=doubted, restart_sd=0.02)
    played = play(asked, served.measure, PLANS, stop_after=begin)  # a study that goes on
    planner = Planner(asked, PLANS)
    while (point := planner.next(played)) and len(played) < begin + 15:
        assert point == next_point(asked, played, PLANS)
        played.append(served.measure(point))
    assert point == next_point(asked, played, PLANS)


def test_other_outcomes_than_before_are_noticed() -> None:
    asked = campaign(f"{THREADS}=1,2")
    played = play(asked, imagine, PLANS, stop_after=12)
    for other in (played[:5], [*played[:3], *played[4:]], [imagine(o.point) for o in played]):
        planner = Planner(asked, PLANS)
        assert planner.next(played) == next_point(asked, played, PLANS)
        assert planner.next(other) == next_point(asked, other, PLANS)
        assert planner.next(played) == next_point(asked, played, PLANS)


def test_a_planner_that_remembered_wrongly_would_be_seen() -> None:
    """The comparison above can fail: a candidate that is kept too long is another point."""
    asked = campaign(f"{THREADS}=1,2")
    played = play(asked, imagine, PLANS, stop_after=12)
    planner = Planner(asked, PLANS)
    planner.next(played)
    for name, known in planner._known.items():
        planner._known[name] = replace(known, count=known.count + 1)
    added = [*played, imagine(next_point(asked, played, PLANS))]  # type: ignore[arg-type]
    assert planner.next(added) != next_point(asked, added, PLANS)


@pytest.mark.parametrize("combinations", [2, 4])
def test_a_point_costs_the_plan_of_one_combination_and_the_sorting_of_one_outcome(
    combinations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[int] = []
    sorted_: list[Outcome] = []
    progress, without = plan_next.progress, design.without

    def counted(
        study: Study, service: ServiceSpec, outcomes: Sequence[Outcome], questions: Questions
    ) -> object:
        planned.append(len(outcomes))
        return progress(study, service, outcomes, questions)

    def seen(outcome: Outcome, levels: Setting) -> Outcome:
        sorted_.append(outcome)
        return without(outcome, levels)

    levels = ",".join(map(str, range(1, combinations + 1)))
    asked = campaign(
        f"{THREADS}={levels}", sets=("run.repeats=20", ONLY), name="max_load_memcached"
    )
    monkeypatch.setattr(plan_next, "progress", counted)
    monkeypatch.setattr("sojourn.plan.design.without", seen)
    planner = Planner(asked, PLANS)
    played: list[Outcome] = []
    point = planner.next(played)
    assert len(planned) == combinations
    for _ in range(30):
        assert point is not None
        planned.clear()
        sorted_.clear()
        played.append(imagine(point))
        point = planner.next(played)
        assert len(planned) == len(sorted_) == 1
        assert planned[0] <= len(played) // combinations + 4
