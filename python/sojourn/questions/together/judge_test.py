"""What services do to each other: a ratio within blocks, with an interval that covers the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sojourn.analysis import study as find
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import Outcome, Point, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import play
from sojourn.questions import PLANS, answers
from sojourn.questions.together import plan
from sojourn.questions.together.judge import Together, meetings, ratio_of
from sojourn.spec import load

TEXT = """
name = "pair"
question = "What do two services do to each other?"
[run]
profile = "quick"
repeats = 4
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
[together]
memcached = [0.3]
synthetic = [0.3]
"""
TIMES = 8.0  # how much longer memcached takes beside the other


def tailed(outcome: Outcome, p99_ns: float) -> Outcome:
    """The same with this p99, and as many misses of 1 ms as an exponential tail then has."""
    share = 0.01 ** (1e6 / p99_ns)
    return replace(outcome, p99_ns=p99_ns, over_bound=round(share * outcome.requests))


def lost_all(outcome: Outcome, share: float) -> Outcome:
    """The same, but that this share of the requests, more than p99 leaves out, was lost."""
    lost = round(share * outcome.requests)
    return replace(outcome, p99_ns=None, lost=lost, over_bound=lost)


def measured(tmp_path: Path, *, slow: float = TIMES, lost: str = "", repeats: int = 4) -> StudyData:
    path = tmp_path / "pair.toml"
    path.write_text(TEXT.replace("repeats = 4", f"repeats = {repeats}"))
    study = load(path)
    drawn = np.random.default_rng(3)
    of_block = np.exp(drawn.normal(0, 1, 10))  # the machine changes a lot between blocks

    def measure(point: Point) -> Outcome:
        if point.phase is not plan.PHASE:
            return imagine(point)
        is_slowed = point.service == "memcached" and len(point.setting) > 1
        factor = of_block[point.repeat] * (slow if is_slowed else 1.0)
        p99_ns = 2e5 * factor * math.exp(drawn.normal(0, 0.1))
        is_lost = lost and lost in point.key
        verdict = Verdict.UNKNOWN if is_lost else Verdict.HOLDS
        reasons = ("client stopped",) if is_lost else ()
        result = replace(imagine(point), verdict=verdict, reasons=reasons)
        return tailed(result, p99_ns)

    played = play(study, measure, PLANS)
    return StudyData(
        study=study, measured=tuple(Measured(outcome=o) for o in played), questions=PLANS
    )


def test_the_ratio_is_that_of_the_same_blocks_and_its_interval_is_narrow(tmp_path: Path) -> None:
    slowed, other = meetings(measured(tmp_path))
    assert (slowed.service, slowed.blocks, slowed.beside) == ("memcached", 4, (("synthetic", 0.3),))
    assert slowed.lo is not None
    assert slowed.hi is not None
    assert slowed.lo < TIMES < slowed.hi
    assert slowed.hi / slowed.lo < 2, "what blocks have in common is no spread"
    assert slowed.is_longer
    assert not other.is_longer


def test_the_interval_covers_as_often_as_it_says() -> None:
    drawn = np.random.default_rng(5)
    covered = 0
    for _ in range(1000):
        pairs = [(3.0 * math.exp(drawn.normal(0, 0.3)), 1.0) for _ in range(3)]
        values = ratio_of(pairs)
        assert values is not None
        covered += values[1] <= 3.0 <= values[2]
    assert abs(covered - 950) < 4 * math.sqrt(1000 * 0.95 * 0.05)


def test_one_block_and_runs_that_are_not_believed_compare_nothing(tmp_path: Path) -> None:
    alone, _ = meetings(measured(tmp_path, repeats=1))
    assert (alone.ratio, alone.lo, alone.blocks) == (None, None, 1)
    assert "two are needed" in alone.reasons[-1]
    both = "load.memcached=0.3,load.synthetic=0.3"
    lost, _ = meetings(measured(tmp_path, lost=both))
    assert lost.ratio is None
    assert any("client stopped" in why for why in lost.reasons)


def changed(data: StudyData, change: Callable[[Outcome], Outcome]) -> StudyData:
    """The same study, of whose measurements together some outcomes came out otherwise."""
    return replace(
        data,
        measured=tuple(
            replace(m, outcome=change(m.outcome)) if len(m.outcome.point.setting) > 1 else m
            for m in data.measured
        ),
    )


def test_requests_that_were_lost_are_infinitely_late_and_not_left_out(tmp_path: Path) -> None:
    def lose(outcome: Outcome) -> Outcome:
        is_hit = outcome.point.service == "memcached" and outcome.point.repeat == 1
        return lost_all(outcome, 0.1) if is_hit else tailed(outcome, 5e5)

    colocated, _ = meetings(changed(measured(tmp_path), lose))
    assert colocated.qos is Verdict.UNKNOWN, "one block violates the target, and the others hold it"
    assert colocated.ratio is None
    assert any("infinite in 1 of 4 blocks" in why for why in colocated.reasons)
    all_lost, _ = meetings(changed(measured(tmp_path), lambda o: lost_all(o, 0.1)))
    assert all_lost.qos is Verdict.VIOLATED
    assert (all_lost.ratio, all_lost.p99_ns) == (None, None)


def test_a_service_is_compared_where_those_beside_it_were_believed_too(tmp_path: Path) -> None:
    """memcached believes itself first, the other later: never at the same time."""
    data = measured(tmp_path)

    def split(outcome: Outcome) -> Outcome:
        is_lost = outcome.point.service == "synthetic"
        return replace(
            outcome,
            verdict=Verdict.UNKNOWN if is_lost else Verdict.HOLDS,
            reasons=("client late",) if is_lost else (),
        )

    colocated, _ = meetings(changed(data, split))
    assert (colocated.ratio, colocated.blocks) == (None, 0)
    assert any("client late" in why for why in colocated.reasons)

    pairs = [m for m in data.measured if len(m.outcome.point.setting) > 1]
    later = []
    for m in pairs:
        point, is_memcached = m.outcome.point, m.outcome.point.service == "memcached"
        again = replace(point, key=point.cell.key(1))
        verdict = Verdict.UNKNOWN if is_memcached else Verdict.HOLDS
        later.append(replace(m, outcome=replace(m.outcome, point=again, verdict=verdict)))
    of_both = replace(data, measured=(*data.measured, *later))
    assert [m.blocks for m in meetings(of_both)] == [4, 4], "the first attempt was whole"
    first_lost = changed(data, split)
    colocated, _ = meetings(replace(first_lost, measured=(*first_lost.measured, *later)))
    assert colocated.blocks == 0, (
        "memcached was valid in the first attempt, the other in the second"
    )


def test_half_a_measurement_that_a_kill_left_is_none(tmp_path: Path) -> None:
    data = measured(tmp_path)
    pairs = [m for m in data.measured if len(plan.shares_of(m.outcome.point)) > 1]
    gone = [m for m in pairs if m.outcome.point.service == "synthetic"]
    [colocated] = meetings(replace(data, measured=tuple(m for m in data.measured if m not in gone)))
    assert (colocated.service, colocated.blocks, colocated.ratio) == ("memcached", 0, None)


def test_a_quantile_of_too_few_requests_is_not_compared(tmp_path: Path) -> None:
    few = changed(measured(tmp_path), lambda outcome: replace(outcome, requests=150))
    colocated, _ = meetings(few)
    assert (colocated.ratio, colocated.blocks) == (None, 0)
    assert any("150 requests" in why for why in colocated.reasons)


def test_the_answer_is_a_sentence_for_each_service(tmp_path: Path) -> None:
    section = find(measured(tmp_path), answers()).section(Together)
    assert section is not None
    assert "Beside synthetic at 30 %, p99 of memcached at 30 % is" in section.answer
    assert "no difference was shown" in section.answer
    assert section.verdict is Verdict.UNKNOWN, "the bound lies between the blocks"


def times(data: StudyData, beside_ns: float | None, alone_ns: float) -> StudyData:
    """The same study with these p99s of memcached, which its bound of 1 ms is held against."""

    def give(outcome: Outcome) -> Outcome:
        is_pair = len(plan.shares_of(outcome.point)) > 1
        p99_ns = beside_ns if is_pair else alone_ns
        scale = 1 + outcome.point.repeat / 50  # blocks differ
        return tailed(outcome, p99_ns * scale) if p99_ns else lost_all(outcome, scale / 20)

    def report(measured: Measured) -> Measured:
        is_own = measured.outcome.point.phase is plan.PHASE
        is_own = is_own and measured.outcome.point.service == "memcached"
        return replace(measured, outcome=give(measured.outcome)) if is_own else measured

    return replace(data, measured=tuple(map(report, data.measured)))


@pytest.mark.parametrize(
    ("beside_ns", "alone_ns", "text"),
    [
        (5e6, 2e5, "instead of 206 µs, so it misses p99 ≤ 1 ms, which it meets alone."),
        (None, 2e5, "with p99 alone. It misses p99 ≤ 1 ms, which it meets alone."),
        (8e5, 2e5, ""),
        (5e6, 2e6, ""),
        (9.8e5, 2e5, ""),  # over the bound in some blocks only
    ],
    ids=["late", "lost", "in time", "late alone", "in some blocks"],
)
def test_a_target_that_is_missed_for_the_others_is_reported(
    beside_ns: float | None, alone_ns: float, text: str, tmp_path: Path
) -> None:
    section = find(times(measured(tmp_path), beside_ns, alone_ns), answers()).section(Together)
    assert section is not None
    assert text in section.answer
    assert ("misses" in section.answer) is bool(text)


def test_a_client_that_was_late_is_not_taken_for_a_service_that_is(tmp_path: Path) -> None:
    data = times(measured(tmp_path), 1.2e6, 2e5)
    late: dict[float | None, float] = {0.99: 5e5}
    colocated, _ = meetings(data)
    assert colocated.qos is Verdict.VIOLATED
    doubted = [replace(m, lateness_ns=late) for m in data.measured]
    colocated, _ = meetings(replace(data, measured=tuple(doubted)))
    assert (colocated.qos, colocated.alone_qos) == (Verdict.UNKNOWN, Verdict.HOLDS), (
        "late replies count late"
    )
    assert any("client added (500 µs)" in why for why in colocated.reasons)
    far = times(data, 5e6, 2e5)
    doubted = [replace(m, lateness_ns=late) for m in far.measured]
    colocated, _ = meetings(replace(far, measured=tuple(doubted)))
    assert colocated.qos is Verdict.VIOLATED, "more than the client was late by"


def test_a_bound_that_is_measured_counts_like_one_that_is_given(tmp_path: Path) -> None:
    path = tmp_path / "pair.toml"
    path.write_text(TEXT.replace('bound = "1ms"', 'rule = "low_load"\nfactor = 5.0'))
    study = load(path)

    def measure(point: Point) -> Outcome:
        outcome = imagine(point)
        is_pair = len(plan.shares_of(point)) > 1
        over = 0.3 if is_pair else 1e-4
        if point.phase is not plan.PHASE:
            return outcome
        assert point.service != "memcached" or outcome.over_bound is not None, "its bound is known"
        return replace(outcome, over_bound=round(outcome.requests * over))

    played = play(study, measure, PLANS)
    data = StudyData(
        study=study, measured=tuple(Measured(outcome=o) for o in played), questions=PLANS
    )
    colocated, other = meetings(data)
    assert (colocated.qos, colocated.alone_qos) == (Verdict.VIOLATED, Verdict.HOLDS)
    assert colocated.lost_target.startswith("p99 ≤ ")
    assert (other.qos, other.chance, other.target) == (None, None, ""), "it has no target"


def test_with_factors_it_is_told_under_which_levels_the_target_is_missed(tmp_path: Path) -> None:
    section = find(with_servers(tmp_path), answers()).section(Together)
    assert section is not None
    text = "With servers = 2, memcached at 30 % misses p99 ≤ 1 ms beside synthetic at 30 %"
    assert f"{text}, which it meets alone." in section.headline
    assert section.headline.count("misses") == 1, "with one server it takes 0.4 ms"


@pytest.mark.parametrize("slow", [1.0, 1 / TIMES])
def test_what_does_not_slow_is_not_reported_as_slowing(slow: float, tmp_path: Path) -> None:
    colocated, _ = meetings(measured(tmp_path, slow=slow))
    assert not colocated.is_longer


SERVERS = "services.synthetic.params.servers"


def with_servers(tmp_path: Path, *, blocks: int = 4) -> StudyData:
    """memcached takes 8 times as long beside synthetic's two servers, twice beside its one.

    Alone it takes three times as long with two servers of the other: that is no effect of meeting.
    """
    path = tmp_path / "pair.toml"
    text = TEXT.replace("repeats = 4", f"repeats = {blocks}")
    path.write_text(f'{text}\n[factors]\n"{SERVERS}" = [1, 2]\n')
    study = load(path)
    drawn = np.random.default_rng(4)

    def measure(point: Point) -> Outcome:
        if point.phase is not plan.PHASE:
            return imagine(point)
        is_two, is_satisfied = point.setting[SERVERS] == 2, len(plan.shares_of(point)) > 1
        beside = (8.0 if is_two else 2.0) if is_satisfied and point.service == "memcached" else 1.0
        p99_ns = 2e5 * beside * (3.0 if is_two else 1.0) * math.exp(drawn.normal(0, 0.05))
        return tailed(imagine(point), p99_ns)

    played = play(study, measure, PLANS)
    return StudyData(
        study=study, measured=tuple(Measured(outcome=o) for o in played), questions=PLANS
    )


def test_each_combination_of_levels_has_ratios_of_its_own(tmp_path: Path) -> None:
    colocated = [m for m in meetings(with_servers(tmp_path)) if m.service == "memcached"]
    assert [(m.under, m.blocks) for m in colocated] == [("servers = 1", 4), ("servers = 2", 4)]
    assert [m.ratio for m in colocated] == [pytest.approx(2, rel=0.2), pytest.approx(8, rel=0.2)]
    assert [m.levels for m in colocated] == [((SERVERS, 1),), ((SERVERS, 2),)]


def test_a_factors_effect_is_on_the_ratio_and_not_on_the_time(tmp_path: Path) -> None:
    section = find(with_servers(tmp_path), answers()).section(Together)
    assert section is not None
    of = {factor.service: factor for factor in section.factors}
    assert list(of) == ["memcached", "synthetic"]
    (effect,) = of["memcached"].effects
    assert effect.interval is not None
    assert effect.interval.lo < 4 < effect.interval.hi
    assert effect.interval.lo > 2, "twelve would be the effect on the time"
    (none,) = of["synthetic"].effects
    assert none.interval is not None
    assert none.interval.lo < 1 < none.interval.hi
    assert "as high with servers = 2 as with 1" in section.headline
    assert "beside synthetic at 30 % over alone" in section.headline


def test_an_effect_on_meetings_needs_two_blocks(tmp_path: Path) -> None:
    section = find(with_servers(tmp_path, blocks=1), answers()).section(Together)
    assert section is not None
    assert all(e.interval is None for factor in section.factors for e in factor.effects)
    assert "one block gives no interval" in section.headline
