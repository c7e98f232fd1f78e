"""A study that is looked at once and stored nowhere, on a simulated machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import pipeline, spec, store
from sojourn.analysis import rerun
from sojourn.findings.findings import Findings
from sojourn.findings.state import Settle
from sojourn.questions import PLANS
from sojourn.record.load import study_data
from sojourn.testing import installed

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
    watcher = SimpleNamespace(
        opened=lambda *_: None,
        event=lambda *_: None,
        began=lambda *_: None,
        ended=lambda *_: None,
    )
    study = spec.load("max_load_memcached", profile="quick", overrides=SETS)
    result = pipeline.glance(study, watcher, length_s=60)
    assert result.points
    assert result.state.settle is None
    assert takes_values == [False]
