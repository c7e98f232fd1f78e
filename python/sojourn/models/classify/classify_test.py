"""Services of known class come out right, neighbouring ones otherwise; the paper's nine agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from sojourn.models.classify import classify, evidence, planted, published, rules, signs
from sojourn.models.classify.answer import INFERRED, MEASURED, Class
from sojourn.models.classify.evidence import Ends
from sojourn.models.classify.planted import Known, Planted
from sojourn.models.classify.scenario import CPU, MEMORY, READ, WRITE, Carried, Scenario
from sojourn.models.classify.signs import Level, Signs, Trend


def seen(
    service: Planted, threads: Sequence[int] = (1, 8), *, seed: int = 1, **options: object
) -> Class:
    rng = np.random.default_rng(seed)
    made = [planted.scenario(service, n, rng, **options) for n in threads]  # type: ignore[arg-type]
    return classify("planted", made)


def words(result: Class) -> tuple[str, ...]:
    return tuple(answer.word for answer in result.answers)


@pytest.mark.parametrize("known", planted.TABLE, ids=lambda known: known.name)
@pytest.mark.parametrize("seed", range(4))
def test_a_planted_service_comes_out_right_within_a_minute_of_load(known: Known, seed: int) -> None:
    truth = (known.scalable, known.smt, known.critical)
    assert words(seen(known.service, seed=seed, seconds=30)) == truth


def test_each_parameter_moves_the_answer_once_and_not_back() -> None:
    def scalable(serial: float) -> str:
        return seen(Planted(serial=serial), seconds=60).scalable.word

    texts = [scalable(2.0**-power) for power in range(8)]
    assert texts[0] == "no"
    assert texts[-1] == "yes"
    order = {"no": 0, "undecided": 1, "yes": 2}
    assert texts == sorted(texts, key=order.__getitem__)
    assert "undecided" in texts  # between the two nothing is reported


def test_a_global_lock_has_the_exponent_of_the_utilisation_law() -> None:
    one, eight = (planted.use(Planted(serial=1.0), n).rates[CPU] for n in (1, 8))
    power = evidence.exponent(Ends(value=eight / one, lo=0.1, hi=0.2), 8)
    assert power is not None
    assert power.plus(1).value == pytest.approx(0.0, abs=1e-9)  # n threads carry what one does


@pytest.mark.parametrize(
    ("ratio", "trend"),
    [
        (0.2, Trend.SHARP),
        (0.3, Trend.UNKNOWN),
        (0.5, Trend.FALLS),
        (1.0, Trend.FLAT),
        (1.5, Trend.RISES),
    ],
)
def test_a_drop_is_sharp_where_eight_threads_do_less_than_twice_the_work(
    ratio: float, trend: Trend
) -> None:
    rng = np.random.default_rng(3)
    one, eight = (
        Scenario(threads=n, series={CPU: [share * (1 + 0.02 * rng.standard_normal(60))]})
        for n, share in ((1, 0.4), (8, 0.4 * ratio))
    )
    assert signs.of(one, eight).cpu_trend is trend  # 8 ** (1/3 - 1) is a quarter


def test_without_memory_bandwidth_busy_threads_are_not_taken_for_work() -> None:
    lock = seen(Planted(serial=1.0), blind=[MEMORY])
    assert lock.scalable.word == "no"  # CPU use alone drops
    scaler = seen(Planted(), blind=[MEMORY])
    assert scaler.scalable.word == "undecided"
    assert "spin" in scaler.scalable.why
    assert ("memory bandwidth", "this host does not count it") in scaler.unseen


def test_what_it_carried_has_the_last_word_and_contradictions_are_reported() -> None:
    spins = seen(Planted(serial=1.0, spins=True), has_load=True)
    assert (spins.scalable.word, spins.scalable.by) == ("no", MEASURED)
    assert spins.scalable.others[0].word == "undecided"
    assert not spins.scalable.is_contradicted
    # Its memory traffic grows by itself while it carries no more.
    rng = np.random.default_rng(1)
    one, eight = (planted.scenario(Planted(), n, rng) for n in (1, 8))
    load = Carried(rps=100, lo=95, hi=105)
    liar = classify("liar", [replace(one, carried=load), replace(eight, carried=load)])
    assert (liar.scalable.word, liar.scalable.others[0].word) == ("no", "yes")
    assert liar.scalable.is_contradicted
    wide = Carried(rps=100, lo=10, hi=1000)
    open_ = classify("open", [replace(one, carried=wide), replace(eight, carried=wide)])
    assert (open_.scalable.word, open_.scalable.by) == ("yes", INFERRED)


def test_siblings_are_judged_by_load_where_both_were_measured() -> None:
    rng = np.random.default_rng(1)

    def smt(service: Planted) -> str:
        both = [
            planted.scenario(service, 8, rng, is_packed=p, has_load=True) for p in (False, True)
        ]
        one = planted.scenario(service, 1, rng, has_load=True)
        result = classify("packed", [one, *both])
        assert result.smt.number_is.endswith("8-SMT over 8-ST")
        assert result.smt.by == MEASURED
        return result.smt.word

    assert smt(Planted()) == "yes"
    assert smt(Planted(cpu_s=1e-5, wait_s=1e-3)) == "no"


def test_too_few_samples_decide_nothing() -> None:
    short = seen(Planted(serial=1.0), seconds=11)
    assert words(short)[:2] == ("undecided", "undecided")
    assert any(reading.reads.startswith("too few samples") for reading in short.readings)
    alone = seen(Planted(), [8])
    assert alone.scalable.word == "undecided"
    with pytest.raises(ValueError, match="no scenario"):
        classify("nobody", [])


def test_the_interval_of_a_mean_covers_it_although_samples_depend_on_each_other() -> None:
    rng = np.random.default_rng(7)
    for runs, length in ((1, 30), (3, 10)):
        hits = 0
        for _ in range(400):
            series = [planted._noise(rng, length) for _ in range(runs)]
            result = evidence.mean(series)
            assert result is not None
            hits += result.ends.lo <= 0 <= result.ends.hi
        assert hits / 400 > 0.85, (runs, length)  # of 0.95; 0.75 where each sample counts


def test_of_two_means_the_ratio_has_the_closed_form_of_welch() -> None:
    base, top = (evidence.Mean(value=v, error=v / 100, freedom=9) for v in (1.0, 2.0))
    result = evidence.ratio(base, top)
    assert result is not None
    half = 2.100922 * math.sqrt(2) / 100  # Student's 97.5 % for 18 degrees of freedom
    assert (result.lo, result.hi) == pytest.approx(
        (2 * math.exp(-half), 2 * math.exp(half)), rel=1e-6
    )
    assert evidence.ratio(base, replace(top, value=0.0)) is None


def test_a_disk_that_is_used_now_and_then_makes_no_disk_service() -> None:
    def disk(reads: Sequence[float], writes: Sequence[float]) -> Signs:
        series = {READ: [np.array(reads)], WRITE: [np.array(writes)]}
        return signs.of(Scenario(threads=1, series=series), None)

    quiet, busy = [0.0] * 30, [5e6] * 30
    assert disk(quiet, [*busy[:3], *quiet[:27]]).disk is Level.LOW
    assert disk(quiet, busy).disk is Level.MEDIUM
    assert disk(quiet, busy).is_reader is False
    assert disk(busy, [1e6] * 30).is_reader is True  # five sixths
    assert disk(busy, [2e6] * 30).is_reader is False
    assert disk(quiet, [*busy[:15], *quiet[:15]]).disk is Level.UNKNOWN


def test_the_papers_nine_agree_and_what_is_not_seen_is_never_guessed_wrongly() -> None:
    first, *rest = published.agreements()
    assert all(row.is_right for row in first.rows)
    assert len(first.rows) == 27
    for result in rest:
        assert not [row for row in result.rows if row.is_wrong], result.sight
        assert [row for row in result.rows if row.ours == "undecided"], result.sight
    missed = {(question, rule): services for question, rule, _, services in published.simple()}
    assert missed["scalable", "CPU use does not fall"] == ("media-streaming",)
    assert missed["SMT-sensitive", "CPU use is not low"] == ("masstree",)


def test_the_loads_of_the_papers_text_say_the_same_as_its_table() -> None:
    assert [ours for *_, ours, _ in published.by_load()] == ["yes", "no", "no", "yes", "yes"]
    assert all(ours == paper for *_, ours, paper in published.by_load())


def test_actions_follow_from_the_answers() -> None:
    nothing = Signs()
    grows = Signs(memory_trend=Trend.RISES)
    assert rules.actions("undecided", "undecided", "undecided", nothing) == ()
    first, second = rules.actions("no", "no", rules.CPU_NO, nothing)
    assert "two logical CPUs" in first.what
    assert "siblings" in second.what
    (ways,) = rules.actions("yes", "yes", rules.CPU_YES, grows)
    assert "last-level cache" in ways.what
    (disk,) = rules.actions("yes", "yes", rules.DISK_WRITE, nothing)
    assert "lightly loaded" in disk.what


def test_what_represents_a_service_of_the_paper_is_held_against_it() -> None:
    kinds = {"tree": "ordered_map", "mine": "nginx"}
    lock, scaler = (
        replace(seen(service, blind=[MEMORY]), service=name)
        for service, name in (
            (Planted(serial=1.0), "tree, place = vm"),
            (Planted(writes=65536), "mine"),
        )
    )
    agreements = published.beside_ours(kinds, [lock, scaler])
    assert {one.service for one in agreements} == {
        "tree, place = vm"
    }  # NGINX stands for none of them
    assert all(one.is_right for one in agreements)  # masstree: not scalable, not sensitive, CPU
    wrong = published.beside_ours({"mine": "ordered_map"}, [scaler])
    assert [one.is_wrong for one in wrong if one.question == "critical resource"] == [True]
