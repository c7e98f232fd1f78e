"""What `blame` plans: states of a block, their order, and enough blocks to decide."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from sojourn import spec, units
from sojourn.errors import SpecFault
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import play
from sojourn.questions import PLANS
from sojourn.questions.blame import asks, plan
from sojourn.questions.blame.plan import LOOK, PHASE
from sojourn.spec import Study

KEY = "services.memcached.blame"


def study(*sets: str, profile: str = "quick") -> Study:
    return spec.load("blame", profile=profile, overrides=sets, asks=PLANS.mistakes)


def test_every_block_has_every_state_once_in_an_order_of_its_own() -> None:
    for count in range(6):
        wanted = Counter(plan.states(count))
        assert set(wanted.values()) == {1}
        drawn = list(plan.order(count, 20, seed=4))
        blocks = [[s for b, s in drawn if b == n] for n in range(20)]
        assert all(Counter(block) == wanted for block in blocks)
        if count > 1:
            assert any(a != b for a, b in pairwise(blocks))
    assert list(plan.order(2, 3, 1)) == list(plan.order(2, 9, 1))[:12]  # a shorter load: a part


def test_the_least_p_value_survives_the_correction() -> None:
    of = study()
    asked = asks.of(of.services[0])
    assert asked is not None
    for count in range(1, 12):
        least = 2 * 0.5 ** (plan.blocks(of, asked, count) * of.run.repeats)
        assert least * plan.contrasts(count) <= plan.ALPHA / plan.SURER


def test_each_combination_is_looked_at_once_and_then_put_to_the_test() -> None:
    of = study("run.repeats=2")
    phases = Counter(
        (o.point.phase, o.point.setting["neighbour"]) for o in play(of, imagine, PLANS)
    )
    levels = [levels["neighbour"] for levels in of.combinations("memcached")]
    assert phases == {
        (phase, level): 2 if phase is PHASE else 1 for phase in (LOOK, PHASE) for level in levels
    }
    without = play(study(f"{KEY}.trace=false"), imagine, PLANS)
    assert {o.point.phase for o in without} == {PHASE}


def test_the_experiment_is_as_long_as_its_windows() -> None:
    for blocks in (8, 16):
        of = study(f"{KEY}.blocks={blocks}", f"{KEY}.window=1s")
        of = of.model_copy(update={"factors": {}, "neighbour": "spin"})
        (test,) = [o.point for o in play(of, imagine, PLANS) if o.point.phase is PHASE]
        assert test.measure_s == pytest.approx(
            plan.SPARE * blocks * 4 + plan.BEFORE_S
        )  # two suspects


@pytest.mark.parametrize(
    ("sets", "text"),
    [
        ([f"{KEY}.suspects=name:xz"], "add consent = true"),
        ([f"{KEY}.suspects=xz", f"{KEY}.consent=true"], "names no process"),
        ([f"{KEY}.neighbours=noise:lcc"], "did you mean llc"),
        ([f"{KEY}.neighbours=nosie:cpu"], "there is no neighbour 'nosie'"),
        ([f'{KEY}.neighbours=["spin","spin"]'], "named twice"),
        ([f"{KEY}.window=100ms"], "shorter than bursts"),
        ([f"{KEY}.settle=400ms"], "less than half"),
        ([f"{KEY}.rate=0"], "not an offered load"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_the_run(sets: list[str], text: str) -> None:
    with pytest.raises(SpecFault) as result:
        study(*sets)
    assert text in f"{result.value.what} {result.value.fix}"


@pytest.mark.parametrize("rate", [1_234_567, 123_456.7, 250, 0.5])
def test_a_rate_that_is_a_number_is_the_one_that_is_offered(rate: float) -> None:
    assert units.parse_count(asks.Blame(rate=rate).rate) == rate  # type: ignore[arg-type]


def test_a_window_without_a_tail_is_reported_before_the_run() -> None:
    of = study(f"{KEY}.rate=100")
    points = [o.point for o in play(of, imagine, PLANS)]
    (text,) = plan.KIND.shortfalls(of, of.services[0], points)
    assert "--set services.memcached.blame.window=" in text
