"""Each rule against its origin: windows and the decisions they must take.

Derived from the texts.

The tables were written from the published rules, not from the code beside them; each row names the
sentence that it follows from.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from sojourn.controllers import KINDS, History, kind
from sojourn.controllers.clite import _gains, score
from sojourn.controllers.evidence import probability
from sojourn.controllers.look import BEST_EFFORT, CRITICAL, Allocation, Group, Look, Window
from sojourn.controllers.testing import TARGET_NS, follow, look, windows

CALM = {"runq_delay_ms": 0.0}


def levels(
    answers: Sequence[Sequence[tuple[str, str, object]]], group: str = "batch"
) -> list[object]:
    """The level that a group got at each look; "-": none."""
    results = []
    for answer in answers:
        own = [level for name, _, level in answer if name == group]
        results.append(own[0] if own else "-")
    return results


def test_null_changes_nothing() -> None:
    assert follow("null", [look(0), look(1, 50.0)]) == [[], []]


def test_static_sets_its_levels_once() -> None:
    answers = follow("static", [look(0), look(1, 50.0)], idle=1, quota=0.5, weight=2)
    assert answers == [[("batch", "idle", True), ("batch", "quota", 0.5)], []], "idle: no weight"
    assert follow("static", [look(0)], weight=2) == [[("batch", "weight", 2)]]
    assert follow("static", [look(0, batch={"idle": True})], weight=2) == [[]]


@pytest.mark.parametrize(
    ("p99_ms", "load", "cores", "level", "sentence"),
    [
        (1.01, 0.5, 4, 0, "slack < 0: best effort off"),
        (0.5, 0.86, 4, 0, "load > 85 % of peak: off"),
        (0.5, 0.84, 4, "-", "neither above 85 % nor short of slack: stays"),
        (0.96, 0.5, 4, 2, "slack < 5 %: loses cores down to 2"),
        (0.96, 0.5, 2, "-", "not below 2"),
        (0.94, 0.5, 4, "-", "slack between 5 and 10 %: no growth, no loss"),
        (0.5, 0.79, 0, 1, "load < 80 %: on"),
        (0.5, 0.81, 0, "-", "between 80 and 85 %: stays off"),
    ],
)
def test_heracles_upper_controller(  # its cases
    p99_ms: float, load: float, cores: int, level: object, sentence: str
) -> None:
    one = look(0, p99_ms, batch={"cores": cores}, web_has={"load": load})
    assert levels(follow("heracles", [one])) == [level], sentence


def test_heracles_looks_every_15_s_and_grows_a_core_every_2_s_with_slack_above_10_percent() -> None:
    looks = [look(t, 0.5, batch={"cores": 1}, web_has={"load": 0.5}) for t in range(8)]
    assert levels(follow("heracles", looks)) == ["-", "-", 2, "-", 3, "-", 4, "-"]
    tight = [look(t, 0.92, batch={"cores": 1}, web_has={"load": 0.5}) for t in range(8)]
    assert levels(follow("heracles", tight)) == ["-"] * 8
    late = [look(0, 0.5, batch={"cores": 4}, web_has={"load": 0.5})]
    late += [look(t, 9.0, web_has={"load": 0.5}) for t in (1, 14, 15)]
    assert levels(follow("heracles", late)) == ["-", "-", "-", 0], "seen at 15 s, not before"


def test_heracles_rests_after_a_violation() -> None:
    looks = [look(0, 2.0, batch={"cores": 4}, web_has={"load": 0.5})]
    looks += [look(t, 0.5, web_has={"load": 0.5}) for t in range(15, 331, 15)]
    result = levels(follow("heracles", looks))
    assert result[0] == 0
    assert result.index(1) == 20, "300 s of rest, then one core"


@pytest.mark.parametrize(
    ("network_mbps", "level", "sentence"),
    [
        (20.0, 75_000_000, "100 − 20 − max(5, 2) MB/s"),
        (60.0, 34_000_000, "100 − 60 − max(5, 6) MB/s"),
        (94.0, 0, "100 − 94 − 9.4 MB/s is less than nothing"),
        (None, "-", "what the service sends is not known"),
    ],
)
def test_heracles_network_controller(
    network_mbps: float | None, level: object, sentence: str
) -> None:
    has = {"load": 0.5} | ({} if network_mbps is None else {"network": network_mbps * 1e6})
    one = look(0, 0.5, batch={"cores": 2}, web_has=has)
    (changes,) = follow("heracles", [one], link_bps=100e6)
    assert [of for name, knob, of in changes if knob == "egress"] == (
        [] if level == "-" else [level]
    ), sentence
    assert {knob for _, knob, _ in follow("heracles", [one])[0]} <= {"cores"}, "only with a link"


def test_heracles_parts_the_link_each_second() -> None:
    def at(t_s: float, mbps: float) -> Look:
        one = look(t_s, 0.5, batch={"cores": 2}, web_has={"load": 0.5, "network": mbps * 1e6})
        return one.model_copy(update={"groups": {**one.groups, "more": one.groups["batch"]}})

    looks = [at(t / 2, 20.0 + 10 * t) for t in range(4)]
    got = [
        {name: level for name, knob, level in changes if knob == "egress"}
        for changes in follow("heracles", looks, link_bps=100e6)
    ]
    assert got == [
        {"batch": 37_500_000, "more": 37_500_000},
        {},
        {"batch": 27_500_000, "more": 27_500_000},
        {},
    ]
    assert kind("heracles").asks(kind("heracles").settled({"link_bps": 1e8})) == ("egress",)
    assert kind("heracles").asks(kind("heracles").settled({})) == ()


@pytest.mark.parametrize(
    ("p99_ms", "used", "quota", "level", "sentence"),
    [
        (1.06, 2.0, 2.0, 0.01, "slack < −.05: killed, node labelled off"),
        (1.04, 2.0, 2.0, 1.64, "slack −.04: × (1 + 2 · (−.04 − .05))"),
        (0.96, 7.9, 2.0, 1.96, "slack .04: × (1 + 2 · (.04 − .05)), before CPU > 90 %"),
        (0.5, 7.3, 2.0, 1.95, "CPU 91.25 % of 8 > 90 %: × (1 + 2 · −.0125)"),
        (0.84, 5.9, 2.0, 2.16, "slack .16 > .15 and CPU < 75 %: × (1 + ½ · .16)"),
        (0.3, 5.9, 2.0, 2.7, "slack .7: × (1 + ½ · .7)"),
        (0.84, 6.1, 2.0, "-", "CPU between 75 and 90 %: nothing"),
        (0.90, 5.9, 2.0, "-", "slack between .05 and .15: nothing"),
    ],
)
def test_be_controller(  # its cases
    p99_ms: float, used: float, quota: float, level: object, sentence: str
) -> None:
    one = look(0, p99_ms, batch={"quota": quota}, host={"cpu": used})
    assert levels(follow("be-controller", [one])) == [
        level if level == "-" else pytest.approx(level)
    ], sentence
    both = [one, look(14, p99_ms, host={"cpu": used})]
    assert levels(follow("be-controller", both))[1] == "-", "every 15 s"


def parties(p99s_ms: Sequence[float], cores: int = 4, **value: float) -> list[object]:
    """Cores of the service at each sample of 100 ms."""
    looks = [
        look(i / 10, p99, web={"cores": cores}, batch={"cores": 8 - cores}, n=100)
        for i, p99 in enumerate(p99s_ms)
    ]
    return levels(follow("parties", looks, **value), "web")


def test_parties_gives_a_core_where_both_slacks_are_below_5_percent() -> None:
    assert parties([0.96]) == [5]
    assert parties([0.94]) == ["-"], "slack .06"
    assert parties([0.5] * 10 + [0.96])[10] == "-", "the mean of ten is .546: slack .45"


def test_parties_takes_a_core_where_both_slacks_are_above_20_percent() -> None:
    assert parties([0.79]) == [3]
    assert parties([0.81]) == ["-"]
    assert parties([0.79], cores=1) == ["-"], "not the last one"


def test_parties_watches_five_samples_after_a_step() -> None:
    # Up at once; five votes; then, still late, the next step: the first one stays.
    assert parties([2.0] * 8) == [5, "-", "-", "-", "-", "-", 6, "-"]
    # A step down whose samples are fine in most stays; the next step follows after the votes.
    assert parties([0.7, 0.7, 0.7, 0.99, 0.99, 0.7, 0.7]) == [3, "-", "-", "-", "-", "-", 2]


def test_parties_undoes_a_step_down_that_hurt_and_rests_for_100_samples() -> None:
    result = parties([0.7, 0.99, 0.99, 0.99, 0.7, 0.7] + [0.7] * 120)
    assert result[0] == 3
    assert result[5] == 4, "three of five samples had a slack below .05: undone"
    assert result[6:105] == ["-"] * 99
    assert result.index(3, 6) == 105, "100 samples later it may be tried again"


def test_parties_begins_with_all_cores_in_equal_parts() -> None:
    groups = {
        name: Group(role=CRITICAL, target_ns=TARGET_NS, windows=windows(0.5)) for name in "ab"
    }
    one = Look(t_s=0, cpus=8, groups={**groups, "batch": Group(role=BEST_EFFORT)})
    wanted = [("a", "cores", 4), ("b", "cores", 4), ("batch", "cores", 0)]
    assert follow("parties", [one]) == [wanted]


def test_parties_takes_from_the_service_with_most_slack_where_no_core_is_free() -> None:
    def service(p99_ms: float, cores: int) -> Group:
        return Group(
            role=CRITICAL,
            target_ns=TARGET_NS,
            windows=windows(p99_ms),
            allocation=Allocation(cores=cores),
        )

    groups = {
        "late": service(1.5, 2),
        "rich": service(0.1, 3),
        "poor": service(0.9, 3),
        "batch": Group(role=BEST_EFFORT, allocation=Allocation(cores=0)),
    }
    answers = follow("parties", [Look(t_s=0, cpus=8, groups=groups)])
    assert answers == [[("late", "cores", 3), ("rich", "cores", 2)]]


def parties_ways(p99s_ms: Sequence[float], ways: int = 11, cores: int = 4) -> list[object]:
    """(cores of the service, ways of the batch job) after each sample; "-": nothing changes.

    Derived from the states of PARTIES.py by hand: 1 (core) → 3 (way) → 2 (frequency, left out).
    """
    looks = [
        look(i / 10, p99, web={"cores": cores}, batch={"cores": 8 - cores, "ways": 3}, n=100)
        for i, p99 in enumerate(p99s_ms)
    ]
    answers: list[object] = []
    for changes in follow("parties", looks, ways=ways):
        of = {(group, knob): level for group, knob, level in changes}
        answers.append(("c", of["web", "cores"]) if ("web", "cores") in of else "-")
        if ("batch", "ways") in of:
            answers[-1] = ("w", of["batch", "ways"])
    return answers


REST = "-"
FIVE = [REST] * 5


@pytest.mark.parametrize(
    ("p99s_ms", "wanted", "sentence"),
    [
        # upSize: state 0 → 1; cnt = -5 → revert: nextState 1 → 3, and the core stays.
        ([2.0] * 13, [("c", 5), *FIVE, ("w", 2), *FIVE, ("c", 6)], "a step without help: the next"),
        # Lat below that of the step in most samples: the state stays 1.
        ([2.0] + [1.5] * 6, [("c", 5), *FIVE, ("c", 6)], "a step that helps: the same again"),
        # downSize: state 0 → -1; no slack below .05 → the state stays -1.
        ([0.5] * 13, [("c", 3), *FIVE, ("c", 2), *FIVE, ("c", 1)], "the same again"),
        # The last core cannot be taken: nextState -1 → -3.
        ([0.5] * 25, [("c", 3), *FIVE, ("c", 2), *FIVE, ("c", 1), *FIVE, ("w", 4), *FIVE, ("w", 5)],
         "cores are used up: ways"),
        # Slack below .05 in three of five: undone, nextState -1 → -3, no step down for 100 samples.
        ([0.5, 0.99, 0.99, 0.99, 0.5, 0.5] + [0.5] * 100,
         [("c", 3), *[REST] * 4, ("c", 4), *[REST] * 99, ("w", 4)], "undone: after the rest ways"),
        # Another direction draws anew, here the first; the mean of seven is 1.07 of the target.
        ([0.5, 0.99, 0.99, 0.99, 0.5, 0.5] + [3.0] * 12,
         [("c", 3), *[REST] * 4, ("c", 4), ("c", 5), *FIVE, ("w", 2), *FIVE], "up begins anew"),
    ],
)  # fmt: skip
def test_parties_takes_ways_in_turn(
    p99s_ms: list[float], wanted: list[object], sentence: str
) -> None:
    assert parties_ways(p99s_ms) == wanted, sentence


def test_parties_leaves_one_way_to_each_side() -> None:
    # Late all the time: ways of the job 3 → 1, then cores alone.
    got = [one for one in parties_ways([2.0] * 60) if one != REST]
    assert got == [("c", 5), ("w", 2), ("c", 6), ("w", 1), ("c", 7), ("c", 8)]
    got = [one for one in parties_ways([0.5] * 60, ways=5, cores=1) if one != REST]
    assert got == [("w", 4)], "of 5 ways the service has one"


def test_parties_moves_no_ways_unless_it_is_given_their_number() -> None:
    late = [look(i / 10, 2.0, web={"cores": 4}, batch={"cores": 4}, n=100) for i in range(20)]
    knobs = {knob for changes in follow("parties", late) for _, knob, _ in changes}
    assert knobs == {"cores"}
    assert kind("parties").asks(kind("parties").settled({})) == ()
    assert kind("parties").asks(kind("parties").settled({"ways": 11})) == ("ways",)
    start = [("web", "cores", 8), ("batch", "cores", 0), ("batch", "ways", 1)]
    assert follow("parties", [look(0.0, 0.5)], ways=11) == [start]


def test_parties_moves_no_ways_between_two_services() -> None:
    one = look(0.0, 2.0, web={"cores": 4}, batch={"cores": 0, "ways": 3})
    other = one.groups["web"].model_copy(update={"windows": windows(0.1)})
    looks = [
        one.model_copy(update={"t_s": i / 10, "groups": {"other": other, **one.groups}})
        for i in range(40)
    ]
    knobs = {knob for changes in follow("parties", looks, ways=11) for _, knob, _ in changes}
    assert knobs == {"cores"}


def osml(p99s_ms: Sequence[float], cores: int = 4) -> list[object]:
    """Cores of the service at each latency of 0.5 s."""
    looks = [
        look(i / 2, p99, web={"cores": cores}, batch={"cores": 8 - cores})
        for i, p99 in enumerate(p99s_ms)
    ]
    return levels(follow("osml-gates", looks), "web")


@pytest.mark.parametrize(
    ("p99s_ms", "wanted", "sentence"),
    [
        ([1.2], [5], "target missed, latency/mean 1 > .95: too little"),
        ([0.95, 1.01], ["-", 5], "1.01 / .98 > .95"),
        ([2.0, 1.05], [5, "-"], "1.05 / 1.525 = .69: it falls by itself"),
        ([0.79], [3], "latency .21 below the target: too much"),
        ([0.81], ["-"], "slack .19 is not above .20"),
        ([0.79, 1.01], [3, 4], "a change after which it misses is undone"),
        ([5.0, 0.7, 1.1], [5, 4, 5], "undone, although 1.1 is below the mean of the last"),
        ([0.79, 0.99], [3, "-"], "it does not miss: the step stays"),
        # Mean of the last five, not of all: the three of 9 ms are the oldest and drop out.
        ([9.0] + [1.0] * 4 + [1.01], [5, "-", "-", "-", "-", 6], "the sixth: five of 1.0"),
    ],
)
def test_osml_gates(p99s_ms: Sequence[float], wanted: list[object], sentence: str) -> None:
    assert osml(p99s_ms) == wanted, sentence


def test_osml_gates_look_each_half_second_and_keep_one_core() -> None:
    looks = [look(i / 10, 0.5, web={"cores": 3}, batch={"cores": 5}) for i in range(12)]
    got = levels(follow("osml-gates", looks), "web")
    assert [i for i, level in enumerate(got) if level != "-"] == [0, 5]
    assert osml([0.5, 0.5], cores=1) == ["-", "-"]


def clite(
    p99_of: Callable[[int], float], count: int, n: Callable[[int], int] = lambda _i: 1000
) -> list[list[int]]:
    """(service's, job's) cores after each window of 2 s, where p99 depends on the service's.

    The job uses all its cores.
    """
    got = kind("clite")
    memory: Mapping[str, object] = {}
    cores = {"web": None, "batch": None}
    answers = []
    for i in range(count):
        web = cores["web"] or 8
        one = look(
            2.0 * i,
            p99_of(web),
            n=n(i),
            web={"cores": cores["web"]},
            batch={"cores": cores["batch"]},
            batch_has={"cpu": float(cores["batch"] or 8)},
        )
        decision = got.decide(History(looks=(one,), memory=memory, constants=got.settled({})))
        memory = decision.memory
        assert memory == json.loads(json.dumps(memory)), "plain JSON"
        for change in decision.changes:
            cores[change.group] = change.level  # type: ignore[assignment]
        answers.append([cores["web"], cores["batch"]])
    return answers  # type: ignore[return-value]


def test_clite_begins_with_the_extremes_and_the_equal_parts() -> None:
    # Bounds 1 … units − (jobs − 1) for each job, the last job's extreme last; then units / jobs.
    assert clite(lambda cores: 0.5, 3) == [[7, 1], [1, 7], [4, 4]]


@pytest.mark.parametrize("least", [1, 2, 3, 5, 6, 7])
def test_clite_finds_the_largest_share_of_the_job_that_meets_the_target(least: int) -> None:
    # p99 is 1.5 of the target below `least` cores: score 1/3 there, else ½ + ½ · job / 7.
    got = clite(lambda cores: 0.9 if cores >= least else 1.5, 14)
    assert got[-1] == [least, 8 - least]
    assert got[-3:] == [got[-1]] * 3, "it rests"


def test_clite_searches_again_where_the_load_changes() -> None:
    steady = clite(lambda cores: 0.9 if cores >= 3 else 1.5, 30)
    assert steady[15:] == [[3, 5]] * 15
    more = clite(lambda cores: 0.9 if cores >= 3 else 1.5, 30, n=lambda i: 1000 if i < 20 else 1300)
    assert more[15:20] == [[3, 5]] * 5
    assert more[20] == [7, 1], "the first extreme again"
    little = clite(
        lambda cores: 0.9 if cores >= 3 else 1.5, 30, n=lambda i: 1000 if i < 20 else 1190
    )
    assert little == steady, "not at 19 %"


def test_clite_begins_anew_where_a_service_vanishes() -> None:
    one = look(0, 0.5, batch_has={"cpu": 2.0})
    both = {"web": one.groups["web"], "db": one.groups["web"], "batch": one.groups["batch"]}
    looks = [
        Look(t_s=2.0 * i, cpus=8, groups=both if i < 3 else one.groups, signals={})
        for i in range(6)
    ]
    answers = follow("clite", looks)
    assert levels(answers, "web")[:2] == [6, 1], "the extremes of three jobs"
    assert levels(answers, "web")[3:] == [7, 1, 4], "those of two"


@pytest.mark.parametrize(
    ("quality", "share", "wanted"),
    [
        (0.5, 1.0, 0.25),
        (0.99, 1.0, 0.495),
        (1.0, 0.0, 0.5),
        (1.0, 0.3, 0.65),
        (1.0, 1.4, 1.0),
    ],
)
def test_clite_score(quality: float, share: float, wanted: float) -> None:
    assert score(quality, share) == pytest.approx(wanted)


def test_clite_expected_improvement_is_that_of_a_regression_by_normal_equations() -> None:
    # Second way: the predictive mean and variance of the kernel by a plain inverse, and the
    # improvement's mean by numeric integration over the normal density.
    at, scores = np.array([[7.0], [1.0], [4.0]]), np.array([0.6, 0.3, 0.7])
    got = _gains(at, scores, np.array([[2.0], [3.0]]), 0.01)
    z = (scores - scores.mean()) / scores.std()

    def kernel(a: float, b: float, scale: float) -> float:
        r = math.sqrt(3) * abs(a - b) / scale
        return (1 + r) * math.exp(-r)

    def matrix(scale: float) -> np.ndarray:
        return np.array([[kernel(a, b, scale) for (b,) in at] for (a,) in at]) + 1e-5 * np.eye(3)

    def evidence(scale: float) -> float:
        k = matrix(scale)
        return float(-0.5 * z @ np.linalg.inv(k) @ z - 0.5 * math.log(np.linalg.det(k)))

    scale = max((0.5, 1.0, 2.0, 4.0, 8.0, 16.0), key=evidence)
    inverse = np.linalg.inv(matrix(scale))
    for x, gain in zip((2.0, 3.0), got, strict=True):
        k = np.array([kernel(x, a, scale) for (a,) in at])
        mean, sd = float(k @ inverse @ z), math.sqrt(1 - float(k @ inverse @ k))
        points = np.linspace(-8, 8, 20_001)
        value = (mean + sd * points) * scores.std() + scores.mean() - 0.7 - 0.01
        density = np.exp(-(points**2) / 2) / math.sqrt(2 * math.pi)
        assert gain == pytest.approx(float(np.trapezoid(np.maximum(value, 0) * density, points)),
                                     abs=1e-4)  # fmt: skip


def captain(throttled: Sequence[float], use: Sequence[float]) -> list[object]:
    looks = [
        look(i / 10, None, web_has={"throttled": t, "cpu": u})
        for i, (t, u) in enumerate(zip(throttled, use, strict=True))
    ]
    return levels(follow("captain", looks), "web")


def test_captain_raises_the_limit_by_the_share_above_three_targets() -> None:
    # Ten samples of a second are the periods; 8 of 10 throttled, target .1: 1 × (1 + .8 − .3).
    result = captain([1.0] * 8 + [0.0] * 3, [0.9] * 11)
    assert result[0] == 1.0, "the start limit"
    # The window at 1.0 s holds samples 1 … 10: 7 of them throttled.
    assert result[10] == pytest.approx(1 * (1 + 0.7 - 0.3))


@pytest.mark.parametrize("name", ["parties", "osml-gates", "clite"])
def test_two_services_on_one_cpu_have_no_cores_to_part(name: str) -> None:
    one = look(0.1, 5.0, cpus=1)
    groups = {"other": one.groups["web"], **one.groups}
    looks = [one.model_copy(update={"t_s": t / 10, "groups": groups}) for t in range(30)]
    assert [found for found in levels(follow(name, looks), "batch") if found != "-"] == []


def test_captain_lowers_it_to_the_largest_use_and_margin_deviations_at_most_by_half() -> None:
    uses = [0.3] * 11
    history = [0.0] * 39 + uses
    wanted = 0.3 + statistics.stdev(history) * (3 - 0.1)  # margin 3 + (0 − .1)
    assert 0.5 < wanted < 0.9
    assert captain([0.0] * 11, uses)[10] == pytest.approx(wanted, abs=1e-4)
    assert captain([0.0] * 11, [0.0] * 11)[10] == 0.5, "at most by half"
    assert captain([0.0] * 11, [0.8] * 11)[10] == "-", "not where it is above .9 of it"


def test_captain_undoes_a_step_down_that_throttles() -> None:
    # Down at 1.0 s (1 → .5). Four throttled samples of ten are .4 > 3 · .1: 2 · 1 − .5.
    result = captain([0.0] * 11 + [1.0] * 4, [0.0] * 15)
    assert result[10] == 0.5
    assert result[11:14] == ["-"] * 3
    assert result[14] == 1.5


@pytest.mark.parametrize(
    ("all_used", "web", "batch", "quota", "level", "sentence"),
    [
        (4.0, 2.0, 1.5, 2.9, 2.7, "8 · .65 − 2 − (4 − 3.5) = 2.7"),
        (4.0, 2.0, 1.5, 2.75, "-", "a change below 1 % of 8 is ignored"),
        (4.0, 2.0, 1.5, 1.0, 1.8, "rising at most 10 % of 8 a step"),
        (7.0, 6.0, 0.5, 1.0, 0.02, "nothing left: the least quota"),
        (4.0, 2.0, 1.5, None, 2.7, "no quota yet: set at once"),
    ],
)
def test_koordinator(  # noqa: PLR0917  # its cases
    all_used: float, web: float, batch: float, quota: float | None, level: object, sentence: str
) -> None:
    one = look(
        0,
        99.0,  # latency is no input
        batch={"quota": quota},
        host={"cpu": all_used},
        web_has={"cpu": web},
        batch_has={"cpu": batch},
    )
    assert levels(follow("koordinator", [one])) == [
        level if level == "-" else pytest.approx(level)
    ], sentence


@pytest.mark.parametrize(
    ("wait_ms", "use", "required", "sentence"),
    [
        (0.46, 3.2, 4.0, "both on target: nothing"),
        (0.48, 3.2, 4.0, "wait 4 % above: in the dead band of 5 %"),
        (0.92, 3.2, 4 + 0.1 * 8 * math.log(2), "wait at twice its target: + Kpp ln 2"),
        (0.05, 3.2, 4 + 0.01 * 8 * math.log(0.05 / 0.46), "wait 89 % below: + Kpn ln, not large"),
        (0.46, 4.0, 4 + 0.1 * 8 * math.log(1.0 / 0.8), "use 100 %: the largest wins"),
        (46.0, 3.2, 3.2 / 0.8 + 2.0, "kept within the gap of the reference"),
    ],
)
def test_rama(wait_ms: float, use: float, required: float, sentence: str) -> None:
    one = look(0, None, batch={"quota": 4.0}, web_has={"runq_delay_ms": wait_ms, "cpu": use})
    result = levels(follow("rama", [one]))
    if wait_ms == 0.05:  # the use, on target, asks for 0; the largest of the two wins
        required = 4.0
    assert result == (["-"] if required == 4.0 else [pytest.approx(8 - required, abs=1e-3)]), (
        sentence
    )


@pytest.mark.parametrize(
    ("p99_ms", "steps", "sentence"),
    [
        (0.95, -1, "⌊−8 · (.95 − .9)/.9⌋ = ⌊−.44⌋"),
        (1.8, -8, "⌊−8 · 1⌋"),
        (0.9, 0, "⌊0⌋"),
        (0.8, 0, "⌊.89⌋"),
    ],
)
def test_proportional_goes_down_at_once(p99_ms: float, steps: int, sentence: str) -> None:
    one = look(0, p99_ms, batch={"quota": 4.0})  # level 10 of 20
    wanted = pytest.approx(8 * (10 + steps) / 20) if steps else "-"
    assert levels(follow("proportional", [one])) == [wanted], sentence


def test_proportional_takes_all_at_a_distance_without_end() -> None:
    web = Group(role=CRITICAL, target_ns=1e-300, windows=windows(1e6))
    one = Look(t_s=0, cpus=8, groups={"web": web, "batch": Group(role=BEST_EFFORT)})
    assert follow("proportional", [one]) == [[("batch", "quota", 0.01)]]


def test_proportional_goes_up_after_three_good_samples() -> None:
    looks = [look(t, 0.45, batch={"quota": 4.0}) for t in range(4)]
    assert levels(follow("proportional", looks)) == ["-", "-", pytest.approx(8 * 14 / 20), "-"]


def test_caladan_takes_a_core_when_what_waited_still_waits() -> None:
    delays = [0.0, 2.0, 0.0, 2.0, 2.0, 2.0, 2.0]
    looks = [
        look(i / 100, None, batch={"cores": 4}, web_has={"runq_delay_ms": delay})
        for i, delay in enumerate(delays)
    ]
    assert levels(follow("caladan", looks)) == ["-", "-", "-", "-", 3, "-", 2]


def test_ream_confines_a_group_that_does_not_scale_to_two_cores() -> None:
    batch = Group(role=BEST_EFFORT, traits=("non-scalable",))
    other = Group(role=BEST_EFFORT, traits=("scalable",))
    one = Look(t_s=0, cpus=8, groups={"batch": batch, "other": other})
    assert follow("ream", [one, one]) == [[("batch", "cores", 2)], []]


# Ours: statements about the posterior, by a second way of computing it.


def binomial_tail(above: int, n: int, share: float) -> float:
    """P(at least `above` late of n), where each is late with this probability."""
    return 1 - sum(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(above))


@pytest.mark.parametrize(("above", "n"), [(9, 100), (3, 100), (0, 500), (12, 1000)])
def test_the_posterior_lies_between_the_two_binomial_tails(above: int, n: int) -> None:
    # Jeffreys' posterior lies between those of Beta(a, n − a + 1) and Beta(a + 1, n − a), whose
    # distribution functions are binomial tails.
    value = probability(Window(length_ms=100, n=n, above=above), 0.01)
    assert value is not None
    low = 1 - binomial_tail(above, n, 0.01) if above else 0.0
    high = 1 - binomial_tail(above + 1, n, 0.01)
    assert low < value < high


def test_posterior_begins_with_idle_and_then_rests() -> None:
    looks = [look(t, 0.8, n=1000, above=4, web_has=CALM) for t in range(100)]
    assert follow("posterior", looks) == [[("batch", "idle", True)]] + [[]] * 99


def late(first_s: float, counts: Sequence[int], n: int = 1000) -> list[Look]:
    """Looks every 0.1 s with so many late requests in the newest window of n."""
    return [
        look(first_s + i / 10, 1.2, n=n, above=above, web_has=CALM, batch_has={"cpu": 4.0})
        for i, above in enumerate(counts)
    ]


def test_posterior_says_nothing_of_few_requests_and_acts_where_it_is_sure() -> None:
    start = look(0, web_has=CALM)
    assert follow("posterior", [start, *late(20, [3] * 3, n=100)])[1:] == [[]] * 3, "9 of 300"
    sure = follow("posterior", [start, *late(20, [30] * 3)])
    assert sure[1:] == [[], [], [("batch", "quota", 2.4)]], "three windows are needed"


def test_posterior_does_not_act_on_one_stall() -> None:
    start = look(0, web_has=CALM)
    stall = late(20, [0, 0, 0, 900, 60, 0, 0, 0, 0, 500, 0, 0])
    assert follow("posterior", [start, *stall])[1:] == [[]] * 12
    among_late = late(20, [8, 8, 300, 8, 8])
    assert follow("posterior", [start, *among_late])[1:] == [[]] * 5, "the others are no proof"


def test_posterior_gives_back_what_did_not_help_and_rests() -> None:
    looks = [look(0, web_has=CALM), *late(20, [30] * 90)]
    result = [
        (i, level) for i, level in enumerate(levels(follow("posterior", looks))) if level != "-"
    ]
    quotas = [level for _, level in result[1:]]
    assert quotas[0] == pytest.approx(2.4)
    assert quotas[-2] == pytest.approx(0.05)
    assert quotas[-1] is None, "all of it, as before the first of these cuts"
    assert result[-1][0] < 70, "and then nothing, though as many are late"


def test_posterior_keeps_a_cut_that_helped_and_looks_again_at_another_load() -> None:
    helped = [look(0, web_has=CALM), *late(20, [90] * 15), *late(21.5, [15] * 40)]
    assert None not in levels(follow("posterior", helped)), "a sixth of the late ones remained"
    cleared = [look(0, web_has=CALM), *late(20, [30] * 70)]
    worse = levels(follow("posterior", [*cleared, *late(27, [80] * 8)]))
    assert worse[71:].count("-") < 8, "the job does something else now: twice as many are late"
    again = late(27, [60] * 8, n=2000)
    result = levels(follow("posterior", [*cleared, *again]))
    assert result[:71].count(None) == 1
    assert result[71:].count("-") < 8, "at twice the load nothing is known of the cause"


def test_posterior_adds_up_seconds_that_say_too_little_each() -> None:
    # 5 late of 500 in each second, and 3.25 is acted on: 4.75 sigma (one in a million) are reached
    # when 0.0035 n = 4.75 sqrt(0.0065 n), so after 11 970 requests or 24 s.
    looks = [look(t, 1.2, n=500, above=5, web_has=CALM, batch_has={"cpu": 4.0}) for t in range(99)]
    first = [i for i, answer in enumerate(follow("posterior", looks)) if answer][1]
    assert 20 < first < 30


def test_posterior_acts_at_once_on_threads_that_wait() -> None:
    looks = [look(0, web_has=CALM), look(0.2, 0.5, above=0, web_has={"runq_delay_ms": 0.3})]
    assert follow("posterior", looks)[1] == [("batch", "quota", 4.8)]


def test_posterior_gives_back_what_waiting_threads_cost_where_they_wait_all_the_same() -> None:
    def waiting(wait_ms: float, begin_s: float, count: int) -> list[Look]:
        has = {"runq_delay_ms": wait_ms}
        times = [begin_s + i / 10 for i in range(count)]
        return [look(t, 0.5, above=0, web_has=has, batch_has={"cpu": 4.0}) for t in times]

    begin = look(0, web_has=CALM)
    result = levels(follow("posterior", [begin, *waiting(0.3, 0.2, 70)]))
    assert None in result, "all of it, as before the first of these cuts"
    assert set(result[result.index(None) + 1 :]) == {"-"}, "and then nothing for a while"
    helped = [begin, *waiting(3.0, 0.2, 15), *waiting(0.3, 1.7, 60)]
    assert None not in levels(follow("posterior", helped)), "a tenth of the wait remained"
    longer = levels(follow("posterior", [begin, *waiting(0.3, 0.2, 70), *waiting(0.7, 8, 5)]))
    assert longer[71:].count("-") < 5, "they wait more than twice as long as without the job"


def test_posterior_grows_only_after_a_whole_long_window_and_rests_after_a_failure() -> None:
    busy = {"cpu": 8.0}
    looks = [look(0, web_has=CALM)]
    looks += [look(t, 5.0, above=500, web_has=CALM, batch_has=busy) for t in (0.8, 0.9, 1)]
    looks += [look(t, 0.2, above=0, web_has=CALM, batch_has={"cpu": 4.0}) for t in range(2, 20)]
    result = levels(follow("posterior", looks))[2:]
    assert result[1] == pytest.approx(4.8)
    assert [i for i, level in enumerate(result) if level != "-"][1:] == [16], (
        "15 s after the change"
    )
    assert result[16] == pytest.approx(6.0)


def test_posterior_frees_a_group_that_is_limited_beside_one_that_is_not() -> None:
    one = look(0, 0.2, above=0, web_has=CALM, batch_has={"cpu": 4.0})
    free = one.groups["batch"]
    limited = free.model_copy(update={"allocation": Allocation(quota=0.6, idle=True)})
    groups = {**one.groups, "other": limited}
    looks = [Look(t_s=float(t), cpus=8, groups=groups, signals=one.signals) for t in range(40)]
    answers = follow("posterior", looks)
    changes = [(t, *change) for t, answer in enumerate(answers) for change in answer]
    assert changes == [(0, "batch", "idle", True), (15, "other", "quota", None)]


@pytest.mark.parametrize("name", [name for name in KINDS if name not in {"null", "static"}])
def test_what_is_not_known_changes_nothing(name: str) -> None:
    # No p99, no signals: only our first step needs none.
    looks = [look(t, None, n=0) for t in range(40)]
    wanted = [[("batch", "idle", True)]] if name == "posterior" else [[]]
    assert follow(name, looks) == wanted + [[]] * 39


@pytest.mark.parametrize("name", KINDS)
def test_a_rule_sets_those_knobs_of_services_that_it_names(name: str) -> None:
    looks = [
        look(
            i / 2,
            0.5 if i % 3 else 1.5,
            n=200,
            above=2,
            host={"cpu": 4.0},
            web_has={"load": 0.5, "cpu": 2.0, "runq_delay_ms": 0.1, "throttled": 0.0},
            batch_has={"cpu": 2.0},
        )
        for i in range(20)
    ]
    confined = [
        one.model_copy(
            update={
                "groups": {
                    label: group.model_copy(update={"traits": ("non-scalable",)})
                    for label, group in one.groups.items()
                }
            }
        )
        for one in looks
    ]
    changes = [change for answer in follow(name, confined) for change in answer]
    of_web = [(knob, level) for group, knob, level in changes if group == "web"]
    assert {knob for knob, _ in of_web} == {*kind(name).on_services}
    assert all(level != 0 for _, level in of_web)


@pytest.mark.parametrize("name", KINDS)
def test_a_decision_is_pure(name: str) -> None:
    controller_kind = kind(name)
    one = look(
        0,
        1.5,
        above=900,
        host={"cpu": 7.9},
        web_has={"load": 0.9, "cpu": 4.0, "runq_delay_ms": 3.0, "throttled": 1.0},
        batch_has={"cpu": 3.0},
    )
    history = History(looks=(one,), constants=controller_kind.settled({}))
    assert controller_kind.decide(history) == controller_kind.decide(history)
