"""What a plan can show, against simulated blocks: a second way to the same number."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sojourn import spec
from sojourn.plan import difference, rehearse
from sojourn.plan.points import Outcome, Point, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import play, study
from sojourn.spec import Study
from sojourn.spec.studies import STUDIES
from sojourn.testing_questions import PLANS

SCATTER = 0.3
Floats = NDArray[np.float64]


def simulated(rng: np.random.Generator, blocks: int, pairs: int, effect: float) -> Floats:
    """Log ratios of blocks: each run scatters by itself, and all of a block share its hour."""
    hour = rng.normal(0, 1.0, (blocks, 1, 1))
    runs: Floats = hour + rng.normal(0, SCATTER, (blocks, pairs, 2))
    runs[:, :, 1] += effect
    return np.asarray((runs[:, :, 1] - runs[:, :, 0]).mean(axis=1))


@pytest.mark.parametrize(("blocks", "pairs"), [(3, 1), (6, 1), (20, 1), (4, 4)])
def test_half_of_the_interval_is_what_simulated_blocks_come_to(blocks: int, pairs: int) -> None:
    """Student's interval of simulated log ratios: E(s²) makes its mean square half width ours."""
    rng = np.random.default_rng(blocks)
    t = difference.half(1.0, blocks) / math.sqrt(2 / blocks)
    each = [simulated(rng, blocks, pairs, 0.0).std(ddof=1) for _ in range(4000)]
    result = t * math.sqrt(float(np.mean(np.square(each))) / blocks)
    assert difference.half(SCATTER, blocks, pairs) == pytest.approx(result, rel=0.04)


@pytest.mark.parametrize(("blocks", "pairs"), [(6, 1), (4, 4)])
def test_a_difference_of_that_size_is_distinguished_from_none_about_every_second_time(
    blocks: int, pairs: int
) -> None:
    """That is what "can show" means; none at all is told in one of twenty, by chance."""
    rng = np.random.default_rng(7)
    t = difference.half(1.0, blocks) / math.sqrt(2 / blocks)

    def share(effect: float) -> float:
        hits = 0
        for _ in range(3000):
            logs = simulated(rng, blocks, pairs, effect)
            hits += abs(logs.mean()) > t * logs.std(ddof=1) / math.sqrt(blocks)
        return hits / 3000

    assert 0.4 < share(difference.half(SCATTER, blocks, pairs)) < 0.7
    assert 0.03 < share(0.0) < 0.07


def test_one_block_shows_nothing_and_two_next_to_nothing() -> None:
    assert math.isinf(difference.half(0.27, 1))
    assert difference.half(0.27, 2) > 3


@pytest.mark.parametrize("ratio", [1.05, 1.2, 2.0, 10.0])
def test_so_many_blocks_are_enough_and_one_less_is_not(ratio: float) -> None:
    blocks = difference.blocks_for(ratio, 0.27)
    assert difference.half(0.27, blocks) <= math.log(ratio)
    assert blocks == 2 or difference.half(0.27, blocks - 1) > math.log(ratio)


FACTOR = ('services.memcached.measure=["sweep"]', "run.fractions=[0.7]", "run.repeats=3")


def varied(*sets: str) -> Study:
    of = study(*FACTOR, *sets, profile="quick")
    return of.model_copy(update={"factors": {"services.memcached.params.threads": (1, 2)}})


def test_a_plan_says_what_it_shows_and_what_a_fifth_would_take() -> None:
    of = varied()
    (result,) = difference.shown(of, rehearse(of, PLANS), PLANS)
    assert (result.blocks, result.pairs) == (3, 1)
    assert result.ratio == pytest.approx(math.exp(difference.half(difference.SPREAD, 3)))
    assert result.text.startswith("memcached: 3 blocks in ")
    assert "show a factor of 2.6; ± 20 % takes " in result.text
    more = varied(f"run.repeats={result.wanted_blocks}")
    assert rehearse(more, PLANS).wall_s == pytest.approx(result.wanted_s, rel=0.02)
    (enough,) = difference.shown(more, rehearse(more, PLANS), PLANS)
    assert enough.ratio <= 1.2


def test_more_blocks_are_more_of_every_service_that_is_swept() -> None:
    """`run.repeats` is one number of the study: a second service takes as many times as long."""

    def two(*sets: str) -> Study:
        of = varied(*sets)
        other = of.services[0].model_copy(update={"label": "other"})
        return of.model_copy(update={"services": (*of.services, other)})

    of = two()
    result = difference.shown(of, rehearse(of, PLANS), PLANS)[0]
    more = two(f"run.repeats={result.wanted_blocks}")
    assert rehearse(more, PLANS).wall_s == pytest.approx(result.wanted_s, rel=0.02)


def test_one_block_shows_none_and_the_text_says_so() -> None:
    of = varied("run.repeats=1")
    (result,) = difference.shown(of, rehearse(of, PLANS), PLANS)
    assert "1 block in " in result.text
    assert "show no difference between levels" in result.text


def test_a_study_without_factors_compares_nothing() -> None:
    of = study(*FACTOR, profile="quick")
    assert difference.shown(of, rehearse(of, PLANS), PLANS) == ()


def test_the_scatter_of_a_record_is_what_its_runs_have_beyond_cell_and_block() -> None:
    of = varied("run.repeats=40", "run.retries=0")
    rng = np.random.default_rng(3)
    hours = rng.normal(0, 2.0, 40)

    def noisy(point: Point) -> Outcome:
        away = math.exp(hours[point.repeat] + rng.normal(0, SCATTER))
        return replace(imagine(point), p99_ns=1e5 * away)

    played = play(of, noisy, PLANS)
    assert difference.spread_of(of, played) == pytest.approx(SCATTER, rel=0.2)
    doubted = [replace(outcome, verdict=Verdict.UNKNOWN) for outcome in played]
    assert difference.spread_of(of, doubted) is None


OF_LOADS = {"beside", "colocation"}  # they decide by loads, and not by effects of blocks
FACTORED = sorted(
    path.stem
    for path in STUDIES.glob("*.toml")
    if "[profiles.quick]" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", FACTORED)
def test_quick_shows_more_with_its_blocks_than_without_in_about_the_same_time(
    name: str, tmp_path: Path
) -> None:
    """Against the same study without what it sets in quick alone."""
    text = (STUDIES / f"{name}.toml").read_text(encoding="utf-8")
    path = tmp_path / f"{name}.toml"
    for of_quick in (
        r"\[profiles.quick\].*\n(.+\n)+",
        r"\[\[design.skip\]\]\n(.+\n)+?profile = .+\n",
    ):
        text = re.sub(of_quick, "", text)
    path.write_text(text, encoding="utf-8")
    before, after = (spec.load(of, profile="quick") for of in (path, name))
    assert before != after
    ahead, now = rehearse(before, PLANS), rehearse(after, PLANS)
    assert now.wall_s <= 1.35 * ahead.wall_s
    measures = {question for service in after.services for question in service.measure}
    shown = (difference.shown(a, b, PLANS) for a, b in ((before, ahead), (after, now)))
    both = zip(*shown, strict=True)
    for one, other in both:
        assert other.ratio < one.ratio
        if not measures & OF_LOADS:
            assert other.ratio**2 <= 3, "its interval spans more than a factor of three"
