"""`sojourn whatif` as typed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import programs
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.models import calibrate, record_loads
from sojourn.models.calibration import Setup
from sojourn.models.record_loads import Loads

needs_sim = pytest.mark.skipif(programs.maybe("sojourn-sim") is None, reason="needs sojourn-sim")
ASKED = ["whatif", "--service", "exponential:10ms", "--target", "p99<=100ms"]


@needs_sim
def test_an_answer_is_labelled_and_says_what_would_check_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*ASKED, "--rate", "10", "--fanout", "1,3"]) == Exit.OK
    out = capsys.readouterr().out
    assert "predicted, by simulation: the tail at 10" in out
    assert "fanout" in out
    assert "check it: load the real system" in out


@needs_sim
def test_json_has_every_combination(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, "--fanout", "1,3", "--requests", "2000", "--json"]) == Exit.OK
    table = json.loads(capsys.readouterr().out)
    assert table["label"] == "predicted"
    one, three = table["answers"]
    assert one["of"]["fanout"] == "1"
    assert three["border"]["value"] < one["border"]["value"]


@needs_sim
def test_exit_codes_are_those_of_the_target() -> None:
    assert main([*ASKED, "--rate", "90", "--cores", "1"]) == Exit.VIOLATED
    assert main([*ASKED, "--rate", "10", "--cores", "1,2"]) == Exit.OK


@pytest.mark.parametrize(
    ("words", "at", "fix"),
    [
        ([], "--service", "exponential:50us"),
        (["--service", "fast"], "--service", "exponential:50us"),
        (["--service", "exponential:5"], "--service", "exponential:50us"),
        (["--service", "exponential:5ms", "--from", "x"], "--service", "--from"),
        (["--service", "exponential:5ms", "--setting", "x"], "--setting", "--from RECORD"),
        (["--service", "exponential:5ms", "--target", "p42<=1ms"], "--target", "p99.9"),
        (["--service", "exponential:5ms", "--cores", "1,,2"], "--cores", "1,2,4"),
        (["--service", "exponential:5ms", "--requests", "5"], "--requests", "1,000"),
        (["--service", "exponential:5ms", "--arrivals", "trace:x"], "--rate", "--rate 2k"),
    ],
)
def test_wrong_usage_has_a_place_and_a_way_out(
    words: list[str], at: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", *words]) == Exit.USAGE
    err = capsys.readouterr().err
    assert f"at: {at}" in err
    assert fix in err


@needs_sim
def test_a_record_with_several_sweeps_needs_a_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    every = [
        Loads(service="memcached", setting=setting, points=(), peak_rps=peak_rps)
        for setting, peak_rps in (("neighbour = none", 200.0), ("neighbour = rival", 100.0))
    ]

    def fitted(simulator: object, points: object, setup: Setup) -> SimpleNamespace:
        peak_rps = setup.peak_rps or 0.0
        return SimpleNamespace(parameters={"service_us": 1e6 / peak_rps, "cv": 1.0})

    monkeypatch.setattr(record_loads, "is_record", lambda _: True)
    monkeypatch.setattr(record_loads, "read", lambda _: every)
    monkeypatch.setattr(calibrate, "calibrate", fitted)
    words = ["whatif", "--from", str(tmp_path), "--rate", "20", "--requests", "2000", "--json"]
    assert main(words) == Exit.USAGE
    err = capsys.readouterr().err
    assert "2 sweeps of the record fit" in err
    assert "'neighbour = none'" in err
    main([*words, "--setting", "neighbour = rival"])
    asked = json.loads(capsys.readouterr().out)["question"]["service"]
    assert asked == "gamma:10000.000000,1.0000", "that of the rival, whose peak is 100/s"


@needs_sim
def test_a_folder_that_is_no_record_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", "--from", str(tmp_path)]) == Exit.USAGE
    assert "this is no record" in capsys.readouterr().err


@needs_sim
@needs_sim
@pytest.mark.parametrize(
    ("rate", "code", "text"),
    [
        ("0.02k", Exit.OK, ""),
        ("2x", Exit.USAGE, "--rate 20k"),
        ("0", Exit.USAGE, "above 0"),
        ("-1", Exit.USAGE, "above 0"),
    ],
)
def test_a_scheduler_takes_a_rate_as_people_write_it(
    capsys: pytest.CaptureFixture[str], rate: str, code: Exit, text: str
) -> None:
    assert main([*ASKED, "--scheduler", "eevdf", f"--rate={rate}"]) == code
    assert text in capsys.readouterr().err


def test_a_scheduler_takes_a_steady_rate(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*ASKED, "--scheduler", "eevdf", "--rate", "steps:1@1s,2@1s"]
    assert main(words) == Exit.USAGE
    assert "steady rate" in capsys.readouterr().err
