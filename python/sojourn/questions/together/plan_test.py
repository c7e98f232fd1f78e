"""Two services at once: every combination and every load alone, once a block."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn.errors import SpecFault
from sojourn.plan import Outcome, Point, Verdict, codec, design, next_point
from sojourn.plan.rehearsal import imagine, rehearse
from sojourn.plan.simulated import play
from sojourn.questions import PLANS
from sojourn.questions.together import plan
from sojourn.spec import Study, load

TEXT = """
name = "pair"
question = "What do two services do to each other?"

[[services]]
kind = "memcached"
measure = ["sweep"]

[[services]]
kind = "synthetic"
measure = ["sweep"]

[together]
synthetic = [0.3]
memcached = [0.3, 0.6]

[run]
profile = "quick"
repeats = 3
fractions = [0.5]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return read(TEXT, tmp_path_factory.mktemp("pair"))


def read(text: str, folder: Path) -> Study:
    path = folder / "pair.toml"
    path.write_text(text)
    return load(path)


def groups(played: list[Outcome]) -> list[Point]:
    """What was measured at once, in order: the points with others beside them, or alone."""
    beside = {p.key for o in played for p in o.point.beside}
    points = [o.point for o in played if o.point.phase is plan.PHASE]
    return [point for point in points if point.key not in beside]


def shares(point: Point) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(plan.shares_of(point).items()))


def test_a_block_holds_every_combination_and_every_load_alone(study: Study) -> None:
    made = groups(play(study, imagine, PLANS))
    wanted = {
        (("memcached", 0.3),),
        (("memcached", 0.6),),
        (("synthetic", 0.3),),
        (("memcached", 0.3), ("synthetic", 0.3)),
        (("memcached", 0.6), ("synthetic", 0.3)),
    }
    for block in range(3):
        assert sorted(shares(p) for p in made if p.repeat == block) == sorted(wanted)
    orders = [[shares(p) for p in made if p.repeat == block] for block in range(3)]
    assert len({tuple(order) for order in orders}) > 1, "the order is drawn for each block"


def test_the_points_of_a_measurement_share_a_setting_and_nothing_else(study: Study) -> None:
    pair = next(p for p in groups(play(study, imagine, PLANS)) if p.beside)
    (other,) = pair.beside
    assert (pair.service, other.service) == ("memcached", "synthetic")
    assert pair.setting == other.setting
    assert pair.key != other.key
    assert pair.seed != other.seed
    assert other.offered_rps == pytest.approx(0.3 * 100_000)
    assert (pair.measure_s, pair.warmup_s) == (other.measure_s, other.warmup_s)
    assert codec.from_json(json.loads(codec.dumps(pair))) == pair


def test_services_have_their_axes_before_they_meet(study: Study) -> None:
    played = play(study, imagine, PLANS)
    first = next(n for n, o in enumerate(played) if o.point.phase is plan.PHASE)
    assert {o.point.phase for o in played[:first]} == {"peak", "sweep"}
    assert all(o.point.phase is plan.PHASE for o in played[first:])


def test_a_measurement_is_repeated_if_one_of_its_points_was_not_believed(study: Study) -> None:
    def measure(point: Point) -> Outcome:
        is_lost = point.phase is plan.PHASE and point.service == "synthetic"
        is_lost = is_lost and len(point.setting) > 1 and point.repeat == 0 and "~" not in point.key
        return replace(imagine(point), verdict=Verdict.UNKNOWN if is_lost else Verdict.HOLDS)

    played = play(study, measure, PLANS)
    again = [o.point.key for o in played if o.point.key.endswith("~1")]
    pairs = ("load.memcached=0.3,load.synthetic=0.3", "load.memcached=0.6,load.synthetic=0.3")
    assert sorted(again) == [
        f"{label}/together/b0/{pair}~1" for label in ("memcached", "synthetic") for pair in pairs
    ]


def test_a_measurement_is_repeated_until_one_attempt_was_believed_of_all(study: Study) -> None:
    """What one saw beside a load that was not offered is no answer, whatever it saw itself."""

    def measure(point: Point) -> Outcome:
        first, later = ("synthetic", "~" not in point.key), ("memcached", point.key.endswith("~1"))
        is_pair = point.phase is plan.PHASE and len(point.setting) > 1 and point.repeat == 0
        is_lost = is_pair and (point.service, True) in (first, later)
        return replace(imagine(point), verdict=Verdict.UNKNOWN if is_lost else Verdict.HOLDS)

    more = study.model_copy(update={"run": study.run.model_copy(update={"retries": 2})})
    keys = [o.point.key for o in play(more, measure, PLANS)]
    assert sum(key.endswith("~2") for key in keys) == 4, "each was valid once, never both"


def test_a_point_that_was_lost_beside_one_that_was_kept_is_measured_again(study: Study) -> None:
    """A kill between the two leaves one outcome of a measurement: attempts are told by key."""
    played = play(study, imagine, PLANS)
    pairs = [o for o in played if len(plan.shares_of(o.point)) > 1]
    lost = next(o for o in pairs if o.point.service == "synthetic" and o.point.repeat == 0)
    before = [o for o in played if o is not lost]
    again = [o.point.key for o in play(study, imagine, PLANS, before)[len(before) :]]
    setting = lost.point.setting.text
    assert again == [f"{of}/together/b0/{setting}~1" for of in ("memcached", "synthetic")]


def test_a_rehearsal_counts_a_measurement_once(study: Study) -> None:
    points = [p for p in rehearse(study, PLANS).points if p.phase is plan.PHASE]
    assert len(points) == 3 * 5
    assert sum(len(p.beside) for p in points) == 3 * 2


@pytest.mark.parametrize(
    ("table", "message", "below"),
    [
        ("synthetic = [0.3]", "a second one", 0),
        ("synthetic = [0.3]\nngnix = [0.3]", "memcached, synthetic", 2),
        ("synthetic = [0.3]\nmemcached = [0.3, 0.3]", "twice", 2),
        ("synthetic = [0.3]\nmemcached = []", "empty", 2),
        ("synthetic = [0.3]\nmemcached = [3.0]", "at most 2", 2),
    ],
)
def test_who_cannot_meet_is_refused_with_its_line(
    table: str, message: str, below: int, tmp_path: Path
) -> None:
    text = TEXT.replace("synthetic = [0.3]\nmemcached = [0.3, 0.6]", table)
    with pytest.raises(SpecFault, match=message) as caught:
        read(text, tmp_path)
    line = text.splitlines().index("[together]") + 1 + below
    assert f".toml:{line}  together" in caught.value.at


FACTORS = """
[factors]
"services.memcached.params.threads" = [1, 2]
"neighbour" = ["none", "spin"]
"""
THREADS = "services.memcached.params.threads"


def pairs_of(played: list[Outcome]) -> list[Point]:
    return [point for point in groups(played) if point.beside]


def test_with_factors_every_combination_has_its_meetings_in_every_block(tmp_path: Path) -> None:
    asked = read(TEXT + FACTORS, tmp_path)
    made = groups(play(asked, imagine, PLANS))
    cells = Counter((p.repeat, p.setting[THREADS], p.setting["neighbour"], shares(p)) for p in made)
    each = [shares(p) for p in groups(play(read(TEXT, tmp_path), imagine, PLANS)) if p.repeat == 0]
    wanted = itertools.product(range(3), (1, 2), ("none", "spin"), each)
    assert cells == dict.fromkeys(wanted, 1)
    assert [p.repeat for p in made] == sorted(p.repeat for p in made), "blocks hold all of them"
    every = [member for point in made for member in point.all]
    assert len({p.key for p in every}) == len({p.seed for p in every}) == len(every)


def test_both_services_feel_the_levels_of_either(tmp_path: Path) -> None:
    """The other one is another neighbour where it has more threads: it is a start of its own."""
    asked = read(TEXT + FACTORS, tmp_path)
    pairs = pairs_of(play(asked, imagine, PLANS))
    for pair in pairs:
        (other,) = pair.beside
        assert other.setting == pair.setting
        under = design.study_of(asked, other)
        assert under.service("memcached").params["threads"] == pair.setting[THREADS]
        assert under.neighbour == pair.setting["neighbour"]
        assert f"{THREADS}={pair.setting[THREADS]}" in other.life
    lives = ((p.repeat, p.setting.whole_plot.text) for p in pairs)
    stretches = [life for life, _ in itertools.groupby(lives)]
    assert len(stretches) == 3 * 2, "a level that takes a restart is used at a stretch"


def test_loads_are_shares_of_what_each_can_do_under_its_own_levels(tmp_path: Path) -> None:
    asked = read(TEXT + FACTORS, tmp_path)

    def measure(point: Point) -> Outcome:
        is_slow = point.setting.get(THREADS) == 1 and point.service == "memcached"
        return imagine(point, capacity_rps=50_000 if is_slow else 100_000)

    for pair in pairs_of(play(asked, measure, PLANS)):
        (other,) = pair.beside
        assert other.offered_rps == pytest.approx(0.3 * 100_000)
        share = plan.shares_of(pair)["memcached"]
        slow = 0.5 if pair.setting[THREADS] == 1 else 1.0
        assert pair.offered_rps == pytest.approx(share * slow * 100_000)


def test_a_lost_meeting_is_measured_again_under_its_own_levels_only(tmp_path: Path) -> None:
    asked = read(TEXT + FACTORS, tmp_path)

    def measure(point: Point) -> Outcome:
        is_pair = point.phase is plan.PHASE and len(plan.shares_of(point)) > 1
        is_lost = is_pair and point.repeat == 1 and "~" not in point.key
        is_lost = is_lost and point.setting[THREADS] == 2
        return replace(imagine(point), verdict=Verdict.UNKNOWN if is_lost else Verdict.HOLDS)

    played = play(asked, measure, PLANS)
    again = [o.point for o in played if o.point.key.endswith("~1")]
    assert len(again) == 2 * 2 * 2, "two loads, two neighbours, both services"
    assert {(p.repeat, p.setting[THREADS]) for p in again} == {(1, 2)}
    for count in range(0, len(played), 11):
        if played[count].point.service == "memcached":
            assert next_point(asked, played[:count], PLANS) == played[count].point


def test_a_member_that_gets_no_load_axis_is_refused_in_words(tmp_path: Path) -> None:
    checked = TEXT.replace(
        'kind = "synthetic"\nmeasure = ["sweep"]',
        'kind = "synthetic"\nmeasure = ["check"]\n[services.check]\nsystem = "M/M/1"\nrho = [0.5]',
    )
    with pytest.raises(SpecFault, match="runs synthetic at shares of its max RPS") as fault:
        next_point(read(checked, tmp_path), [], PLANS)
    assert "services.synthetic.measure" in fault.value.at
