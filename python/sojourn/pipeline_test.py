"""The whole program on a simulated machine: answers, failures, kills, resumption, exit codes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sojourn import pipeline, spec, store
from sojourn import run as runs
from sojourn.cli.app import main
from sojourn.errors import Exit, HostFault, RunFault
from sojourn.findings.highest_load import MaxLoad
from sojourn.plan import Point, Verdict, failures
from sojourn.samples import made
from sojourn.testing import CAPACITY_RPS, Lab, installed, is_bug

SMALL = (
    "run.measure_s=0.5",
    "run.repeats=1",
    "run.fractions=[0.2,0.5,0.8]",
    "run.peak_s=0.2",
    "run.search.probe_s=2",  # a search takes 22 s of load: so of few probes
    "run.search.budget_s=30",
    "run.search.confirm_s=0.5",
    "run.search.confirm_repeats=1",
)
Measured = tuple[Path, list[Point]]


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return installed(monkeypatch, tmp_path_factory.mktemp("locks"))


def sojourn(*arguments: str, results: Path) -> int:
    return main([*arguments, "--results", str(results)])


def run(results: Path, *more: str, study: str = "max_load_memcached") -> int:
    sets = [part for text in SMALL for part in ("--set", text)]
    return sojourn("run", study, "-p", "quick", *sets, *more, results=results)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Results with a whole study, to be read or copied, and the points that it measured."""
    results = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patched:
        points = installed(patched, tmp_path_factory.mktemp("locks")).points
        assert run(results, "--quiet") == Exit.OK
    return results, points


def record(results: Path) -> store.Record:
    return store.read(store.resolve(results, None))


def test_a_study_ends_with_an_answer_a_record_and_exit_0(
    lab: Lab,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOJOURN_COMMIT", "c0ffee")
    code = run(tmp_path, "--json")
    out = json.loads(capsys.readouterr().out)
    assert (code, out["verdict"]) == (Exit.OK, Verdict.HOLDS)
    stored = record(tmp_path)
    assert stored.is_complete
    assert stored.manifest["ci"]["commit"] == "c0ffee"
    assert len(stored.outcomes()) == len(lab.points)
    low, high = (
        out["services"][0]["max_load"]["border"]["interval_rps"][key] for key in ("lo", "hi")
    )
    border = CAPACITY_RPS - np.log(100) / 1e-3
    assert low <= border <= high
    assert out["environment"]
    assert out["command"].startswith("sojourn run max_load_memcached --profile quick")
    assert dict(out["services"][0]["setup"])["items"] == "few"


def test_the_command_in_the_report_gives_the_same_points_again(
    measured: Measured, lab: Lab, tmp_path: Path
) -> None:
    run(tmp_path)
    assert lab.points == measured[1] != []


def test_stopped_by_hand_it_says_how_to_go_on_and_goes_on(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_point: Point, number: int) -> None:
        if number == 4:
            raise KeyboardInterrupt

    lab.trouble = stop
    assert run(tmp_path) == Exit.INTERRUPTED
    text = " ".join(capsys.readouterr().err.split())
    assert "3 points are saved; resume with: sojourn run max_load_memcached" in text
    assert len(record(tmp_path).outcomes()) == 3
    assert run(tmp_path) == Exit.OK
    assert "resumed with 3 points" in capsys.readouterr().err
    keys = [point.key for point in lab.points]
    assert keys[4] == keys[3], "the point in flight is measured again"
    assert len(record(tmp_path).outcomes()) == len(keys) - 1


def test_a_point_that_fails_is_unknown_with_its_reason_and_the_study_goes_on(
    lab: Lab, tmp_path: Path
) -> None:
    def die(_point: Point, number: int) -> None:
        if number == 2:
            raise RunFault("memcached died", at="pid 7", fix="see its log")

    lab.trouble = die
    assert run(tmp_path) == Exit.OK
    outcomes = record(tmp_path).outcomes()
    assert outcomes[1].verdict is Verdict.UNKNOWN
    assert "memcached died" in outcomes[1].reasons[0]
    assert outcomes[2].verdict is not Verdict.UNKNOWN


def test_a_server_that_always_fails_ends_the_study_with_its_fault_and_keeps_what_there_is(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def die(_point: Point, number: int) -> None:
        if number > 2:
            raise RunFault("memcached died", at="pid 7", fix="see its log")

    lab.trouble = die
    assert run(tmp_path) == Exit.FAILED
    err = capsys.readouterr().err
    assert "memcached died" in err
    assert "fix: see its log" in err
    assert len(record(tmp_path).outcomes()) == 2 + failures.FAILURES_MAX
    lab.trouble = lambda _point, _number: None
    assert run(tmp_path) == Exit.OK


def test_what_the_machine_cannot_do_is_refused_before_a_record_is_begun(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise HostFault("program memcached is not installed", at="/bin", fix="apt install it")

    monkeypatch.setattr(runs, "check", refuse)
    assert run(tmp_path) == Exit.USAGE
    assert not lab.points
    assert not list(tmp_path.iterdir())


def test_no_load_that_fits_is_exit_1_and_a_failed_self_check_is_exit_3(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = ("--set", "run.search.budget_s=4")  # of time that passes, on a busy machine as well
    late = ("--set", "services.memcached.qos.bound=1us")
    assert run(tmp_path / "a", *brief, *late) == Exit.VIOLATED
    plain = made.result

    def doubtful(*args: Any, **changes: Any) -> dict[str, Any]:
        return plain(*args, **{**changes, "verdict": "unknown", "reasons": ["client stopped"]})

    monkeypatch.setattr(made, "result", doubtful)
    assert run(tmp_path / "b", *brief) == Exit.UNKNOWN
    doubted = pipeline.findings_of(record(tmp_path / "b").path).services[0].section(MaxLoad)
    assert doubted
    assert doubted.border is None, "not for want of time"
    assert doubted.reasons == ("no run is valid", "client stopped")


def test_an_unforeseen_fault_leaves_no_traceback_on_the_terminal(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def blow_up(_point: Point, _number: int) -> None:
        raise ZeroDivisionError("surprise")

    lab.trouble = blow_up
    assert run(tmp_path) == Exit.FAILED
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert is_bug(err)
    saved = Path(next(line for line in err.splitlines() if "at:" in line).split("at: ")[1])
    assert "ZeroDivisionError: surprise" in saved.read_text(encoding="utf-8")
    saved.unlink()


def test_a_second_lab_on_the_same_study_is_refused(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = (*SMALL,)
    study = spec.load("max_load_memcached", profile="quick", overrides=sets)
    with store.open(tmp_path, study):
        assert run(tmp_path) == Exit.FAILED
    assert "is being measured by process" in capsys.readouterr().err
    assert not lab.points


def test_a_second_study_on_the_machine_learns_who_measures_waits_or_is_forced(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with runs.taken("selfcheck", lambda _event: None):
        assert run(tmp_path) == Exit.FAILED
        err = capsys.readouterr().err
        assert f"measuring selfcheck (process {os.getpid()}, since " in err
        assert "--wait 10m" in err
        assert run(tmp_path, "--wait", "0.2s") == Exit.FAILED
        assert "waiting up to" in capsys.readouterr().err
        assert not lab.points
        assert run(tmp_path, "--force") == Exit.OK
    assert "at the same time as selfcheck" in capsys.readouterr().err
    noise = pipeline.findings_of(record(tmp_path).path).noise
    assert "at the same time as selfcheck" in noise[0][0], "the record says so"
    assert run(tmp_path, "--new") == Exit.OK
    assert "at the same time" not in capsys.readouterr().err


def test_a_machine_that_does_not_calm_is_measured_and_the_record_says_what_was_seen(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disturbed = runs.Ready(noise=(("others took 9 % of CPU 1", "it is too low"),))
    monkeypatch.setattr(runs, "ready", lambda *_, **__: disturbed)
    assert run(tmp_path) == Exit.OK
    noise = pipeline.findings_of(record(tmp_path).path).noise
    assert noise[0] == ("others took 9 % of CPU 1", "it is too low")


def test_what_was_measured_is_shown_listed_queried_and_reported_later(
    measured: Measured, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(measured[0], tmp_path, dirs_exist_ok=True, symlinks=True)
    points = len(measured[1])
    assert sojourn("show", results=tmp_path) == Exit.OK
    assert "memcached" in capsys.readouterr().out
    assert sojourn("show", "--json", results=tmp_path) == Exit.OK
    assert json.loads(capsys.readouterr().out)["study"] == "max_load_memcached"
    assert sojourn("ls", "--json", results=tmp_path) == Exit.OK
    listed = json.loads(capsys.readouterr().out)["records"]
    assert [(r["complete"], r["points"]) for r in listed] == [(True, points)]
    assert sojourn("sql", "select count(*) from outcomes", "--csv", results=tmp_path) == Exit.OK
    assert capsys.readouterr().out.split() == ["count_star()", str(points)]
    hostile = "select '=cmd|x' as a, '-3' as b, -3 as c, '\x1b[2J' as d"
    assert sojourn("sql", hostile, "--csv", results=tmp_path) == Exit.OK
    row = capsys.readouterr().out.splitlines()[1]
    assert row == r"'=cmd|x,-3,-3,\x1b[2J", "no formula, no order to a terminal; numbers stay"
    assert sojourn("report", results=tmp_path) == Exit.OK
    assert "report.html" in capsys.readouterr().out


def test_what_was_measured_is_exported_by_run_show_and_report(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, table = tmp_path / "answer.md", tmp_path / "table.json"
    assert run(tmp_path, "--export", f"markdown={answer}") == Exit.OK
    text = answer.read_text()
    assert text.startswith("# max\\_load\\_memcached")
    for verb in ("show", "report"):
        answer.unlink()
        words = ("--export", f"markdown={answer}", "--export", f"json={table}")
        assert sojourn(verb, *words, results=tmp_path) == Exit.OK
        assert answer.read_text() == text
        assert json.loads(table.read_text())["study"] == "max_load_memcached"
    capsys.readouterr()
    before = len(lab.points)
    assert run(tmp_path, "--new", "--export", "pdf=answer.pdf") == Exit.USAGE
    assert "no format 'pdf'" in capsys.readouterr().err
    assert len(lab.points) == before, "refused before it measures"
    assert sojourn("report", "--all", "--export", f"json={table}", results=tmp_path) == Exit.USAGE


def test_an_unreadable_record_is_listed_as_such(
    measured: Measured, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(measured[0], tmp_path, dirs_exist_ok=True, symlinks=True)
    manifest = record(tmp_path).path / "manifest.json"
    table = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**table, "schema": "sojourn.record/9"}), encoding="utf-8")
    capsys.readouterr()
    assert sojourn("ls", "--json", results=tmp_path) == Exit.OK
    assert "version 9" in json.loads(capsys.readouterr().out)["records"][0]["state"]
    assert sojourn("show", results=tmp_path) == Exit.FAILED
    assert "newer" not in capsys.readouterr().out


def test_a_watcher_sees_every_point_begin_and_end(lab: Lab, tmp_path: Path) -> None:
    seen: list[str] = []
    watcher = SimpleNamespace(
        opened=lambda record, _facts: seen.append(f"opened {len(record.outcomes())}"),
        event=lambda _event: None,
        began=lambda point, _outcomes: seen.append(point.key),
        ended=lambda outcome, outcomes: seen.append(f"{outcome.point.key} {len(outcomes)}"),
    )
    study = spec.load("max_load_memcached", profile="quick", overrides=SMALL)
    done = pipeline.run_study(study, tmp_path, watcher)
    assert seen[0] == "opened 0"
    assert seen[1:3] == [lab.points[0].key, f"{lab.points[0].key} 1"]
    assert len(seen) == 1 + 2 * len(lab.points)
    assert done.findings.verdict is Verdict.HOLDS
