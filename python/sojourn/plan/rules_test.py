"""What a point says of itself to whoever runs and reads it, and what follows where it is silent."""

from __future__ import annotations

import json

import pytest

from sojourn.plan import codec
from sojourn.plan.points import UNSTATED, Phase, Point, Rules
from sojourn.plan.question import OfAll, PhaseKind, Question
from sojourn.plan.questions import Questions

POINT = Point(
    key="s/mine/b0",
    service="s",
    phase=Phase("mine"),
    offered_rps=1.0,
    measure_s=1.0,
    warmup_s=0.0,
    seed=1,
)


class OwnRules(Question):
    name = "mine"
    about = "a question of this test"
    phases = (PhaseKind(name=Phase("mine"), about="it", is_bare=True, keeps="mine"),)

    def next_point(self, *_: object, **__: object) -> Point | None:
        return None


class Ours(OfAll):
    name = "ours"
    about = "one about several services"
    phases = (PhaseKind(name=Phase("ours"), about="them"),)


ASKED = Questions(OwnRules(), Ours())


@pytest.mark.parametrize(
    "rules",
    [
        UNSTATED,
        Rules(),
        Rules(is_bare=True, keeps="mine", neighbours=("spin", "noise:cpu")),
        Rules(neighbours=()),
    ],
)
def test_rules_are_read_as_they_were_written(rules: Rules) -> None:
    text = json.dumps(codec.rules_json(rules))
    assert codec.rules_of(json.loads(text)) == rules


def test_a_point_keeps_its_rules_and_one_of_before_has_none() -> None:
    point = ASKED.stated(POINT)
    table = json.loads(codec.dumps(point))
    assert codec.from_json(table) == point
    assert table["rules"] == {"is_stated": True, "is_bare": True, "keeps": "mine"}
    del table["rules"]
    assert codec.from_json(table) == POINT
    later = {**table, "rules": {"is_stated": True, "is_of_tomorrow": True}}
    assert codec.from_json(later).rules == Rules()


@pytest.mark.parametrize(
    "damage",
    [{"rules": True}, {"rules": [[]]}, {"beside": [[]]}, {"beside": 1}, {"key": 1, "setting": 0}],
)
def test_a_damaged_point_is_refused_by_its_type(damage: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        codec.from_json({**codec.to_json(POINT), **damage})


def test_a_point_without_rules_gets_those_of_its_phase_once() -> None:
    assert ASKED.stated(POINT).rules == Rules(is_bare=True, keeps="mine")
    own = Rules(is_raw=True)
    assert (
        ASKED.stated(
            codec.from_json({**codec.to_json(POINT), "rules": codec.rules_json(own)})
        ).rules
        == own
    )


def test_phases_of_a_question_about_several_services_say_so() -> None:
    assert ASKED.kind_of(Phase("ours")).rules.is_of_all
    assert not ASKED.kind_of(Phase("mine")).rules.is_of_all


def test_a_phase_that_no_one_asks_for_any_more_has_the_usual_rules() -> None:
    assert ASKED.kind_of(Phase("gone")).rules == Rules()
    assert ASKED.of_phase(Phase("gone")) is None
    assert ASKED.number(Phase("gone")) == -1
    assert [ASKED.number(Phase(name)) for name in ("mine", "ours")] == [0, 1]


def test_without_a_question_that_searches_there_is_no_axis_by_search() -> None:
    assert ASKED.axis_search == ""
    assert len(Questions()) == 0
