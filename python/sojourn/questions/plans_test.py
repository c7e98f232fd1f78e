"""The table of questions: complete, without clashes, and what a study is held against."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import spec
from sojourn.errors import SpecFault
from sojourn.plan import next_point
from sojourn.plan.points import Phase
from sojourn.questions import PLANS
from sojourn.spec import Study


def loaded(measure: str, *sets: str) -> Study:
    sets = (f"services.memcached.measure={measure}", *sets)
    return spec.load("max_load_memcached", profile="quick", overrides=sets, asks=PLANS.mistakes)


def test_no_two_questions_share_a_phase_and_none_has_that_of_the_axis() -> None:
    names = [kind.name for kind in PLANS.phases]
    assert len(set(names)) == len(names)
    for question in PLANS.values():
        for kind in question.phases:
            assert PLANS.of_phase(kind.name) is question
            assert kind.about
    assert PLANS.of_phase(Phase.PEAK) is None


@pytest.mark.parametrize(
    ("measure", "sets", "what", "fix"),
    [
        ('["swep"]', (), "no question 'swep'", "did you mean sweep"),
        ('["zzzz"]', (), "no question 'zzzz'", "known: sweep, max_load"),
        ('["check"]', (), "[services.check]", "add [services.check]"),
        ('["sweep", "check"]', ("services.memcached.check.system=M/M/1",), "alone", '["check"]'),
    ],
)
def test_a_question_that_cannot_be_asked_is_named_with_its_fix(
    measure: str, sets: tuple[str, ...], what: str, fix: str
) -> None:
    with pytest.raises(SpecFault) as caught:
        loaded(measure, *sets)
    assert what in caught.value.what
    assert fix in caught.value.fix
    assert caught.value.at == f"--set services.memcached.measure={measure}"


def test_the_line_of_a_wrong_name_is_told_and_that_of_a_table_that_lacks(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    head = 'schema = "sojourn.study/1"\nname = "mine"\nquestion = "How fast?"\n'
    path.write_text(f'{head}[[services]]\nkind = "memcached"\nmeasure = ["sweep", "maxload"]\n')
    with pytest.raises(SpecFault, match="no question 'maxload'") as caught:
        spec.load(path, asks=PLANS.mistakes)
    assert "mine.toml:6  services[0].measure" in caught.value.at
    assert "max_load" in caught.value.fix
    path.write_text(f'{head}[[services]]\nkind = "memcached"\n')  # the default asks for max_load
    with pytest.raises(SpecFault, match=r"needs a \[services.qos\] table") as caught:
        spec.load(path, asks=PLANS.mistakes)
    assert "mine.toml:4" in caught.value.at


def test_nothing_is_planned_for_a_question_that_no_one_knows() -> None:
    of = loaded('["sweep"]')
    wrong = type(of.services[0]).model_validate(
        {**of.services[0].model_dump(), "measure": ["swep"]}
    )
    with pytest.raises(SpecFault, match="no question 'swep'"):
        next_point(of.model_copy(update={"services": (wrong,)}), [], PLANS)


def test_a_question_without_an_axis_has_none_measured() -> None:
    of = spec.load("selfcheck", profile="quick", asks=PLANS.mistakes)
    first = next_point(of, [], PLANS)
    assert first
    assert first.phase is Phase.CHECK
