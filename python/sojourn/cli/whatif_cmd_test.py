"""`sojourn whatif` as typed."""

from __future__ import annotations

import json
import math
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import programs
from sojourn.cli import whatif_cmd
from sojourn.cli.app import main
from sojourn.cli.whatif_service import TIMES
from sojourn.errors import Exit
from sojourn.models import calibrate, record_loads
from sojourn.models.calibration import Setup
from sojourn.models.identify import Range
from sojourn.models.record_loads import Loads
from sojourn.models.whatif.answer import Answer
from sojourn.models.whatif.asked import Combination, Question

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


def test_an_answer_that_the_simulator_does_not_vouch_for_is_unknown() -> None:
    one = Answer(
        of=Combination(), border=None, rate_rps=10, tail_ns=(1.0, 2.0, 3.0), progress=None,
        answered=1.0, work=1.0, instances=1.0, reasons=(), check="",
    )  # fmt: skip
    doubted = replace(one, reasons=("sections are not independent",))
    grows = replace(one, tail_ns=(math.inf,) * 3, reasons=("no steady state: …",))
    for rate in ("10", ""):
        of = Question(service="exponential:10", unit="ms", rate=rate)
        assert whatif_cmd._exit(of, [one]) == Exit.OK
        assert whatif_cmd._exit(of, [one, doubted]) == Exit.UNKNOWN
    of = Question(service="exponential:10", unit="ms", rate="10")
    assert whatif_cmd._exit(of, [doubted, grows]) == Exit.VIOLATED


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
        (["--service", "bimodal:10us,1000,0.01"], "--service", "gamma:1ms,2"),
        (["--service", "normal:1ms,2"], "--service", "gamma:1ms,2"),
        (["--service", "gamma:1ms,2s"], "--service", "gamma:1ms,2"),
        (["--service", "discrete:1ms,0.5,2,0.5"], "--service", "gamma:1ms,2"),
        (["--service", "what:1ms"], "--service", "gamma:1ms,2"),
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
        Loads(service="memcached", setting=setting, points=(), peak_rps=rps, workers=workers)
        for setting, rps, workers in (
            ("neighbour = none", 200.0, 2),
            ("neighbour = rival", 100.0, None),
        )
    ]

    def fitted(simulator: object, points: object, setup: Setup) -> SimpleNamespace:
        peak_rps = setup.peak_rps or 0.0
        service_us = setup.workers * 1e6 / peak_rps
        return SimpleNamespace(
            parameters={"service_us": service_us, "cv": 1.0},
            verdict="violated" if setup.workers == 1 else "holds",
            worst_held_out=0.5,
            ranges=(Range(name="service_us", low=0.1, high=9.0 if setup.workers == 1 else 0.11),),
        )

    monkeypatch.setattr(record_loads, "is_record", lambda _: True)
    monkeypatch.setattr(record_loads, "read", lambda _: every)
    monkeypatch.setattr(calibrate, "calibrate", fitted)
    words = ["whatif", "--from", str(tmp_path), "--rate", "20", "--requests", "2000", "--json"]
    assert main(words) == Exit.USAGE
    err = capsys.readouterr().err
    assert "2 sweeps of the record fit" in err
    assert "'neighbour = none'" in err
    main([*words, "--setting", "neighbour = rival"])
    printed = json.loads(capsys.readouterr().out)
    asked = printed["question"]["service"]
    assert asked == "gamma:10000.000000,1.0000", "that of the rival, whose peak is 100/s"
    assert "one is assumed" in printed["doubts"][0]
    assert "does not identify the service time" in printed["doubts"][1]
    assert "is violated: it misses the loads held out by 50%" in printed["doubts"][2]
    main([*words, "--setting", "neighbour = none"])
    printed = json.loads(capsys.readouterr().out)
    two = "gamma:10000.000000,1.0000"
    assert printed["question"]["service"] == two, "two workers serve 200/s, each 100/s"
    assert not printed["doubts"]


@needs_sim
def test_a_folder_that_is_no_record_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", "--from", str(tmp_path)]) == Exit.USAGE
    assert "this is no record" in capsys.readouterr().err


@needs_sim
@pytest.mark.parametrize(
    "words",
    [
        ["--instances", "10", "--hedge", "20"],
        ["--timeout", "300"],
        ["--retries", "1", "--errors", "0.1", "--backoff", "10"],
        ["--scale", "1..8", "--startup", "30"],
        ["--neighbour", "6ms/42"],
        ["--neighbour", "6/42ms"],
    ],
)
def test_a_time_without_a_unit_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A bare number would be seconds: a hedge after 20 s is none."""
    assert main([*ASKED, "--rate", "10", *words]) == Exit.USAGE
    err = capsys.readouterr().err
    assert "has no unit" in err
    assert f"at: {words[-2]}" in err


@needs_sim
def test_every_parameter_of_a_service_time_that_is_a_time_needs_a_unit() -> None:
    program = programs.find("sojourn-sim", fix="make build")
    described = json.loads(subprocess.check_output([program, "--describe"]))
    tables = {one["name"]: one["kinds"] for one in described["catalogue"]["tables"]}
    kinds = {one["name"]: one["params"] for one in tables["services"] if one["params"]}
    known = {name: tuple(p["unit"] == "value" for p in params) for name, params in kinds.items()}
    assert known == TIMES


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


@pytest.mark.parametrize(
    ("reason", "code", "text"),
    [
        ("not finished: a run had 100 events before its requests were answered", 3, "not known"),
        ("no steady state: in most runs the second half waited much longer", 1, "the queue grows"),
    ],
)
def test_a_run_that_was_given_up_is_no_queue_that_grows(reason: str, code: int, text: str) -> None:
    of = Question(service="exponential:10", unit="ms", rate="10", bound_ns=1e8)
    one = Answer(
        of=Combination(),
        border=None,
        rate_rps=10,
        tail_ns=(math.inf,) * 3,
        progress=None,
        answered=1.0,
        work=1.0,
        instances=1.0,
        reasons=(reason,),
        check="",
    )
    assert whatif_cmd._exit(of, [one]) == code
    assert text in whatif_cmd._numbers(one)
