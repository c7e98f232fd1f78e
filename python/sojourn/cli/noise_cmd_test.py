"""`sojourn noise` as typed: planted parts on the page, strangers' texts, options that are wrong."""

from __future__ import annotations

import inspect
import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from sojourn import pipeline, spec, store
from sojourn.analysis import noise as parts
from sojourn.cli import gate_cmd, noise_cmd
from sojourn.cli.app import main
from sojourn.cli.share import share
from sojourn.errors import Exit
from sojourn.findings.findings import Findings
from sojourn.findings.load_point import Run
from sojourn.questions.compare.asks import Compare
from sojourn.report import testing
from sojourn.spec.sides import repeated, side_of
from sojourn.stats import visible_change

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
    assert seen[5, "p50"] >= seen[10, "p50"] >= seen[30, "p50"] > of["limit"] == 0.05
    assert main(["noise", str(record)]) == Exit.OK
    out = capsys.readouterr().out
    assert "start to start" in out
    sees = r"In 10 minutes a gate with a limit of 5% sees, nine times out of ten: p50 \+(\d+)%"
    percent = re.search(sees, " ".join(out.split()))
    assert percent is not None
    assert int(percent[1]) / 100 == pytest.approx(seen[10, "p50"])
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


@pytest.mark.parametrize("count", [5, 20])
def test_the_gate_that_is_asked_about_has_its_own_limit_and_the_scatter_about_a_line(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, float, float, float]] = []

    def note(blocks: int, scatter: float, alpha: float, margin: float) -> float:
        asked.append((blocks, scatter, alpha, margin))
        return margin

    monkeypatch.setattr(visible_change, "gate_change_in", note)
    noisy = findings(count, slope=0.02)
    assert parts.noise(noisy, 7.0) is not None
    logs = [math.log(dict(run.sample)[0.5] or 0) for run in noisy.services[0].points[0].runs]
    line = stats.linregress(range(count), logs)
    squares = sum((y - line.slope * x - line.intercept) ** 2 for x, y in enumerate(logs))
    upper = math.sqrt(2 * squares / stats.chi2.ppf(0.2, count - 2))
    blocks = [blocks for blocks in (42, 85, 257) for _ in parts.NUMBERS]
    assert [one[0] for one in asked] == blocks
    assert [one[1] for one in asked] == pytest.approx([upper] * len(blocks))
    assert {one[2:] for one in asked} == {(0.01, 0.05)}


def test_its_limit_and_level_are_those_of_a_gate_by_default() -> None:
    typed = inspect.signature(gate_cmd.gate).parameters
    assert share(typed["max_regression"].default, "--max-regression") == parts.LIMIT
    assert share(typed["alpha"].default, "--alpha") == parts.ALPHA
    assert (Compare().max_regression, Compare().alpha) == (parts.LIMIT, parts.ALPHA)


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


def test_the_most_that_a_cause_took_is_rounded_up() -> None:
    cause = parts.Cause(name="steal", mean=0.01, most=0.020_411)
    assert noise_cmd._of_cause(cause) == "steal: 1.00% of the time, at most 2.05% of a run."


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
