import math

import pytest

from sojourn import spec
from sojourn.browse import words
from sojourn.plan import Point, Search, next_point
from sojourn.plan.axis import Axis
from sojourn.plan.question import Known
from sojourn.plan.rehearsal import imagine
from sojourn.questions.sweep import plan as sweep
from sojourn.spec import MaxRps
from sojourn.testing_questions import PLANS


@pytest.mark.parametrize(
    ("ends", "estimate", "text"),
    [
        (None, None, ""),
        ((0.0, math.inf), None, ""),
        ((80e3, 130e3), 1e5, "so far ≈ 100k/s (80.0k–130k)"),
        ((80e3, 130e3), None, "so far 80.0k–130k/s"),
        ((80e3, math.inf), 80e3, "so far at least 80.0k/s"),
        ((0.0, 20e3), 20e3, "so far at most 20.0k/s"),
    ],
)
def test_the_answer_so_far_has_its_interval(
    monkeypatch: pytest.MonkeyPatch,
    ends: tuple[float, float] | None,
    estimate: float | None,
    text: str,
) -> None:
    monkeypatch.setattr(Search, "interval_rps", ends)
    monkeypatch.setattr(Search, "estimate_rps", estimate)
    search = Search(posterior=None, trials=(), at_rps=None, next=None)
    monkeypatch.setattr(words, "progress", lambda *_: Known(found={"max_load": search}))
    study = spec.load("latency_vs_load")
    first = next_point(study, (), PLANS)
    assert first is not None
    assert words.so_far(study, first, ()) == text


def test_loads_that_differ_are_said_to_differ() -> None:
    study = spec.load("latency_vs_load", overrides=["run.fractions=[0.125, 0.9041, 0.9044]"])
    axis = Axis(rps=1e5, lo_rps=1, hi_rps=2, rule=MaxRps.ACHIEVED_PEAK, runs=1, is_valid=True)
    made: list[Point] = []
    while len(made) < 3:
        outcomes = [imagine(point) for point in made]
        point = sweep.next_run(study, study.services[0], outcomes, axis, None, is_late=False)
        assert point is not None
        made.append(point)
    assert sorted(words.point_words(point) for point in made) == [
        "memcached sweep 12.5 % 12.5k/s",
        "memcached sweep 90.41 % 90.4k/s",
        "memcached sweep 90.44 % 90.4k/s",
    ]


def test_a_point_is_called_by_its_levels_too() -> None:
    study = spec.load("latency_vs_load", varied=["services.memcached.params.threads=1,2"])
    first = next_point(study, (), PLANS)
    assert first is not None
    threads = first.setting["services.memcached.params.threads"]
    assert words.point_words(first) == f"memcached peak closed loop  threads={threads}"
    assert words.served(study, first) == f"memcached, threads = {threads}"
