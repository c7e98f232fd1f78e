"""Max RPS of services in turn: a closed loop of its own in every block."""

from __future__ import annotations

import random

import pytest

from sojourn.plan.points import Outcome, Point, Verdict
from sojourn.plan.simulated import play
from sojourn.questions import PLANS
from sojourn.questions.compare import block_runs
from sojourn.questions.compare.compare_test import asked, found, noise, outcome, section


@pytest.mark.parametrize("numbers", [("max_rps",), ("cpu", "max_rps")])
@pytest.mark.parametrize(("slower", "verdict"), [(1.0, Verdict.HOLDS), (1.3, Verdict.VIOLATED)])
def test_max_rps_has_a_closed_loop_of_its_own_in_every_block(
    numbers: tuple[str, ...], slower: float, verdict: Verdict
) -> None:
    study = asked(gate=True, numbers=numbers)
    lot = random.Random(4)  # noqa: S311 - no secret

    def run(point: Point) -> Outcome:
        factor = noise(lot) * (slower if point.service == "b" else 1)
        rps = {} if point.offered_rps else {"achieved_rps": 50_000 / factor}
        return outcome(point, 1.0, **rps)

    done = play(study, run, PLANS)
    full = [one.point for one in done if one.point.phase is block_runs.FULL]
    assert {point.offered_rps for point in full} == {None}
    assert {point.overrides for point in full} == {(("find_max", True),)}
    assert len(done) == len(numbers) * len(full)
    compared = section(found(study, done))
    assert compared.verdict is verdict
    row = compared.rows[-1]
    assert (row.number, row.first_ns, row.other_ns) == ("max RPS", None, None)
    assert row.first_rps == pytest.approx(50_000, rel=0.03)
    assert row.other_rps == pytest.approx(50_000 / slower, rel=0.03)
    assert row.ratio == pytest.approx(1 / slower, rel=0.03)
    assert row.interval is not None
    assert row.ratio is not None
    assert row.interval.lo < row.ratio < row.interval.hi
    assert (compared.offered_rps > 0) == (len(numbers) > 1)


def test_a_block_without_its_closed_loop_does_not_count() -> None:
    study = asked(numbers=("cpu", "max_rps"), blocks=9)
    lot = random.Random(5)  # noqa: S311 - no secret

    def run(point: Point) -> Outcome:
        is_bad = point.phase is block_runs.FULL and point.repeat == 2
        verdict = Verdict.UNKNOWN if is_bad else Verdict.HOLDS
        return outcome(point, noise(lot, 0.3), verdict=verdict)

    done = play(study, run, PLANS)
    assert len(block_runs.blocks_of(study, done)) == 8
    assert section(found(study, done)).rows[0].pairs == 8
