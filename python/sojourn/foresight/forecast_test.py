"""Forecasts against a world in which the effect of every neighbour is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from sojourn.foresight import guesses, testing, words
from sojourn.foresight.doses import NONE, Dose
from sojourn.foresight.forecast import Forecast, forecast
from sojourn.foresight.ruler import grid, name_of, weigh
from sojourn.foresight.testing import Truth
from sojourn.foresight.victims import Run, Victim

B = "batch:b"
BOUND_NS = 2e6


def world(seed: int, neighbour: Mapping[str, float], rulers: int = 4) -> tuple[Truth, list[Victim]]:
    rng = np.random.default_rng(seed)
    truths = [testing.service(f"s{number}", rng) for number in range(rulers + 1)]
    return truths[0], [testing.victim(one, {B: neighbour}, rng, scatter=0.05) for one in truths]


def predicted(victims: list[Victim], bound_ns: float = BOUND_NS) -> Forecast:
    service, *others = victims
    return forecast(service, [(one, B) for one in others], B, 0.99, bound_ns=bound_ns)


def drawn(seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    pick = rng.choice(list(testing.TAKES), size=int(rng.integers(1, 3)), replace=False)
    return {str(name): float(rng.uniform(0.2, 1.0)) / len(pick) for name in pick}


def test_borders_are_near_the_truth_and_intervals_hold_it() -> None:
    """Of 24 worlds; bench/predict/simulated.py counts hundreds."""
    ratios, held, guessed = [], [], []
    for seed in range(24):
        truth, victims = world(seed, drawn(seed))
        gathered = predicted(victims)
        border = truth.border_rps(BOUND_NS, drawn(seed))
        ratios.append(gathered.border_rps.value / border)
        held.append(gathered.border_rps.lo <= border <= gathered.border_rps.hi)
        guessed.append(gathered.guesses[guesses.NO_CHANGE] / border)
    near = np.mean(np.abs(np.array(ratios) - 1) <= 0.2)
    assert near >= 0.8
    assert np.mean(held) >= 0.85
    assert near > np.mean(np.abs(np.array(guessed) - 1) <= 0.2) + 0.3


def test_a_bound_below_all_measured_tails_has_no_sure_border() -> None:
    """All borders are the same guess there, which is no sign that a forecast is right."""
    truth, victims = world(3, {"membw": 0.9})
    runs = victims[0].levels[NONE]
    bound_ns = 0.8 * min(run.tails[0.99] for run in runs)
    result = predicted(victims, bound_ns)
    border = result.border_rps
    assert (result.censored, border.lo, result.doses) == ("below", 0.0, 0)
    assert border.lo <= truth.border_rps(bound_ns, {"membw": 0.9}) <= border.hi
    assert border.hi >= min(run.rps for run in runs)
    assert "how sure: not known" in "\n".join(words.remarks(result, "r", B))
    first = result.loads[0].beside_ns
    assert first.lo < 0.9 * first.value < first.value < 1.1 * first.hi


def test_a_stronger_neighbour_leaves_less() -> None:
    weak, strong = (predicted(world(3, {"membw": share})[1]) for share in (0.3, 0.9))
    assert strong.border_rps.value < 0.9 * weak.border_rps.value


def test_a_service_that_the_resource_does_not_slow_keeps_more() -> None:
    def border(slowed: float) -> float:
        _, victims = world(4, {"llc": 0.8})
        rng = np.random.default_rng(1)
        own = Truth("own", 20.0, {**dict.fromkeys(testing.TAKES, 0.3), "llc": slowed})
        victims[0] = testing.victim(own, {}, rng, scatter=0.0)
        return predicted(victims).border_rps.value / own.peak_rps()

    assert border(2.0) < 0.8 * border(0.0)


def test_the_ruler_names_the_resource_that_was_taken() -> None:
    rng = np.random.default_rng(6)
    slowed = [
        {name: 2.0 if name == own else 0.05 for name in testing.TAKES} for own in testing.TAKES
    ]
    truths = [Truth(f"s{number}", 20.0, one) for number, one in enumerate(slowed)]
    for name in ("llc", "membw"):
        rulers = [testing.victim(one, {B: {name: 0.75}}, rng, scatter=0.0) for one in truths]
        shown = {name_of(one): one.levels[B] for one in rulers}
        weighed = weigh(rulers, shown, 0.99, bounds_ns=(BOUND_NS,), doses=grid(rulers))
        heaviest, (weight, dose) = next(iter(weighed.by_resource().items()))
        assert heaviest == name
        assert weight > 0.8
        assert dose == pytest.approx(0.75, abs=0.15)
        assert sum(weighed.weights) == pytest.approx(1)


def test_a_dose_that_is_left_out_is_not_used() -> None:
    _, victims = world(7, {"cpu": 0.5})
    out = Dose("cpu", 1.0)
    assert max(one.share for one in grid(victims, out) if one.resource == "cpu") == 0.5
    assert max(one.share for one in grid(victims) if one.resource == "cpu") == 1.0


def test_the_services_own_runs_beside_the_neighbour_are_not_used() -> None:
    _, victims = world(8, {"membw": 0.6})
    gathered = predicted(victims)
    levels = {**victims[0].levels, B: victims[0].levels[NONE]}
    other = predicted([replace(victims[0], levels=levels), *victims[1:]])
    assert other.border_rps == gathered.border_rps
    assert gathered.measured_rps != other.measured_rps


def test_tails_rise_with_load_and_lie_in_their_intervals() -> None:
    gathered = predicted(world(9, {"membw": 0.5})[1])
    tails = [one.beside_ns.value for one in gathered.loads]
    assert tails == sorted(tails)
    for one in gathered.loads:
        assert one.beside_ns.lo <= one.beside_ns.value <= one.beside_ns.hi
        assert one.alone_ns <= one.beside_ns.value * 1.01
    border = gathered.border_rps.value
    rated = forecast(
        *_of(world(9, {"membw": 0.5})[1]), B, 0.99, bound_ns=BOUND_NS, loads_rps=[border]
    )
    assert rated.loads[0].beside_ns.value == pytest.approx(BOUND_NS, rel=0.15)


def test_beyond_what_can_be_served_the_queue_grows() -> None:
    """Beside this neighbour 15,700/s can be served, and 29,500/s alone."""
    truth, victims = world(3, {"cpu": 0.9})
    gathered = predicted(victims, 1e9)
    assert gathered.border_rps.value == pytest.approx(15_700, rel=0.2)
    assert gathered.border_rps.lo < 15_700 < gathered.border_rps.hi < gathered.alone_rps
    full = [one for one in gathered.loads if one.rps > 1.1 * 15_700]
    assert full
    for one in full:
        assert math.isinf(truth.tail_ns(one.rps, {"cpu": 0.9})), "or nothing is tested"
        assert math.isinf(one.beside_ns.value)
        assert math.isinf(one.beside_ns.hi)


def _of(victims: list[Victim]) -> tuple[Victim, list[tuple[Victim, str]]]:
    return victims[0], [(one, B) for one in victims[1:]]


def test_what_is_kept_falls_as_the_service_takes_more() -> None:
    shares = []
    for bound_ns in (4e5, 4e6):
        gathered = predicted(world(10, {"cpu": 0.8})[1], bound_ns)
        assert gathered.progress is not None
        assert 0 <= gathered.progress.lo <= gathered.progress.value <= gathered.progress.hi <= 1
        shares.append(gathered.progress.value)
    assert shares[1] < shares[0]


def test_guesses_are_what_they_say() -> None:
    _, victims = world(11, {"cpu": 0.6})
    share = guesses.wanted([(one, B) for one in victims[1:]])
    assert share == pytest.approx(0.3, abs=0.01)  # 0.6 of what a full dose takes
    gathered = guesses.of(1000.0, [(one, B) for one in victims[1:]], 0.99, BOUND_NS)
    assert gathered[guesses.NO_CHANGE] == 1000.0
    assert gathered[guesses.SUM] == pytest.approx(700, abs=10)
    assert guesses.of(1000.0, [], 0.99, BOUND_NS) == {guesses.NO_CHANGE: 1000.0}
    assert math.isclose(gathered[guesses.FAIR], gathered[guesses.SUM])


def ruled(label: str, beside: tuple[float, float]) -> Victim:
    """A service with p99 = 10 ms at 150/s alone, and halfway between two loads beside B."""

    def runs(*loads: float) -> list[Run]:
        pairs = zip(loads, (1e6, 1e8), strict=True)
        return [Run(rps=rps, achieved_rps=rps, tails={0.99: ns}) for rps, ns in pairs]

    levels = {NONE: runs(100, 200), B: runs(*beside)}
    return Victim(label=label, record=label, place=testing.PLACE, peak_rps=200, levels=levels)


def test_the_mean_of_others_is_what_they_keep_without_a_look_at_doses() -> None:
    rulers = [(ruled("half", (50, 100)), B), (ruled("same", (100, 200)), B)]
    gathered = guesses.of(1000.0, rulers, 0.99, 1e7)
    assert gathered == {
        guesses.NO_CHANGE: 1000.0,
        guesses.MEAN: pytest.approx((0.5 + 1) / 2 * 1000),
    }


def test_a_border_on_the_assumed_line_is_not_called_measured() -> None:
    _, victims = world(12, {"cpu": 0.5})
    alone = victims[0].levels[NONE]
    bound_ns = 3 * alone[-1].tails[0.99]  # it holds at the highest load, 85 % of the peak
    gathered = predicted(victims, bound_ns)
    assert gathered.censored == "beyond"
    assert gathered.alone_rps > alone[-1].rps
    text = "\n".join([*words.lines(gathered), *words.remarks(gathered, "R", B)])
    assert "beyond the measured loads" in text
    assert "a straight line from the highest one to max RPS is assumed" in text
    assert "measured" not in text.splitlines()[1].replace("beyond the measured loads", "")


def test_a_border_beside_the_neighbour_that_lies_beyond_its_loads_is_not_a_measured_one() -> None:
    _, victims = world(13, {"cpu": 0.05})
    bound_ns = 5 * victims[0].levels[B][-1].tails[0.99]
    assert predicted(victims, bound_ns).measured_rps is None


def test_a_border_that_was_measured_is_shown_however_the_neighbour_is_written() -> None:
    _, (service, *others) = world(14, {"membw": 0.6})
    levels = dict(service.levels)
    levels["batch:xz,where=server"] = levels.pop(B)
    service = replace(service, levels=levels)
    rulers = [(one, B) for one in others]
    border = forecast(service, rulers, "batch:xz,where=server", 0.99, bound_ns=BOUND_NS)
    assert border.measured_rps is not None
    same = forecast(service, rulers, "batch:xz", 0.99, bound_ns=BOUND_NS)
    assert same.measured_rps == border.measured_rps
    assert (
        forecast(service, rulers, "batch:xz,where=free", 0.99, bound_ns=BOUND_NS).measured_rps
        is None
    )


def test_a_dose_whose_cpu_time_no_run_has_is_not_taken_for_one_that_took_none() -> None:
    """The neighbour did as a full dose of `llc`, whose CPU time is in no run; all slow alike."""
    rng = np.random.default_rng(6)
    truth = Truth("s", 20.0, dict.fromkeys(testing.TAKES, 0.3))
    ruler = testing.victim(truth, {B: {"llc": 1.0}}, rng, scatter=0.0)
    levels = {
        level: [replace(run, others=None) for run in runs] if "llc" in level else runs
        for level, runs in ruler.levels.items()
    }
    silent = replace(ruler, levels=levels)
    shown = {name_of(silent): silent.levels[B]}
    weighed = weigh([silent], shown, 0.99, bounds_ns=(BOUND_NS,), doses=grid([silent]))
    assert weighed.by_resource()["llc"][0] > 0.1, "as likely as others that slow as much"
