"""`sojourn predict` as typed: forecasts, exit codes, and wrong usage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.foresight import testing, victims
from sojourn.foresight.victims import Victim

XZ = "batch:xz,where=server"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Five services that ran beside xz and doses."""
    rng = np.random.default_rng(2)
    names = ("memcached", "nginx", "redis", "serve", "other")
    truths = [testing.service(name, rng) for name in names]
    known: list[Victim] = [testing.victim(one, {XZ: {"cpu": 0.8}}, rng) for one in truths]
    monkeypatch.setattr(victims, "all_of", lambda _: known)
    return ["--results", str(tmp_path), "--target", "p99<=2ms"]


def ask(*words: str) -> int:
    return main(["predict", "--service", "memcached", "--beside", "batch:xz", *words])


def test_a_forecast_says_what_it_is_and_how_to_check_it(
    results: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(*results) == Exit.OK
    out = capsys.readouterr().out
    assert "predicted, not measured: memcached beside batch:xz" in out
    assert "p99 within 2 ms: up to" in out
    assert "simpler guesses: no change" in out
    assert "check it: sojourn run made-memcached/study.toml --vary" in out
    assert '"batch:xz,where=server"' in out


def test_json_has_the_same_numbers_and_the_records(
    results: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(*results, "--json", "--load", "10%") == Exit.OK
    (one,) = json.loads(capsys.readouterr().out)["forecasts"]
    assert one["label"] == "predicted"
    assert one["border_rps"]["lo"] <= one["border_rps"]["value"] <= one["border_rps"]["hi"]
    assert one["verdicts"] == ["holds"]
    assert "made-memcached" in one["records"]
    assert len(one["rulers"]) == 4


def test_the_exit_code_is_that_of_the_loads(results: list[str]) -> None:
    assert ask(*results, "--load", "5%") == Exit.OK
    assert ask(*results, "--load", "5%,98%") == Exit.VIOLATED


def test_a_load_within_the_interval_is_not_known(
    results: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    ask(*results, "--json")
    (one,) = json.loads(capsys.readouterr().out)["forecasts"]
    assert ask(*results, "--load", f"{one['border_rps']['value']:.0f}") == Exit.UNKNOWN


def test_the_study_is_printed_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("--study") == Exit.OK
    out = capsys.readouterr().out
    assert 'name = "foresight_memcached"' in out
    assert '"batch:xz",' in out


@pytest.mark.parametrize(
    ("words", "at", "fix"),
    [
        (["predict"], "--service", "--service memcached --beside"),
        (["predict", "--service", "memcached"], "--beside", "--study"),
        (["predict", "--service", "nope", "--study"], "--service", "known:"),
        (
            ["predict", "--service", "memcached", "--beside", "b", "--target", "fast"],
            "--target",
            "p99<=10ms",
        ),
        (
            ["predict", "--service", "memcached", "--beside", "b", "--target", "p98<=1ms"],
            "--target",
            "p95",
        ),
        (
            ["predict", "--service", "memcached", "--beside", "b", "--target", "p99<=5"],
            "--target",
            "p99<=10ms",
        ),
        (
            ["predict", "--service", "memcached", "--beside", "b", "--results", "/no/such"],
            "/no/such",
            "--results",
        ),
    ],
)
def test_wrong_usage_has_a_place_and_a_way_out(
    words: list[str], at: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == Exit.USAGE
    err = capsys.readouterr().err
    assert f"at: {at}" in err
    assert fix in err


@pytest.mark.parametrize("load", ["0", "fast", "-5", "nan%"])
def test_a_load_that_is_none_is_refused(
    load: str, results: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(*results, "--load", load) == Exit.USAGE
    assert "at: --load" in capsys.readouterr().err


def test_records_that_lack_are_named_with_commands(
    results: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["predict", "--service", "memcached", "--beside", "batch:zz", *results]) == Exit.USAGE
    )
    err = capsys.readouterr().err
    assert "sojourn predict --service nginx --beside batch:zz --study" in err
    assert "minutes" in err
