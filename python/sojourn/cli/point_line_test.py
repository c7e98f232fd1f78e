"""One line a point, of at most 110 characters, whatever it is called and whatever became of it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from sojourn import spec
from sojourn.analysis import reasons
from sojourn.cli import point_line
from sojourn.cli.point_line import WIDTH, line
from sojourn.plan import Outcome, Phase, Verdict, next_point
from sojourn.plan.points import Course, Misses
from sojourn.plan.rehearsal import imagine
from sojourn.plan.setting import Level, Setting
from sojourn.testing_questions import PLANS

XZ = "batch:xz,where=server,policy=idle"
LONG = 'neighbour=none,"batch:xz,where=server,policy=idle"'
STUDY = spec.load("latency_vs_load", varied=["services.memcached.params.threads=1,2", LONG])
SWEEP = replace(
    imagine(next_point(STUDY, (), PLANS) or pytest.fail("no point")), verdict=Verdict.HOLDS
)
STOPPED = (
    "client stopped: the client did not run for 47.5 ms in 28 outages, the longest 4.05 ms: "
    "2.37 % of the time, 1.00 % may be; use a quieter host or CPUs of its own, or measure longer"
)


def swept(**changes: object) -> Outcome:
    """A point of the sweep with the levels of the study, and what became of it."""
    levels: dict[str, Level] = {
        "load": 0.7,
        "services.memcached.params.threads": 2,
        "neighbour": XZ,
    }
    point = replace(
        SWEEP.point,
        phase=Phase.SWEEP,
        offered_rps=70_800.0,
        fraction=0.7,
        setting=Setting.of(levels),
    )
    point = replace(point, key=point.cell.key())
    return replace(SWEEP, point=point, p99_ns=154e3, **changes)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run speaks for itself; `cli_test` has the probabilities of a search."""
    monkeypatch.setattr(point_line, "chance", lambda *_: None)


def line_text(outcome: Outcome) -> str:
    return line(STUDY, outcome, [outcome], place=" 14/42").text


def test_a_line_has_place_service_load_levels_tail_and_verdict() -> None:
    assert line_text(swept()) == (
        " 14/42  memcached sweep   70 % 70.8k/s  xz on the same CPU as SCHED_IDLE"
        "  2 threads  p99 154 µs  holds"
    )


def test_the_tail_says_how_much_is_known_of_it() -> None:
    bound = swept(over_surely=0)
    assert "p99 ≤154 µs  holds" in line_text(bound)
    assert "p99 ≤155 µs  holds" in line_text(replace(bound, p99_ns=154_200.0)), "rounded up"
    some = Misses(requests=bound.requests // 3, over=0)
    point = replace(bound.point, setting=Setting.of(load=0.7))
    others = replace(bound, point=point, undisturbed=some)
    assert "p99 154 µs  holds" in line_text(others), "stops of the server are what users waited"
    doubted = swept(verdict=Verdict.UNKNOWN, reasons=(STOPPED,))
    assert line_text(doubted).endswith("  p99 (154 µs)  unknown  client stopped 2.4 %")
    assert "p99 –" in line_text(replace(doubted, p99_ns=None))
    lost = replace(swept(verdict=Verdict.VIOLATED, requests=1000, lost=50), p99_ns=None)
    assert line_text(lost).endswith("p99 never  violated")


def test_a_point_that_is_measured_again_is_marked() -> None:
    first = swept()
    second = replace(first, point=replace(first.point, key=first.point.cell.key(1)))
    assert "again" not in line_text(first)
    assert "  again  p99" in line_text(second)


@pytest.mark.parametrize(
    ("course", "words"),
    [
        (Course.COLD, "warm-up too short"),
        (Course.MOVES, "not steady"),
        (Course.GROWS, "queue grows"),
    ],
)
def test_a_run_that_was_not_steady_says_why_and_the_next_for_how_long(
    course: Course, words: str
) -> None:
    first = swept(course=course)
    assert line_text(first).endswith(f"  p99 (154 µs)  unknown  {words}")
    point = replace(first.point, key=first.point.cell.key(1), warmup_s=4 * STUDY.run.warmup_s)
    longer = line_text(replace(first, point=point))
    assert "  again 4× as long  p99" in longer
    assert len(longer) <= WIDTH


def test_all_runs_together_decide_where_they_can(monkeypatch: pytest.MonkeyPatch) -> None:
    for likely, word in ((0.97, "holds"), (0.5, "borderline"), (0.04, "violated")):
        monkeypatch.setattr(point_line, "chance", lambda *_, p=likely: p)
        assert line_text(swept()).endswith(f"  {word}  P = {likely:.2f}")
        doubted = swept(verdict=Verdict.UNKNOWN, reasons=(STOPPED,))
        assert "  unknown  client" in line_text(doubted), "a run that is not valid decides nothing"


def test_the_answer_so_far_gives_way_first() -> None:
    outcome, answer = swept(), "so far ≈ 100k/s (80.0k–130k)"
    short = replace(outcome, point=replace(outcome.point, setting=Setting.of(load=0.7)))
    assert line(STUDY, short, [short], place="1/2", so_far=answer).text.endswith(f"holds  {answer}")
    assert answer not in line(STUDY, outcome, [outcome], place="1/2", so_far=answer * 2).text


LETTERS = "abcdefgh0123456789_"


def drawn(rng: Random) -> tuple[Outcome, dict[str, str]]:
    """An outcome that no study would have, and its levels: names and numbers of any length."""

    def text(most: int = 60) -> str:
        return "k" + "".join(rng.choices(LETTERS, k=rng.randint(0, most)))

    levels = {text(): text() for _ in range(rng.randint(0, 9))}
    verdict = rng.choice(list(Verdict))
    checks = [f"{name}: it was 99.99 % of 3 s" for name in reasons.KINDS]
    point = replace(
        SWEEP.point,
        service=text(),
        phase=Phase(text(20)),
        setting=Setting.of(levels),
        offered_rps=rng.choice([None, 10 ** rng.uniform(0, 9)]),
        fraction=rng.choice([None, rng.uniform(0.001, 9.99)]),
    )
    point = replace(point, key=point.cell.key(rng.choice([0, 1, 12])))
    outcome = replace(
        SWEEP,
        point=point,
        verdict=verdict,
        over_surely=rng.choice([None, 0]),
        p99_ns=rng.choice([None, 10 ** rng.uniform(0, 13)]),
        reasons=(rng.choice([*checks, text()]),) if verdict is Verdict.UNKNOWN else (),
    )
    return outcome, levels


def test_no_line_is_longer_and_none_loses_its_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, longest = Random(26), 0  # noqa: S311  # drawn for a test
    for _ in range(2000):
        outcome, levels = drawn(rng)
        monkeypatch.setattr("sojourn.plan.design.own_levels", lambda *_, own=levels: own)
        place = f"{rng.randint(1, 99_999)}/{rng.randint(1, 99_999)}"
        made = line(STUDY, outcome, [outcome], place=place, so_far="so far " * rng.randint(0, 9))
        longest = max(longest, len(made.text))
        assert len(made.text) <= WIDTH, made.text
        assert made.text.startswith(f"{place}  {outcome.point.service[:13]}")
        assert f"  {outcome.verdict.value}" in made.text
        if outcome.reasons:
            assert made.after.startswith(f"  {reasons.short(outcome.reasons[0])}")
        assert ("  again  " in made.text) is ("~" in outcome.point.key)
    assert longest == WIDTH == 110, "no more, nor is room left unused"
