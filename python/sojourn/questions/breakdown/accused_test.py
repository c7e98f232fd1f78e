"""Who is named as the cause of the tail rests on runs and loads that are valid, or in doubt."""

from __future__ import annotations

from dataclasses import replace

from sojourn.findings.measured import Measured
from sojourn.plan import Verdict
from sojourn.questions.breakdown import opening, show, stages
from sojourn.questions.breakdown.findings import Breakdown, Stages
from sojourn.questions.breakdown.stages_test import column, run, trace
from sojourn.questions.breakdown.testing import SENTENCE, XZ, blamed
from sojourn.report import testing
from sojourn.samples.traced import TraceResult

BLIND = trace(1_000, 9.0, verdict={"verdict": "unknown", "reasons": ["blind: 1 %"]})
DOUBT = "; this is in doubt, see the reasons."


def of_block(block: int, seen: TraceResult) -> Measured:
    one = run(seen)
    point = replace(one.outcome.point, repeat=block)
    return replace(one, outcome=replace(one.outcome, point=point))


def test_one_block_of_three_that_may_be_used_names_no_one() -> None:
    result = column(of_block(0, BLIND), of_block(1, BLIND), of_block(2, blamed())).culprits
    assert result is not None
    assert [one.is_named for one in result.suspects] == [False]
    assert "in more than half of 3 runs (1 could be asked)" in result.answer
    two = column(of_block(0, BLIND), of_block(1, blamed()), of_block(2, blamed())).culprits
    assert two is not None
    assert [one.is_named for one in two.suspects] == [True]


def test_another_attempt_in_a_block_is_no_block_more() -> None:
    result = column(of_block(0, BLIND), of_block(0, blamed())).culprits
    assert result is not None
    assert result.answer == SENTENCE


def loads() -> tuple[Stages, Stages, Stages]:
    """A valid load, one with unknown culprits, and one in doubt."""
    usual = column(run(blamed()))
    assert usual.culprits is not None
    none = replace(usual.culprits, verdict=Verdict.UNKNOWN, suspects=(), answer="p99: too few")
    return (
        replace(usual, name="10 % load"),
        replace(usual, name="50 % load", culprits=none),
        replace(usual, name="90 % load", verdict=Verdict.UNKNOWN, reasons=("late",)),
    )


def answer(*columns: Stages) -> tuple[str, str]:
    top = stages._top(columns)
    accused = stages._accused(columns, top)
    assert accused is not None
    return accused.name, stages._answer("s", columns, top, accused)


def test_culprits_of_a_load_that_is_in_doubt_are_reported_as_that() -> None:
    _, unknown, doubted = loads()
    name, text = answer(unknown, doubted)
    assert name == "90 % load"
    assert text.startswith("At 50 % load")
    assert text.endswith(f" At 90 % load {SENTENCE}{DOUBT}")
    _, alone = answer(doubted)  # its first sentence says so already
    assert alone.endswith(f"{DOUBT} {SENTENCE}.")


def test_culprits_of_a_load_that_is_valid_go_before_those_of_one_that_is_not() -> None:
    name, text = answer(*loads())
    assert name == "10 % load"
    assert text.endswith(f" At 10 % load {SENTENCE}.")


def test_first_screen_and_list_report_the_doubt_too() -> None:
    _, unknown, doubted = loads()
    found = Breakdown(columns=(unknown, doubted), top="50 % load", accused="90 % load")
    service = testing.memcached()
    *_, who = opening.sentences([(service, found)])
    assert who == f"The slowest were made slow by {XZ} (71 %, {service.service}, in doubt)."
    assert f"90 % load ?, {SENTENCE}" in " ".join("\n".join(show.lines(found, 300)).split())
    alone = replace(found, columns=(doubted,), top="90 % load")
    first, _ = opening.sentences([(service, alone)])
    assert first.endswith(", in doubt.")


def test_culprits_that_are_not_known_are_not_called_none() -> None:
    _, unknown, _ = loads()
    found = Breakdown(columns=(unknown,), top="50 % load", accused="50 % load")
    *_, who = opening.sentences([(testing.memcached(), found)])
    assert who == "Who made the slowest requests slow is unknown."
