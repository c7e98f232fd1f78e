"""A study about classes is answered as far as these are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from sojourn.analysis import state
from sojourn.findings.findings import Findings
from sojourn.findings.state import ANSWERED, IN_PART, Settle, State
from sojourn.models.classify import classify, planted
from sojourn.models.classify.answer import Class
from sojourn.models.classify.section import NAME, Classes
from sojourn.plan.points import Verdict

SETTLE = Settle(command="sojourn run service_classes -p standard", seconds=60.0, why="it does")


def state_of(known: Sequence[Class]) -> State:
    """Of findings that have them; the numbers of the services would be decided."""
    findings = Findings(
        study="classes",
        question="?",
        answer="",
        verdict=Verdict.HOLDS,
        reasons=(),
        started="",
        wall_s=1.0,
        services=(),
        state=State(done=1, of=2, unit="services", settle=SETTLE),
    )
    return state.of(findings.having(NAME, Classes(of=tuple(known))), {})


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
    result = state_of(known)
    assert result.text == f"{IN_PART} ({decided} of 6 answers)"
    assert result.settle == SETTLE


def test_where_all_is_decided_nothing_settles_the_rest(known: list[Class]) -> None:
    yes = replace(known[0].scalable, word="yes")
    whole = [replace(one, scalable=yes, smt=yes, critical=yes) for one in known]
    result = state_of(whole)
    assert (result.word, result.settle) == (ANSWERED, None)
