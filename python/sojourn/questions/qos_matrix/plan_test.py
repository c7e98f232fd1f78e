"""A QoS matrix is found without filling it: against services whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pytest

from sojourn.errors import SpecFault
from sojourn.plan import Outcome, Point, Verdict, next_point, progress, rehearsal
from sojourn.plan.axis import Target
from sojourn.plan.rehearsal import imagine, rehearse
from sojourn.plan.setting import Setting
from sojourn.plan.simulated import play
from sojourn.questions import PLANS
from sojourn.questions.qos_matrix import asks, plan
from sojourn.questions.qos_matrix.plan import PHASE, State, state
from sojourn.questions.together import plan as together
from sojourn.spec import Study, load

TEXT = """
name = "pair"
question = "Which loads of two services fit on one machine?"
[run]
profile = "quick"
repeats = 2
fractions = [0.3]
[[services]]
kind = "memcached"
measure = ["sweep"]
[services.qos]
q = 0.99
bound = "1ms"
[[services]]
kind = "synthetic"
measure = ["sweep"]
[services.qos]
q = 0.99
bound = "10ms"
[qos_matrix]
loads.memcached = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
loads.synthetic = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
"""
GRID = 49
Truth = Callable[[float, float], tuple[bool, bool]]


def sums(a: float, b: float) -> tuple[bool, bool]:
    """Both as long as there is room, one of them a little longer."""
    return a + b < 0.75, a + b < 0.95 and b < 0.65


def below(a: float, b: float) -> tuple[bool, bool]:
    """L19: memcached while its load is below the other's, so beside *more* of it: not monotone."""
    return a < b + 0.05, a + b < 0.95


def read(folder: Path, text: str = TEXT) -> Study:
    path = folder / "pair.toml"
    path.write_text(text)
    return load(path)


class World:
    """Runs of which 0.2 or 5 % of the requests miss, one by one; some tell the opposite."""

    def __init__(
        self, truth: Truth, *, seed: int = 1, misled: float = 0.0, lost: float = 0.0
    ) -> None:
        self.truth, self.misled, self.lost = truth, misled, lost
        self.draw = np.random.default_rng(seed)

    def __call__(self, point: Point) -> Outcome:
        ideal = imagine(point)
        if point.phase is not PHASE:
            return ideal
        shares = together.shares_of(point)
        is_satisfied = self.truth(*shares.values())[list(shares).index(point.service)]
        is_satisfied ^= self.draw.random() < self.misled
        verdict = Verdict.UNKNOWN if self.draw.random() < self.lost else Verdict.HOLDS
        mean = ideal.requests * (0.002 if is_satisfied else 0.05)
        over = max(0, round(self.draw.normal(mean, mean**0.5)))
        return replace(ideal, over_bound=over, clusters=(1,) * over, verdict=verdict)


@cache
def usual(seed: int) -> list[Outcome]:
    """The whole study under `sums`, which takes seconds; not to be changed."""
    with TemporaryDirectory() as folder:
        return play(read(Path(folder)), World(sums, seed=seed), PLANS)


def matrix_state(study: Study, played: list[Outcome]) -> State:
    targets: dict[str, Target] = {}
    for label in asks.of(study).loads:
        target = progress(study, study.service(label), played, PLANS).target
        assert target is not None
        targets[label] = target
    return state(study, Setting(), targets, played)


def truth_of(study: Study, truth: Truth) -> list[npt.NDArray[np.bool_]]:
    rows, columns = asks.of(study).loads.values()
    cells = [[truth(a, b) for b in columns] for a in rows]
    return [np.array([[cell[which] for cell in row] for row in cells]) for which in (0, 1)]


def pairs(played: list[Outcome]) -> list[tuple[tuple[str, float], ...]]:
    points = [o.point for o in played if o.point.phase is PHASE and o.point.service == "memcached"]
    return [tuple(together.shares_of(point).items()) for point in points]


@pytest.mark.parametrize("seed", range(2))
def test_few_measurements_decide_every_cell(tmp_path: Path, seed: int) -> None:
    study, played = read(tmp_path), usual(seed)
    so_far = matrix_state(study, played)
    for label, truth in zip(so_far.labels, truth_of(study, sums), strict=True):
        chance = so_far.chances[label]
        assert ((chance > 0.95) == truth).all()
        assert ((chance < 0.05) == ~truth).all()
    assert len(set(pairs(played))) <= 0.6 * GRID  # two frontiers that differ, and the audit
    assert len(pairs(played)) < GRID
    assert not so_far.against(0.99)


def test_runs_that_mislead_are_asked_again(tmp_path: Path) -> None:
    study = read(tmp_path)
    wrong = 0
    for seed in range(3):
        so_far = matrix_state(
            study, play(study, World(sums, seed=seed, misled=0.03, lost=0.1), PLANS)
        )
        for label, truth in zip(so_far.labels, truth_of(study, sums), strict=True):
            chance = so_far.chances[label]
            wrong += int(((chance > 0.95) & ~truth).sum() + ((chance < 0.05) & truth).sum())
    assert wrong <= 3 * 2 * GRID * 0.05, "each cell is wrong once in twenty at most"


def test_services_that_are_not_monotone_are_reported(tmp_path: Path) -> None:
    """A tenth of the pairs is measured whatever follows from the others."""
    study = read(tmp_path)
    reports = [
        matrix_state(study, play(study, World(below, seed=s), PLANS)).against(0.95, 2)
        for s in range(2)
    ]
    assert all(reports)


def test_the_full_grid_has_every_pair_as_often_as_asked(tmp_path: Path) -> None:
    study = read(tmp_path, TEXT.replace("[qos_matrix]\n", "[qos_matrix]\nfull = true\n"))
    so_far = matrix_state(study, play(study, World(below), PLANS))
    assert (so_far.runs == 2).all()
    for label, truth in zip(so_far.labels, truth_of(study, below), strict=True):
        assert ((so_far.chances[label] > 0.95) == truth).all()


def test_starts_are_fresh_after_some_measurements_and_keys_differ(tmp_path: Path) -> None:
    study = read(tmp_path)
    played = play(study, World(sums, lost=0.3), PLANS)
    points = [o.point for o in played if o.point.phase is PHASE]
    assert len({point.key for point in points}) == len(points)
    blocks = [one.block for one in matrix_state(study, usual(1)).measured]
    by_block = [blocks.count(block) for block in range(max(blocks) + 1)]
    assert max(by_block) <= plan.LIFE
    assert len(by_block) >= len(blocks) / plan.LIFE


def test_a_tenth_of_the_pairs_is_measured_whatever_follows(tmp_path: Path) -> None:
    study = read(tmp_path)
    so_far = matrix_state(study, usual(1))
    audited = plan.audited(study, so_far)
    assert len(audited) == math.ceil(GRID / 10)
    assert all(so_far.runs[pair] for pair in audited)
    alone = read(tmp_path, TEXT.replace("[qos_matrix]\n", "[qos_matrix]\naudit = 0.0\n"))
    assert not all(
        matrix_state(alone, play(alone, World(sums), PLANS)).runs[pair] for pair in audited
    )


def test_a_run_that_says_the_opposite_of_what_follows_is_repeated(tmp_path: Path) -> None:
    study = read(tmp_path)
    so_far = matrix_state(study, usual(1))
    sure = np.minimum(*(so_far.chances[label] for label in so_far.labels)) > 0.999
    pair = next(p for p in plan.pairs_of(sure) if so_far.runs[p] == 1)
    loads = [asks.of(study).loads[label] for label in so_far.labels]
    place = (loads[0][pair[0]], loads[1][pair[1]])
    seen: set[str] = set()

    def at_first_wrong(point: Point) -> Outcome:
        shares = tuple(together.shares_of(point).values())
        is_wrong = point.phase is PHASE and shares == place and point.service not in seen
        seen.update({point.service} if is_wrong else ())
        return World(sums, misled=float(is_wrong))(point)

    again = matrix_state(study, play(study, at_first_wrong, PLANS))
    assert again.runs[pair] > 1
    assert (again.chances[so_far.labels[0]][pair], again.against(0.99)) == (
        pytest.approx(1, abs=0.05),
        (),
    )


def test_a_machine_that_believes_nothing_comes_to_an_end(tmp_path: Path) -> None:
    study = read(tmp_path)
    played = play(study, World(sums, lost=1.0), PLANS)
    assert next_point(study, played, PLANS) is None
    assert not matrix_state(study, played).runs.any()
    assert len(pairs(played)) <= GRID * plan.MOST


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("loads.synthetic", "loads.other"), "there is no service 'other'"),
        (("[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]\nl", "[0.2, 0.1]\nl"), "do not rise"),
        (("loads.synthetic = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]", ""), "names one service"),
        (('[services.qos]\nq = 0.99\nbound = "10ms"', ""), "synthetic has no QoS target"),
    ],
)
def test_a_matrix_that_cannot_be_is_refused(
    tmp_path: Path, change: tuple[str, str], what: str
) -> None:
    with pytest.raises(SpecFault, match=what):
        read(tmp_path, TEXT.replace(*change))


def test_services_of_one_measurement_share_a_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all of it to each, all pairs of a matrix are satisfied, and few runs say so."""
    asked = load("qos_matrix")
    shared = rehearse(asked, PLANS)
    monkeypatch.setattr(rehearsal, "LEFT_LEAST", 1.0)
    alone = rehearse(asked, PLANS)
    assert len(shared.points) > len(alone.points)
