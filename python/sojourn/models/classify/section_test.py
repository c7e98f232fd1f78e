"""A study about classes is answered as far as these are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.findings.state import ANSWERED, IN_PART, Settle
from sojourn.models.classify import classify, planted
from sojourn.models.classify.answer import Class
from sojourn.models.classify.section import state_of

SETTLE = Settle(command="sojourn run service_classes -p standard", seconds=60.0, why="it does")


@pytest.fixture
def known() -> list[Class]:
    """Two services on a machine with cores for one scenario only."""
    rng = np.random.default_rng(20220128)
    return [
        classify(one.name, [planted.scenario(one.service, 1, rng)]) for one in planted.TABLE[:2]
    ]


def test_with_cores_for_one_scenario_the_state_counts_what_is_open(known: list[Class]) -> None:
    decided = sum(answer.is_decided for one in known for answer in one.answers)
    assert not any(one.scalable.is_decided for one in known)
    state = state_of(known, SETTLE)
    assert state.text == f"{IN_PART} ({decided} of 6 answers)"
    assert state.settle == SETTLE


def test_where_all_is_decided_nothing_settles_the_rest(known: list[Class]) -> None:
    yes = replace(known[0].scalable, word="yes")
    whole = [replace(one, scalable=yes, smt=yes, critical=yes) for one in known]
    state = state_of(whole, SETTLE)
    assert (state.word, state.settle) == (ANSWERED, None)
