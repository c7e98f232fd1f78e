"""`sojourn predict --measure`: what lacks is measured first, each study once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sojourn.cli import measure_first as tested
from sojourn.cli import run as run_cmd
from sojourn.cli.app import main
from sojourn.errors import Exit, SpecFault
from sojourn.foresight import study, testing, victims
from sojourn.foresight.victims import Victim

XZ = "batch:xz"
Measured = list[str]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Measured:
    """Names of the studies that ran; each makes its service known, with the neighbours in it."""
    rng = np.random.default_rng(2)
    every: list[Victim] = []
    names: Measured = []

    def run(*, study: str, results: Path) -> int:
        del results
        names.append(study)
        kind = Path(study).stem.removeprefix("foresight_")
        beside = {XZ: {"cpu": 0.8}} if f'"{XZ}"' in Path(study).read_text("utf-8") else {}
        every.append(testing.victim(testing.service(kind, rng), beside, rng))
        return Exit.OK

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(victims, "all_of", lambda _: list(every))
    monkeypatch.setattr(run_cmd, "run", run)
    return names


def ask(*words: str) -> int:
    return main(["predict", "--service", "memcached", "--results", ".", *words])


def test_the_service_and_then_a_ruler_are_measured_and_the_forecast_is_made(
    measured: Measured, capsys: pytest.CaptureFixture[str]
) -> None:
    code = ask("--beside", XZ, "--measure")
    assert code in (Exit.OK, Exit.UNKNOWN)
    assert measured == ["./foresight_memcached.toml", "./foresight_synthetic.toml"]
    out, err = capsys.readouterr()
    assert "predicted, not measured: memcached beside batch:xz" in out
    assert "measuring memcached beside doses first, about 5 minutes" in err


def test_what_is_known_is_not_measured_again(measured: Measured) -> None:
    ask("--beside", XZ, "--measure")
    ask("--beside", XZ, "--measure")
    assert len(measured) == 2


def test_without_the_option_nothing_is_measured(
    measured: Measured, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask("--beside", XZ) == Exit.USAGE
    assert not measured
    assert "or add --measure" in capsys.readouterr().err


def test_a_service_that_there_is_not_is_refused_before_anything_runs(
    measured: Measured, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["predict", "--service", "memcachd", "--beside", XZ, "--measure", "--results", "."]
    assert main(words) == Exit.USAGE
    assert "did you mean memcached?" in capsys.readouterr().err
    assert not measured


def test_a_study_that_was_stopped_ends_the_command(
    measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    del measured
    stopped: Callable[..., int] = lambda **_: Exit.INTERRUPTED  # noqa: E731
    monkeypatch.setattr(run_cmd, "run", stopped)
    assert ask("--beside", XZ, "--measure") == Exit.INTERRUPTED


def test_a_study_that_makes_nothing_known_runs_once(
    measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []

    def run(*, study: str, results: Path) -> int:
        del results
        runs.append(study)
        return Exit.UNKNOWN

    monkeypatch.setattr(run_cmd, "run", run)
    assert ask("--beside", XZ, "--measure") == Exit.USAGE
    assert runs == ["./foresight_memcached.toml"]
    assert not measured


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_of_that_name_is_not_run_unless_it_is_that_study(
    measured: Measured, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, is_link: bool
) -> None:
    text = study.text("memcached")
    other = tmp_path / "other"
    other.write_text(text if is_link else text + "# mine\n", "utf-8")
    path = tmp_path / "foresight_memcached.toml"
    path.symlink_to(other) if is_link else other.rename(path)
    assert ask("--beside", XZ, "--measure") == Exit.USAGE
    assert "another foresight_memcached.toml is here" in capsys.readouterr().err
    assert not measured


def test_the_study_that_is_there_already_is_run(measured: Measured, tmp_path: Path) -> None:
    (tmp_path / "foresight_memcached.toml").write_text(study.text("memcached"), "utf-8")
    ask("--beside", XZ, "--measure")
    assert measured[0] == "./foresight_memcached.toml"


def test_a_folder_that_cannot_be_written_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foresight_redis.toml").mkdir()
    with pytest.raises(SpecFault, match="another foresight_redis"):
        tested.measure_first("redis", [XZ], tmp_path / "none")
