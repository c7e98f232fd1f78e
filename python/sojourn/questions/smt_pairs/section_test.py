"""Two copies on a core over one alone: closed form, what is reported, what is unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn import analysis, report, spec
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import Outcome, Planner, Verdict
from sojourn.questions import PLANS, answers, parts
from sojourn.questions.smt_pairs.judge import SmtPairsFound, pair_of
from sojourn.report import figures, page
from sojourn.samples.pace import Pace


def ran(called: str, per_s: float, error: float = 0.05) -> Pace:
    return Pace(
        called=called,
        unit="files",
        per_s=per_s,
        error_per_s=error,
        alone_per_s=10.0,
        alone_error_per_s=0.1,
        asked_per_s=None,
        seconds=11,
    )


def test_the_speed_up_is_that_of_the_paces_block_by_block() -> None:
    """A machine that is half as fast in one block has the same speed-up there."""
    core = {n: ran("xz", 10.0 / (1 + n % 2)) for n in range(3)}
    pair = {n: ran("xz", 12.5 / (1 + n % 2)) for n in range(3)}
    result = pair_of("batch:xz", {"core": core, "pair": pair})
    assert result.speed_up == pytest.approx(1.25)
    assert result.interval is not None
    assert [result.interval.lo, result.interval.hi] == pytest.approx([1.25, 1.25])
    assert (result.blocks, result.is_across_blocks) == (3, True)
    one = pair_of("batch:xz", {"core": {0: core[0]}, "pair": {0: pair[0], 1: pair[1]}})
    assert one.interval is not None
    assert one.interval.lo < 1.25 < one.interval.hi
    assert (one.blocks, one.is_across_blocks) == (1, False)
    assert pair_of("batch:xz", {"core": {0: core[0]}, "pair": {1: pair[1]}}).speed_up is None


def played(paces: dict[str, tuple[float, float]]) -> StudyData:
    """The packaged study with made-up paces (one alone, both) of some of its programs."""
    study = spec.load("smt_pairs", profile="quick", asks=PLANS.mistakes)
    levels = tuple(f"batch:{n},where={w}" for n in paces for w in ("core", "pair"))
    study = study.model_copy(update={"factors": {"neighbour": levels}})
    outcomes: list[Outcome] = []
    measured: list[Measured] = []
    planner = Planner(study, PLANS)
    while point := planner.next(outcomes):
        outcome = Outcome(
            point=point,
            verdict=Verdict.HOLDS,
            reasons=(),
            offered_rps=100,
            achieved_rps=100,
            requests=400,
            over_bound=None,
            lost=0,
            mean_ns=1e4,
            p50_ns=1e4,
            p95_ns=1e4,
            p99_ns=1e4,
            correlation=1,
            wall_s=4,
            folder="",
            neighbour_per_s=1.0,
        )
        name, _, where = str(point.setting["neighbour"]).removeprefix("batch:").partition(",where=")
        pace = paces[name][where == "pair"]
        outcomes.append(outcome)
        measured.append(Measured(outcome=outcome, pace=ran(name, pace) if pace else None))
    return StudyData(study=study, measured=tuple(measured), questions=PLANS)


def test_from_plan_to_page() -> None:
    result = analysis.study(played({"xz": (10, 14), "numpy": (10, 11)}), answers())
    assert result.verdict is Verdict.HOLDS
    assert not result.services
    assert "do 1.10 times (" in result.answer
    assert "; numpy) to 1.40 times (" in result.answer
    section = result.section(SmtPairsFound)
    assert section is not None
    assert [pair.program for pair in section.pairs] == ["xz", "numpy"]
    assert "xz 1.40 (1.38 to 1.42) 10 files/s 14 files/s" in " ".join(
        report.text(result, parts()).split()
    )
    drawn = figures.of_study(result)
    html = page.html(result, of_services={}, of_study=drawn)
    assert 'id="smt_pairs"' in html
    assert "Two copies of xz on the hyper-threads of a core do 1.40 times" in html
    (figure,) = (figure for figure in drawn if figure.name == "smt_pairs")
    assert figure.chart


def test_a_program_without_a_pace_leaves_the_verdict_open() -> None:
    data = played({"xz": (10, 14), "numpy": (10, 0)})
    result = analysis.study(replace(data), answers())
    assert result.verdict is Verdict.UNKNOWN
    assert any("numpy: no block has" in reason for reason in result.reasons)
    assert "1.40 times" in result.answer
