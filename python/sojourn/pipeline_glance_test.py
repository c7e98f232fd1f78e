"""A study that is looked at once and stored nowhere, on a simulated machine."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import pipeline, spec, store
from sojourn.analysis import rerun
from sojourn.errors import RunFault
from sojourn.findings.findings import Findings
from sojourn.findings.state import Settle
from sojourn.plan import Point
from sojourn.questions import PLANS
from sojourn.record.load import study_data
from sojourn.testing import Session, installed

WATCHER = SimpleNamespace(
    opened=lambda *_: None,
    event=lambda *_: None,
    began=lambda *_: None,
    ended=lambda *_: None,
)
SETS = ("run.measure_s=0.5", "run.search.probe_s=1", "run.search.budget_s=3")


def test_what_is_not_stored_names_no_command_that_goes_on_with_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """It was `sojourn run try`, and there is no such study."""
    installed(monkeypatch, tmp_path_factory.mktemp("locks"))
    of_record, takes_values = pipeline.findings_of, []

    def undecided(path: Path) -> Findings:
        takes_values.append(rerun.takes_values(study_data(store.read(path), PLANS)))
        findings = of_record(path)
        settle = Settle(command="sojourn try", seconds=1, why="measure what is left")
        return replace(findings, state=replace(findings.state, done=0, settle=settle))

    monkeypatch.setattr(pipeline, "findings_of", undecided)
    study = spec.load("max_load_memcached", profile="quick", overrides=SETS)
    result = pipeline.glance(study, WATCHER, length_s=60)
    assert result.points
    assert result.state.settle is None
    assert takes_values == [False]


def lost(_point: Point, number: int, *, among: range) -> None:
    """The service is not there at these points, counted from 1."""
    if number in among:
        raise RunFault("service has ended by itself", at="http://h/", fix="start it again")


@pytest.mark.parametrize(
    ("among", "away_s", "are_later"),
    [(range(4, 5), 0.5, True), (range(4, 99), None, False), (range(4, 99), 0.5, False)],
    ids=["restarted", "gone", "never there for long"],
)
def test_points_from_before_a_service_ended_are_the_answer(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    among: range,
    away_s: float | None,
    *,
    are_later: bool,
) -> None:
    """`try` ended with code 4 at the third point without a service, and had lost what it knew."""
    lab = installed(monkeypatch, tmp_path_factory.mktemp("locks"))
    lab.trouble = partial(lost, among=among)
    monkeypatch.setattr(Session, "away_s", lambda *_: away_s)
    study = spec.load("max_load_memcached", profile="quick", overrides=SETS)
    result = pipeline.glance(study, WATCHER, length_s=60)
    measured = [row for row in result.points if row.achieved_rps]
    missing = [row for row in result.points if not row.achieved_rps]
    assert len(measured) >= 3
    assert "service has ended by itself" in missing[0].reasons[0]
    assert (result.points[-1] in measured) is are_later
    assert len(missing) == (3 if away_s and not are_later else 1), "it gives up after three"


def test_a_service_that_was_never_measured_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lab = installed(monkeypatch, tmp_path_factory.mktemp("locks"))
    lab.trouble = partial(lost, among=range(1, 99))
    study = spec.load("max_load_memcached", profile="quick", overrides=SETS)
    with pytest.raises(RunFault, match="ended by itself"):
        pipeline.glance(study, WATCHER, length_s=60)
