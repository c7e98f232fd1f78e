"""A study is played through once, and again where anything of it differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import plan, spec
from sojourn.cli import rehearsed
from sojourn.plan import Rehearsal, difference, rehearse
from sojourn.questions import PLANS
from sojourn.store import answers

VARIED = ["services.memcached.params.threads=1,2"]


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def play(study: spec.Study, questions: plan.Questions) -> Rehearsal:
        names.append(study.name)
        return rehearse(study, questions)

    monkeypatch.setattr(plan, "rehearse", play)
    return names


@pytest.mark.parametrize(
    "name", ["latency_vs_load", "selfcheck", "qos_matrix", "max_load_memcached"]
)
def test_it_is_as_it_was_played(name: str, played: list[str]) -> None:
    study = spec.load(name, profile="quick")
    ahead = rehearse(study, PLANS)
    for _ in range(2):
        again = rehearsed.rehearsed(spec.load(name, profile="quick"))
        assert again == ahead
        assert repr(again) == repr(ahead)
        assert [point.life for point in again.points] == [point.life for point in ahead.points]
    assert len(played) == 1


def test_what_the_time_shows_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    study = spec.load("latency_vs_load", profile="quick", varied=VARIED)
    ahead = rehearsed.rehearsed(study)
    shown = difference.shown(study, ahead, PLANS, 0.3)
    assert shown
    assert [*rehearsed.shown(study, ahead, 0.3)] == [*shown]
    assert [*rehearsed.shown(study, ahead, 0.4)] == [*difference.shown(study, ahead, PLANS, 0.4)]
    monkeypatch.delattr(difference, "shown")
    assert [*rehearsed.shown(study, ahead, 0.3)] == [*shown]


def test_whatever_differs_is_another_study(
    played: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = spec.load("latency_vs_load", profile="quick", varied=VARIED)
    rehearsed.rehearsed(study)
    label = study.services[0].label
    less = study.without([(label, study.combinations(label)[0])])
    others = [
        less,
        spec.load("latency_vs_load", profile="quick", varied=VARIED, overrides=["seed=7"]),
        spec.load("latency_vs_load", profile="standard", varied=VARIED),
        spec.load("latency_vs_load", profile="quick"),
    ]
    for number, other in enumerate(others, start=2):
        assert rehearsed.rehearsed(other) == rehearse(other, PLANS)
        assert len(played) == number
    monkeypatch.setattr(answers, "code", lambda: "of tomorrow")
    rehearsed.rehearsed(study)
    assert len(played) == len(others) + 2


def test_what_does_not_come_back_equal_is_not_stored(
    played: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = spec.load("selfcheck", profile="quick")
    monkeypatch.setattr(rehearsed, "_read", lambda _: None)
    for _ in range(2):
        rehearsed.rehearsed(study)
    assert len(played) == 2
