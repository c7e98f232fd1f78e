"""The league from planted runs: which manager is best, and what is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import numpy as np
import pytest

from sojourn.analysis import study as find
from sojourn.analysis.testing import measured
from sojourn.findings.findings import Findings
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import Planner
from sojourn.plan.points import Phase, Point, Verdict
from sojourn.plan.setting import MANAGER, NEIGHBOUR, TWIN
from sojourn.questions import PLANS, answers, parts
from sojourn.questions.manager_league.files import Did, Managed, is_violated
from sojourn.questions.manager_league.judge import League
from sojourn.questions.manager_league.plan import PHASE
from sojourn.questions.manager_league.rows import Row, best, interval
from sojourn.report import terminal
from sojourn.samples.pace import Pace
from sojourn.spec import Study, load
from sojourn.stats.interval import Interval

TEXT = """
name = "league"
question = "Which manager?"
seed = 7
[run]
profile = "quick"
shield = "none"
fractions = [0.5]
repeats = {repeats}
measure_s = 10.0
[factors]
neighbour = ["none", "batch:xz,where=server"]
manager = ["none", "null", "static:idle=1", "parties"]
[[design.skip]]
levels = {{ neighbour = "none", manager = "null" }}
reason = "nothing to move"
[[design.skip]]
levels = {{ neighbour = "none", manager = "static:idle=1" }}
reason = "nothing to move"
[[design.skip]]
levels = {{ neighbour = "none", manager = "parties" }}
reason = "nothing to move"
[[services]]
kind = "memcached"
measure = ["manager_league"]
[services.qos]
q = 0.99
bound = "1ms"
"""
#: Violated seconds of ten, work that is left, changes an hour: by manager.
PLANTED = {
    "none": (9, 0.60, 0),
    "null": (9, 0.58, 0),
    "static:idle=1": (0, 0.48, 0),
    "parties": (3, 0.50, 360),
}
PEAK_RPS, N = 10_000.0, 1000
NONE: Mapping[str, int] = MappingProxyType({})


def study_of(repeats: int) -> Study:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "league.toml"
        path.write_text(TEXT.format(repeats=repeats))
        return load(path, asks=PLANS.mistakes)


def played(
    repeats: int = 3, lost: str = "", late_alone: int = 0, held_up: Mapping[str, int] = NONE
) -> StudyData:
    """The study as it would be measured.

    Args:
        repeats: blocks.
        lost: runs of this manager fail their self-check.
        late_alone: violated seconds of a run without a job.
        held_up: in how many runs a manager had no CPU for 4 of 10 s.
    """
    asked, done, rng = study_of(repeats), list[Measured](), np.random.default_rng(5)
    planner = Planner(asked, PLANS)
    while point := planner.next([one.outcome for one in done]):
        times = rng.exponential(1e5, int((point.offered_rps or PEAK_RPS) * 0.2))
        one = measured(point, times, bound_ns=1e6)
        done.append(
            _managed(one, point, lost, late_alone, held_up) if point.phase is PHASE else one
        )
    return StudyData(study=asked, measured=tuple(done), questions=PLANS)


def _managed(
    one: Measured, point: Point, lost: str, late_alone: int, held_up: Mapping[str, int]
) -> Measured:
    manager, is_alone = str(point.setting[MANAGER]), point.setting[NEIGHBOUR] == "none"
    late, share, per_h = PLANTED[manager]
    late = late_alone if is_alone else min(10, late + (point.repeat == 1 and late > 0))
    seconds = tuple((N, 100 if number < late else 5) for number in range(10))
    did = None
    if manager != "none":
        late_s = 4.0 if point.repeat < held_up.get(manager, 0) else 0.9
        did = Did(manager=manager, changes=per_h // 360, seconds=10.0, late_s=late_s)
    if manager == lost:
        failed = replace(one.outcome, verdict=Verdict.UNKNOWN, reasons=("the client was late",))
        one = replace(one, outcome=failed)
    pace = None if is_alone else _pace(share * (1 + 0.01 * (point.repeat - 1)))
    return replace(one, own=Managed(seconds=seconds, did=did), pace=pace)


def _pace(share: float) -> Pace:
    return Pace(
        called="xz",
        unit="files",
        per_s=10 * share,
        error_per_s=0.1,
        alone_per_s=10.0,
        alone_error_per_s=0.05,
        asked_per_s=None,
        seconds=9,
    )


@cache
def usual() -> Findings:
    """What is found where nothing goes wrong."""
    return find(played(), answers())


@cache
def once() -> Findings:
    """The same with one run of each."""
    return find(played(repeats=1), answers())


@cache
def overloaded() -> Findings:
    """The same on a machine on which memcached misses its target alone."""
    return find(played(late_alone=9), answers())


def league(findings: Findings) -> League:
    section = findings.section(League)
    assert section is not None
    return section


def row(findings: Findings, manager: str, *, is_alone: bool = False) -> Row:
    (one,) = [
        one
        for one in league(findings).rows
        if (one.manager, one.is_alone, one.is_twin) == (manager, is_alone, False)
    ]
    return one


def test_every_manager_has_one_run_a_block_and_the_aa_level_two() -> None:
    points = [one.outcome.point for one in played().measured]
    assert [p.phase for p in points].count(Phase.PEAK) == 1, "the axis is the service's alone"
    managed = [p for p in points if p.phase is PHASE]
    per_block = [p for p in managed if p.repeat == 0]
    names = sorted((str(p.setting[MANAGER]), TWIN in p.setting) for p in per_block)
    assert names == [
        ("none", False),
        ("none", False),
        ("null", False),
        ("null", True),
        ("parties", False),
        ("static:idle=1", False),
    ]
    orders = [[p.setting[MANAGER] for p in managed if p.repeat == block] for block in range(3)]
    assert len({tuple(order) for order in orders}) > 1, "each block has an order of its own"
    blocks = [p.repeat for p in managed]
    assert blocks == sorted(blocks), "blocks are not mixed"


def test_numbers_are_those_that_were_planted() -> None:
    parties = row(usual(), "parties")
    assert parties.violated == pytest.approx(10 / 30)
    assert parties.work == pytest.approx(0.5, rel=0.001)
    assert parties.changes_per_h == pytest.approx(360)
    assert (parties.runs, parties.lost, parties.neighbour) == (3, 0, "xz")
    none = row(usual(), "none")
    assert none.changes_per_h is None, "where there is no manager there is nothing to count"
    alone = row(usual(), "none", is_alone=True)
    assert (alone.work, alone.violated, alone.verdict) == (None, 0.0, Verdict.HOLDS)


def test_the_best_leaves_most_work_of_those_with_the_fewest_violated_seconds() -> None:
    section = league(usual())
    chosen = best(section.at(0.5))
    assert chosen is not None
    assert chosen.manager == "static:idle=1", "parties and none leave more, and violate more"
    assert section.verdict is Verdict.HOLDS
    assert section.answer == (
        "At 50 % load static, idle 1 keeps 48 % of xz with 0.0 of 10 s violated. "
        "Without a manager xz keeps 60 % and 9.3 of 10 s are."
    )


def test_a_manager_that_had_no_cpu_is_not_judged_by_those_runs() -> None:
    """Its knobs did not move, which is no decision of it."""
    findings = find(played(held_up={"parties": 1}), answers())
    parties = row(findings, "parties")
    assert (parties.runs, parties.lost, parties.verdict) == (3, 1, Verdict.UNKNOWN)
    assert parties.why == "in 1 of 3 runs the manager itself had no CPU"
    assert row(usual(), "parties").lost == 0, "0.9 of 10 s is not long enough"


def test_no_less_is_asked_of_a_manager_than_of_the_service_alone() -> None:
    """Fewer violated seconds than alone are chance, so they exclude nobody who has as many."""
    cells = [
        Row(
            manager=m,
            load=0.5,
            is_alone=m == "alone",
            seconds=10,
            violated=v,
            work=w,
            runs=3,
            violated_interval=Interval(lo=max(0.0, v - 0.15), hi=v + 0.15),
            work_interval=None,
        )
        for m, v, w in (
            ("alone", 0.13, None),
            ("capped", 0.03, 0.01),
            ("idle", 0.20, 0.41),
            ("null", 0.9, 0.5),
        )
    ]
    chosen = best(cells)
    assert chosen is not None
    assert chosen.manager == "idle"
    without = [one for one in cells if not one.is_alone]
    chosen = best(without)
    assert chosen is not None
    assert chosen.manager == "capped", "the interval of the fewest alone ends below idle's"


def test_no_manager_is_judged_where_the_service_alone_misses_its_target() -> None:
    section = league(overloaded())
    assert best(section.at(0.5)) is None
    assert section.verdict is Verdict.UNKNOWN
    assert any("alone misses its target at 50 % load" in why for why in section.reasons)
    assert "no manager can keep it" in section.answer


def test_equal_violations_are_no_reason_to_prefer_less_work() -> None:
    def made(manager: str, violated: float, work: float) -> Row:
        ends = Interval(lo=max(0.0, violated - 0.1), hi=violated + 0.1)
        return Row(manager=manager, load=0.5, violated=violated, violated_interval=ends, work=work)

    rows = [made("a", 0.0, 0.2), made("b", 0.05, 0.6), made("c", 0.5, 0.9)]
    chosen = best(rows)
    assert chosen is not None
    assert chosen.manager == "b"
    assert best([replace(one, why="too few runs") for one in rows]) is None


def test_too_few_valid_runs_give_no_interval_and_no_answer() -> None:
    section = league(once())
    assert section.verdict is Verdict.UNKNOWN
    assert all(one.violated_interval is None for one in section.rows)
    assert "parties at 50 % load: 1 of the 3 runs that are needed" in section.reasons
    lost = row(find(played(lost="parties"), answers()), "parties")
    assert (lost.violated, lost.verdict) == (None, Verdict.UNKNOWN)
    assert lost.lost == lost.runs >= 3


def test_runs_that_are_all_alike_are_not_taken_for_certainty() -> None:
    ends = interval([0.0] * 3, 30)
    assert ends is not None
    assert 0.1 < ends.hi < 0.13, "the exact limit of 0 of 30"
    whole = interval([1.0] * 3, 30)
    assert whole is not None
    assert (round(whole.lo, 3), whole.hi) == (round(1 - ends.hi, 3), 1.0)


def test_chance_makes_few_seconds_violated() -> None:
    late = np.random.default_rng(3).binomial(N, 0.01, 4000)
    share = np.mean([is_violated(N, int(count)) for count in late])
    assert 0.005 < share < 0.04, "one in 50, and the binomial is skewed"


def test_page_and_terminal_show_the_table_first() -> None:
    text = terminal.text(usual(), parts(), width=100)
    assert "Static, idle 1 keeps 48 % of xz" in text
    (line,) = [one for one in text.splitlines() if one.startswith("parties")]
    assert "3.3 of 10 s" in line
    assert "50.0 %" in line
    assert "360" in line
    assert "A/A" in text
