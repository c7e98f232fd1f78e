"""Loads in requests/s: read, refused beside shares, and planned without looking for the highest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import spec
from sojourn.errors import SpecFault
from sojourn.plan import Outcome, Phase, Planner, Point, progress
from sojourn.plan.rehearsal import imagine
from sojourn.plan.setting import TWIN
from sojourn.spec import Study
from sojourn.testing_questions import PLANS

Load = Callable[..., Study]
STUDY = """
name = "mine"
question = "?"
[run]
profile = "quick"
{run}
[[services]]
kind = "null"
measure = {measure}
[services.qos]
q = 0.99
bound = "1ms"
"""


@pytest.fixture(name="study")
def _study(tmp_path: Path) -> Load:
    def load(
        run: str = 'rates = ["20k", 500]', measure: str = '["sweep"]', **more: object
    ) -> Study:
        path = tmp_path / "mine.toml"
        path.write_text(STUDY.format(run=run, measure=measure))
        return spec.load(path, **more)  # type: ignore[arg-type]

    return load


def played(study: Study) -> list[Point]:
    """All points of a study whose service does as an imagined one."""
    outcomes: list[Outcome] = []
    planner = Planner(study, PLANS)
    while point := planner.next(outcomes):
        outcomes.append(replace(imagine(point), clusters=()))
        assert len(outcomes) < 100
    return [outcome.point for outcome in outcomes]


def test_rates_alone_are_offered_as_they_stand_and_nothing_else_is(study: Load) -> None:
    asked = study()
    points = played(asked)
    assert {point.phase for point in points} == {Phase.SWEEP}
    assert sum(TWIN in point.setting for point in points) == 1
    assert {(p.offered_rps, p.fraction) for p in points} == {(500.0, 0.025), (20_000.0, 1.0)}
    assert "rate=20000" in {p.setting.text for p in points}
    known = progress(asked, asked.services[0], [], PLANS)
    assert known.axis is not None
    assert (known.axis.rps, str(known.axis.rule), known.axis.runs) == (20_000.0, "asked", 0)


def test_what_needs_the_highest_load_measures_it(study: Load) -> None:
    points = played(study(measure='["sweep", "max_load"]', overrides=["run.search.budget_s=1"]))
    assert points[0].phase is Phase.PEAK
    swept = [point for point in points if point.phase is Phase.SWEEP]
    assert {point.offered_rps for point in swept} == {500.0, 20_000.0}
    assert all(p.fraction == pytest.approx((p.offered_rps or 0) / 1e5) for p in swept)


def test_a_study_with_rates_reads_back_as_it_was(study: Load, tmp_path: Path) -> None:
    asked = study()
    again = tmp_path / "again.toml"
    again.write_text(spec.to_toml(asked))
    assert spec.load(again) == asked
    shares = study(run="fractions = [0.5]")
    assert "rates" not in spec.to_toml(shares), "as records have it that know no rates"


def test_rates_are_varied_by_name(study: Load) -> None:
    asked = study(run="fractions = [0.5]", varied=["rate=1k,2k"])
    assert asked.run.rates_rps == (1000.0, 2000.0)
    assert asked.run.fractions == ()
    assert not asked.factors


@pytest.mark.parametrize(
    ("run", "measure", "text"),
    [
        ('rates = ["1k"]\nfractions = [0.5]', '["sweep"]', "leave one of them out"),
        ("fractions = []", '["sweep"]', "give fractions"),
        ('rates = ["0"]', '["sweep"]', "above 0"),
        ('rates = ["many"]', '["sweep"]', "not a number"),
        ('rates = ["1k", "1000"]', '["sweep"]', "a load twice"),
        ('rates = ["1k"]', '["breakdown"]', "needs shares of max RPS"),
    ],
)
def test_loads_that_cannot_be_are_refused(study: Load, run: str, measure: str, text: str) -> None:
    with pytest.raises(SpecFault) as caught:
        study(run=run, measure=measure)
    assert text in str(caught.value)


def test_an_axis_that_no_one_asks_for_is_refused(study: Load, tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match="asks for no load"):
        study(run="fractions = [0.5]", overrides=["services.null.max_rps=asked"])
    with pytest.raises(SpecFault, match="its own max RPS"):
        study(measure='["max_load"]', varied=["services.null.load.connections=1,2"])
