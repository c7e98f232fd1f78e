"""`sojourn noise` as typed: planted parts on the page, strangers' texts, options that are wrong."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import pipeline, spec, store
from sojourn.analysis import noise as parts
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.findings.findings import Findings
from sojourn.findings.load_point import Run
from sojourn.report import testing
from sojourn.spec.sides import repeated, side_of

STARTS, WINDOWS, STEAL = 0.05, 0.02, 0.01
HOSTILE = "x\x1b[2J[red]\n"


def findings(count: int, starts: float = STARTS, slope: float = 0.0) -> Findings:
    """So many starts whose p50 scatters by planted shares; stolen time slows a start down."""
    lot = random.Random(4)  # noqa: S311 - no secret
    service = testing.memcached()
    point = service.points[2]

    def run(of: Run, repeat: int) -> Run:
        own = lot.gauss(0, starts) + slope * repeat
        seconds = tuple(
            (float(at), 1e4, 1e5 * math.exp(own + lot.gauss(0, WINDOWS)), 3e5 * math.exp(own))
            for at in range(6)
        )
        steal = STEAL * math.exp(own)
        sample = ((0.5, 1e5 * math.exp(own)), (0.99, 3e5 * math.exp(own)))
        made = replace(of, repeat=repeat, series=seconds, sample=sample, is_believed=True)
        return replace(made, steal_share=steal)

    runs = tuple(run(point.runs[0], repeat) for repeat in range(count))
    point = replace(point, runs=runs)
    return replace(testing.findings(), services=(replace(service, points=(point,)),))


@pytest.fixture
def record(tmp_path: Path) -> Path:
    asked = spec.load("latency_vs_load", profile="quick")
    about = {"noise": [[HOSTILE, "end it"], ["one"], 3]}
    with store.open(tmp_path, asked, resume=False, machine="vm", manifest=about) as opened:
        opened.finish()
    return opened.path


def test_planted_parts_are_printed_with_their_intervals(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pipeline, "judged", lambda _: findings(30))
    assert main(["noise", str(record), "--json"]) == Exit.OK
    of = json.loads(capsys.readouterr().out)
    p50 = of["components"]["p50"]
    for part, planted in (("starts", STARTS), ("windows", WINDOWS)):
        assert p50[part]["interval"]["lo"] < planted < p50[part]["interval"]["hi"]
    assert p50["drift"]["interval"]["lo"] == 0
    steal = of["causes"][0]
    assert (steal["name"], steal["explains"] > 0.5, steal["p"] < 0.01) == (
        "stolen time",
        True,
        True,
    )
    seen = {(minutes, number): change for minutes, number, change in of["visible"]}
    assert seen[5, "p50"] >= seen[10, "p50"] >= seen[30, "p50"] > 0
    assert main(["noise", str(record)]) == Exit.OK
    out = capsys.readouterr().out
    assert "start to start" in out
    assert "In 10 minutes a gate sees" in out
    assert "\x1b" not in out
    assert "x\\x1b[2J[red]\\x0a" in out


def test_more_noise_between_starts_hides_more_and_a_ramp_is_drift() -> None:
    quiet, loud, ramp = (
        parts.noise(one, 7.0) for one in (findings(20), findings(20, 0.2), findings(20, 0.0, 0.01))
    )
    assert quiet is not None
    assert loud is not None
    assert ramp is not None
    assert quiet.visible[0][2] is not None
    assert loud.visible[0][2] is None or loud.visible[0][2] > quiet.visible[0][2]
    of = ramp.components["p50"]
    assert of is not None
    assert of.drift.interval.lo > of.starts.sigma
    assert of.slope == pytest.approx(0.01, rel=0.3)


def test_too_few_runs_decide_nothing(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for one in (findings(4), replace(findings(4), services=())):
        monkeypatch.setattr(pipeline, "judged", lambda _, one=one: one)
        assert main(["noise", str(record)]) == Exit.UNKNOWN
        assert "too few runs" in capsys.readouterr().err
    noisy = findings(9)
    service = noisy.services[0]
    bad = [replace(r, is_believed=False, reasons=("stopped",)) for r in service.points[0].runs]
    point = replace(service.points[0], runs=tuple(bad))
    noisy = replace(noisy, services=(replace(service, points=(point,)),))
    monkeypatch.setattr(pipeline, "judged", lambda _: noisy)
    assert main(["noise", str(record)]) == Exit.UNKNOWN
    assert "unknown: 9 runs: stopped" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--command", "x {port}", "--service", "memcached"), "give one of"),
        (("--command", "x {port}", "--within", "9s"), "an answer takes"),
        (("--service", "memcache_"), "memcached"),
        (("--command", "x {port}", "--rate", "0"), "not an offered load"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(
    options: tuple[str, ...], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["noise", *options, "--results", str(tmp_path)]) in {Exit.USAGE, Exit.FAILED}
    assert word in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_study_starts_the_service_as_often_as_asked() -> None:
    side = side_of("./server {port}")
    study = repeated(side, rate="2k", starts=12, measure_s=6.0, name="noise")
    assert (study.run.repeats, study.run.rates, study.aa) == (12, ("2k",), False)
    assert repeated(side, rate="", starts=12, measure_s=6.0, name="noise").run.fractions == (0.5,)


def test_without_any_record_it_names_how_to_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["noise", "--results", str(tmp_path)]) == Exit.USAGE
    assert "--service memcached" in capsys.readouterr().err
