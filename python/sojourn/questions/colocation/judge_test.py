"""Rules of co-location from planted services: a known tail and a known pace in every cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from sojourn.analysis import study as find
from sojourn.analysis.testing import measured
from sojourn.errors import SpecFault
from sojourn.findings.findings import Findings
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import Planner
from sojourn.plan.points import Point, Verdict
from sojourn.plan.setting import NEIGHBOUR
from sojourn.questions import PLANS, answers
from sojourn.questions.colocation.judge import Colocation, Rule
from sojourn.samples.pace import Pace
from sojourn.spec import Study, load

TEXT = """
name = "shared"
question = "Up to which load may a job stay?"
seed = 7
aa = false
[run]
profile = "quick"
shield = "none"
fractions = [0.1, 0.3, 0.5]
repeats = 3
measure_s = 0.5
[factors]
neighbour = ["none", "noise:cpu,where=server", "noise:cpu,where=server,policy=idle"]
[[services]]
kind = "memcached"
measure = ["colocation"]
[services.qos]
q = 0.99
bound = "1ms"
[services.colocation]
loss_max = 0.6
"""
PEAK_RPS = 10_000.0
FAST_NS, SLOW_NS = 50e3, 800e3  # mean sojourn times: p99 is 4.6 times as much
Tail = Callable[[str, float], float]
PaceOf = Callable[[str, float], float]
Died = Callable[[Point], bool]


def tail(neighbour: str, share: float) -> float:
    """By default the job makes memcached miss its target from 50 % load on."""
    return SLOW_NS if neighbour.endswith("where=server") and share >= 0.5 else FAST_NS


def pace_left(neighbour: str, share: float) -> float:
    """It keeps nine tenths of what memcached leaves, as SCHED_IDLE eight."""
    return (0.8 if "idle" in neighbour else 0.9) * (1 - share)


def study_of(text: str = TEXT) -> Study:
    """A study as its file has it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "shared.toml"
        path.write_text(text)
        return load(path)


def played(
    *,
    tail_of: Tail = tail,
    retained_of: PaceOf = pace_left,
    noise: float = 0.01,
    died: Died = lambda _: False,
    text: str = TEXT,
) -> StudyData:
    """The study as it would be measured, with planted tails and paces."""
    asked, done, rng = study_of(text), list[Measured](), np.random.default_rng(5)
    planner = Planner(asked, PLANS)
    while point := planner.next([one.outcome for one in done]):
        who, share = str(point.setting.get(NEIGHBOUR, "none")), point.fraction or 0.0
        rps = point.offered_rps or PEAK_RPS
        times = rng.exponential(tail_of(who, share), int(rps * point.measure_s))
        one = measured(point, times, bound_ns=1e6, seconds=1)
        if died(point):
            gone = "neighbour died: noise ended by signal 9"
            one = replace(
                one, outcome=replace(one.outcome, verdict=Verdict.UNKNOWN, reasons=(gone,))
            )
        if who != "none" and point.fraction:
            share_retained = retained_of(who, share) * (1 + noise * (point.repeat - 1))
            one = replace(one, pace=beside(share_retained))
        done.append(one)
    return StudyData(study=asked, measured=tuple(done), questions=PLANS)


def beside(share: float) -> Pace:
    """A neighbour that keeps this share of 100 lines/s."""
    return Pace(
        called="noise",
        unit="lines",
        per_s=100 * share,
        error_per_s=1.0,
        alone_per_s=100.0,
        alone_error_per_s=0.5,
        asked_per_s=None,
        seconds=9,
    )


def section_of(findings: Findings) -> Colocation:
    """The section that puts all combinations together."""
    section = findings.section(Colocation)
    assert section is not None
    return section


@cache
def usual() -> Findings:
    """What is found where nothing goes wrong."""
    return find(played(), answers())


def _at_30(point: Point) -> bool:
    return str(point.setting.get(NEIGHBOUR)).endswith("where=server") and point.fraction == 0.3


@cache
def bereft() -> Findings:
    """The same where the neighbour that shares by default always died at 30 % load."""
    return find(played(died=_at_30), answers())


def rule_of(colocation: Colocation, setting: str) -> Rule:
    (rule,) = [rule for rule in colocation.rules if rule.setting == setting]
    return rule


SAME = "same CPUs"
IDLE = "same CPUs, neighbour's policy = idle"


def test_a_rule_climbs_to_the_last_load_at_which_tail_and_loss_are_met() -> None:
    """By default the tail ends it after 30 %; as SCHED_IDLE at 50 % it keeps 0.40 of 0.4."""
    colocation = section_of(usual())
    rule, idle = rule_of(colocation, SAME), rule_of(colocation, IDLE)
    assert (rule.load, rule.verdict) == (0.3, Verdict.HOLDS)
    assert rule.stop is not None
    assert (rule.stop.load, rule.stop.verdict) == (0.5, Verdict.VIOLATED)
    assert "p99 3." in rule.stop.why
    assert rule.kept is not None
    assert rule.kept.share == pytest.approx(0.63, rel=0.03)
    assert "Up to 30 % load memcached keeps p99 ≤ 1 ms beside cpu (same CPUs)" in colocation.answer
    assert "of its pace alone; not at 50 %: p99 3." in colocation.answer
    assert (idle.load, idle.verdict) == (0.3, Verdict.UNKNOWN)
    assert idle.stop is not None
    assert idle.stop.meets is Verdict.HOLDS
    assert "40 % is the least" in idle.stop.why


SMALL = TEXT.replace(', "noise:cpu,where=server,policy=idle"]', "]").replace("0.3, 0.5]", "0.3]")


@pytest.mark.parametrize(
    ("tail_of", "retained_of", "noise", "verdict", "text"),
    [
        (lambda *_: FAST_NS, pace_left, 0.01, Verdict.HOLDS, "no higher load was measured"),
        (
            lambda n, _: FAST_NS if n == "none" else SLOW_NS,
            pace_left,
            0.01,
            Verdict.VIOLATED,
            "no load is admitted; not at 10 %: p99",
        ),
        (lambda *_: FAST_NS, lambda *_: 0.3, 0.01, Verdict.VIOLATED, "40 % is the least"),
        (lambda *_: FAST_NS, pace_left, 0.5, Verdict.UNKNOWN, "40 % is the least"),
    ],
)
def test_a_verdict_comes_out_each_way(
    tail_of: Tail, retained_of: PaceOf, noise: float, verdict: Verdict, text: str
) -> None:
    """Everything fits; the tail never does; the loss never does; and a loss that noise hides."""
    findings = find(
        played(tail_of=tail_of, retained_of=retained_of, noise=noise, text=SMALL), answers()
    )
    colocation = section_of(findings)
    assert (findings.verdict, colocation.verdict) == (verdict, verdict)
    assert text in colocation.answer
    assert bool(colocation.reasons) == (verdict is Verdict.UNKNOWN)


def test_a_cell_whose_neighbour_died_is_unknown_and_stops_its_rule_alone() -> None:
    colocation = section_of(bereft())
    rule, idle = rule_of(colocation, SAME), rule_of(colocation, IDLE)
    assert (rule.load, rule.verdict) == (0.1, Verdict.UNKNOWN)
    assert rule.stop is not None
    assert "neighbour died" in rule.stop.why
    assert rule.stop.lost == rule.stop.runs > 0
    assert idle.load == 0.3
    assert bereft().verdict is Verdict.UNKNOWN
    assert any("30 % load: neighbour died" in why for why in colocation.reasons)


def test_on_cpus_of_its_own_another_loss_may_be_and_the_share_of_them_is_reported() -> None:
    text = SMALL.replace("where=server", "where=apart")
    data = played(tail_of=lambda *_: FAST_NS, retained_of=lambda *_: 0.97, text=text)
    own = tuple(replace(m, pace=m.pace and replace(m.pace, core_share=0.25)) for m in data.measured)
    colocation = section_of(find(replace(data, measured=own), answers()))
    alone, apart = colocation.shared
    assert (apart.place, apart.loss_max, apart.core_share) == ("separate CPUs", 0.1, 0.25)
    assert rule_of(colocation, "separate CPUs").load == 0.3
    assert (alone.neighbour, alone.core_share, len(colocation.rules)) == ("", 1.0, 1)
    assert {cell.kept for cell in alone.cells} == {None}
    assert all(cell.verdict is Verdict.HOLDS for cell in alone.cells)


def test_without_a_target_or_its_table_it_is_refused_before_the_run(tmp_path: Path) -> None:
    path = tmp_path / "shared.toml"
    for table in ("qos", "colocation"):
        head, _, tail_of = TEXT.partition(f"[services.{table}]")
        path.write_text(head + tail_of.partition("\n[")[1] + tail_of.partition("\n[")[2])
        with pytest.raises(SpecFault, match=rf"needs a \[services.{table}\] table"):
            load(path, asks=PLANS.mistakes)


def test_it_is_asked_of_one_service_of_a_study() -> None:
    one = {"measure": ["colocation"], "qos": {}, "colocation": {}}
    assert not list(PLANS.mistakes([one, {"measure": ["sweep"]}]))
    ((at, what, _),) = PLANS.mistakes([one, one])
    assert at == ("services", 1, "measure")
    assert "another service is asked for already" in what
