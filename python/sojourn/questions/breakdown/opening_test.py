"""What the first screen says of where the time goes."""

from __future__ import annotations

from dataclasses import replace

from sojourn.questions.breakdown import opening
from sojourn.questions.breakdown.testing_opening import breakdown
from sojourn.report import openings


def test_who_caused_the_tail_is_reported_after_its_stage() -> None:
    first, second, who = openings.of(breakdown()).sentences
    assert "98 % of the 611 µs of memcached's slowest requests is EPoll (queuing delay)" in first
    assert "nginx" in second
    assert who == "The slowest were made slow by run-queue delay behind `xz` (60 %, nginx)."


def test_a_request_beside_a_task_that_spins_is_not_alone() -> None:
    """The unloaded point failed: the next one has a neighbour."""
    (service, one), *_ = opening._of(breakdown())
    (unloaded, *rest) = one.columns
    spun = replace(unloaded, name="context switch", neighbour="spin")
    said, *_ = opening.sentences([(service, replace(one, columns=(unloaded, spun, *rest)))])
    assert "a request alone takes" in said
    said, *_ = opening.sentences([(service, replace(one, columns=(spun, *rest)))])
    assert "a request alone takes" not in said


def test_a_cause_that_was_not_shown_may_be_there() -> None:
    (service, one) = opening._of(breakdown())[-1]
    columns = tuple(
        replace(
            column,
            culprits=column.culprits
            and replace(
                column.culprits,
                suspects=tuple(replace(s, is_named=False) for s in column.culprits.suspects),
            ),
        )
        for column in one.columns
    )
    *_, said = opening.sentences([(service, replace(one, columns=columns))])
    assert said == "No single cause was shown to make the slowest requests slow."
