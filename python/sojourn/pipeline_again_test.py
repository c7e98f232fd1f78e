"""A study that is resumed measures failed points once more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn import store
from sojourn.errors import Exit, RunFault
from sojourn.pipeline_test import run
from sojourn.plan import Point, Verdict
from sojourn.store.named import FAILED, OUTCOME
from sojourn.store.record import Record
from sojourn.testing import Lab, installed

ONCE = ("--set", "run.retries=0")
LOADS = "run.fractions=[0.1,0.2,0.3,0.4,0.5,0.6,0.7]"
CURVE = (*ONCE, "--set", 'services.memcached.measure=["sweep"]', "--set", LOADS)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return installed(monkeypatch, tmp_path_factory.mktemp("locks"))


def failing(*numbers: int, stop: int = 0) -> Callable[[Point, int], None]:
    """Lets the points of these numbers, from 1, fail; ^C comes at point `stop`."""

    def trouble(_point: Point, number: int) -> None:
        if number in numbers:
            raise RunFault("the start was interrupted", at="pid 7", fix="run it again")
        if number == stop:
            raise KeyboardInterrupt

    return trouble


def record(results: Path) -> Record:
    return store.read(store.resolve(results, None))


def test_a_resumed_study_measures_a_failed_point_once_more_and_says_so(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.trouble = failing(3, stop=5)
    assert run(tmp_path, *CURVE) == Exit.INTERRUPTED
    assert [o.requests > 0 for o in record(tmp_path).outcomes()] == [True, True, False, True]
    failed = record(tmp_path).outcomes()[2].point
    capsys.readouterr()
    lab.trouble = failing(6, stop=8)  # the sixth is the first one of this invocation
    assert run(tmp_path, *CURVE) == Exit.INTERRUPTED
    text = " ".join(capsys.readouterr().err.split())
    assert f"measured again, because it failed: {failed.key}" in text
    assert "the start was interrupted" in text
    keys = [point.key for point in lab.points[5:]]
    assert keys[0] == failed.key
    assert failed.key not in keys[1:], "it failed again, which is enough for one invocation"
    lab.trouble = failing()
    run(tmp_path, *CURVE)
    last = record(tmp_path)
    assert last.is_complete
    of_failed = [o for o in last.outcomes() if o.point.cell == failed.cell]
    assert [(o.point.key, o.requests > 0) for o in of_failed] == [(failed.key, True)]
    names = sorted(file.name for file in last.path.glob("points/*/*.parquet"))
    assert names.count(FAILED) == 2, "their files remain"
    assert names.count(OUTCOME) == len(last.outcomes())


def test_a_failed_run_that_the_search_has_passed_over_stays(lab: Lab, tmp_path: Path) -> None:
    lab.trouble = failing(3, stop=5)
    assert run(tmp_path, *ONCE) == Exit.INTERRUPTED
    before = record(tmp_path).outcomes()
    lab.trouble = failing(stop=6)
    assert run(tmp_path, *ONCE) == Exit.INTERRUPTED
    assert record(tmp_path).outcomes() == before, "its runs are numbered one after another"


def test_a_study_of_which_nothing_was_measured_is_measured_when_it_is_resumed(
    lab: Lab, tmp_path: Path
) -> None:
    lab.trouble = failing(*range(1, 100))
    assert run(tmp_path, *ONCE) == Exit.FAILED
    lab.trouble = failing()
    run(tmp_path, *ONCE)
    assert len(list(tmp_path.glob("*/*/*/manifest.json"))) == 1, "no --new was needed"
    assert any(o.verdict is not Verdict.UNKNOWN for o in record(tmp_path).outcomes())
