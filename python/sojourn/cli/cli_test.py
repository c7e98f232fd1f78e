"""The command line itself: help, mistakes, listings; no machine is measured."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from sojourn import spec
from sojourn.browse.words import chance, point_words
from sojourn.cli import verbs
from sojourn.cli.app import app, main
from sojourn.cli.live import Display
from sojourn.cli.point_line import line
from sojourn.errors import Exit
from sojourn.plan import Outcome, Phase, Planner, Verdict, next_point
from sojourn.plan.rehearsal import imagine
from sojourn.run import Event
from sojourn.testing_questions import PLANS
from sojourn.text.plain_values import plain

COMMANDS = list(verbs.VERBS)


def test_the_verbs_are_those_of_the_design() -> None:
    assert set(COMMANDS) == {
        "run",
        "compare",
        "gate",
        "judge",
        "history",
        "noise",
        "manage",
        "plan",
        "ls",
        "rm",
        "show",
        "report",
        "doctor",
        "kinds",
        "sql",
        "restore",
        "check",
        "install",
        "try",
        "init",
        "open",
        "view",
        "mcp",
    }


def examples(command: str) -> list[str]:
    """Lines of a command's help that a terminal must not break."""
    known = {one.name: one.help for one in app.registered_commands}
    text = known[command] or ""
    selected = [one for one in text.split("\n\n") if one.startswith("\b")]
    assert all("\n" not in one for one in text.split("\n\n") if one not in selected)
    return [line for one in selected for line in one.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_teaches_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == Exit.OK
    out = capsys.readouterr().out
    assert "Examples:" in out
    assert f"sojourn {command}" in out
    assert not [line for line in examples(command) if len(line) > 78], "a terminal breaks them"
    assert max(len(line) for line in out.splitlines()) <= 80


@pytest.mark.parametrize(
    ("arguments", "what", "fix"),
    [
        (["rnu"], "rnu", "sojourn --help"),
        (["run"], "STUDY", "sojourn run --help"),
        (["run", "max_load_memcached", "--profle", "quick"], "--profle", "--help"),
        (["run", "max_load_memcached", "-p", "hasty"], "no profile 'hasty'", "quick"),
        (["plan", "max_lode"], "no study called", "max_load_memcached"),
        (["check", "no/such.toml"], "no study file", "check the path"),
        (["plan", "max_load_memcached", "-s", "run.repeats"], "not key=value", "--set"),
        (
            ["plan", "max_load_memcached", "-s", "services.memcached.load.value_size=exponental:1"],
            "exponental",
            "exponential",
        ),
        (["kinds", "memcache_"], "no kind", "memcache"),
        (["sql", "selct 1"], "syntax", "select"),
        (["sql", " "], "the query is empty", "select"),
        (["sql", "select now()"], "times with a zone", "outcomes"),
        (["tco", "--years", "0"], "years is 0", "above 0"),
        (["tco", "--energy", "1e308"], "energy_usd_per_kwh is 1e+308", "at most"),
        (["show", "nothing", "--results", "/nonexistent"], "no record", "sojourn run"),
    ],
)
def test_a_mistake_ends_in_what_where_and_how_to_fix_it(
    arguments: list[str], what: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(arguments)
    seen = capsys.readouterr()
    assert code in {Exit.USAGE, Exit.FAILED}
    assert seen.out == "", "stdout is data"
    first, *rest = seen.err.splitlines()
    assert first.startswith("error: ")
    assert what.lower() in seen.err.lower()
    assert rest[0].startswith("  at: ")
    assert fix in next(line for line in rest if line.startswith("  fix: "))
    assert "Traceback" not in seen.err


def test_the_shell_completes_names_of_studies(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_SOJOURN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "sojourn run max")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert main([]) == Exit.OK
    seen = capsys.readouterr()
    assert "max_load_memcached" in seen.out
    assert seen.err == ""


def test_check_prints_a_study_that_can_be_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["latency_vs_load", "-p", "quick", "-s", "run.repeats=7"]
    assert main(["check", *arguments]) == Exit.OK
    path = tmp_path / "mine.toml"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    assert spec.load(path).run.repeats == 7


def test_check_tells_every_mistake_with_place_and_fix(capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["-s", "run.repeats=0", "-s", "services.memcached.load.conections=8"]
    assert main(["check", "latency_vs_load", *sets]) == Exit.USAGE
    seen = capsys.readouterr()
    assert seen.out == ""
    lines = seen.err.splitlines()
    assert [line.strip().partition(":")[0] for line in lines] == ["error", "at", "fix"] * 2
    assert "run.repeats is 0" in seen.err
    assert "conections" in seen.err
    assert "more mistake" not in seen.err


def test_check_says_what_the_generator_refuses_of_each_service(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ("memcached", "nginx")
    sets = [w for n in names for w in ("-s", f"services.{n}.load.value_size=exponental:1")]
    assert main(["check", "latency_vs_load", *sets]) == Exit.USAGE
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.count("error: ") == len(names)
    assert all(f"services.{name}.load" in seen.err for name in names)


def test_plan_counts_points_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "latency_vs_load", "-p", "quick", "--json"]) == Exit.OK
    table = json.loads(capsys.readouterr().out)
    assert len(table["points"]) > 30
    assert 60 < table["wall_s"] < 240
    assert main(["plan", "latency_vs_load", "-p", "quick"]) == Exit.OK
    assert "in all" in capsys.readouterr().out


def test_kinds_show_parameters_of_one_and_names_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kinds", "--json"]) == Exit.OK
    tables = json.loads(capsys.readouterr().out)
    assert {"services", "arrivals", "protocols", "transports", "profiles", "methods"} <= set(tables)
    assert main(["kinds", "memcached"]) == Exit.OK
    assert "value_bytes" in capsys.readouterr().out
    assert main(["kinds", "knobs"]) == Exit.OK
    out = capsys.readouterr().out
    assert '"50%"' in out  # a level, as it is typed
    assert "memory_bandwidth " in out


def test_doctor_scores_and_names_abilities(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--watch-s", "0.2", "--json"]) == Exit.OK
    table = json.loads(capsys.readouterr().out)
    assert 0 <= table["report"]["score"] <= 100
    assert table["placement"]["server"]
    assert table["stops"]["cpus"] == table["placement"]["server"]
    assert 0 <= table["stops"]["all"]["over_share"] <= table["stops"]["all"]["taken_share"]
    assert main(["doctor", "--watch-s", "0"]) == Exit.OK
    assert "abilities" in capsys.readouterr().out


def test_a_reader_that_has_seen_enough_is_no_fault() -> None:
    package = Path(spec.__file__).parents[2]
    script = f"set -o pipefail; {sys.executable} -m sojourn kinds | head -1"
    done = subprocess.run(
        ["/bin/bash", "-c", script],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (Exit.OK, "services\n", "")


def test_json_has_no_infinities_and_no_objects() -> None:
    value = {"a": float("inf"), "b": (Verdict.HOLDS, Path("/x")), "c": float("nan")}
    assert plain(value) == {"a": "inf", "b": ["holds", "/x"], "c": "nan"}


def test_progress_says_what_is_measured_and_what_became_of_it() -> None:
    study = spec.load("max_load_memcached")
    played: list[Outcome] = []
    planner = Planner(study, PLANS)
    while (point := planner.next(played)) and point.phase is not Phase.CONFIRM:
        played.append(imagine(point))
    assert point_words(played[0].point) == "memcached peak closed loop"
    probe = next(o for o in played if o.point.phase is Phase.SEARCH)
    assert point_words(probe.point) == "memcached search   50 % 50.0k/s"
    texts = {
        o.offered_rps: chance(study, o, played) or 0.0
        for o in played
        if o.point.phase is Phase.SEARCH
    }
    assert texts[min(texts)] > 0.9
    assert texts[max(texts)] < 0.1
    assert [texts[rps] for rps in sorted(texts)] == sorted(texts.values(), reverse=True)
    low = next(o for o in played if o.offered_rps == min(texts))
    held = line(study, low, played, place="3/9")
    assert (held.word, held.after) == ("holds", f"  P = {texts[min(texts)]:.2f}")
    bare = replace(low, point=replace(low.point, phase=Phase.SCHEDULED), verdict=Verdict.VIOLATED)
    assert line(study, bare, played, place="3/9").word == "violated", "by itself: no shield"
    doubtful = replace(probe, verdict=Verdict.UNKNOWN, reasons=("client stopped: for 3 %", "more"))
    doubted = line(study, doubtful, played, place="3/9")
    assert (doubted.word, doubted.after) == ("unknown", "  client stopped 3 %")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_display_names_the_point_the_load_and_what_is_left(is_terminal: bool) -> None:  # noqa: FBT001
    study = spec.load("max_load_memcached", profile="quick")
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, width=120, highlight=False)
    point = next_point(study, [], PLANS)
    assert point is not None
    line = {"t_s": 1.0, "length_s": 2.0, "done_rps": 5e4, "p50_ns": 31_000, "p99_ns": 412_000}
    with Display(study, console) as display:
        display.began(point, [])
        display.event(Event(step="start", text="memcached starts", service="memcached"))
        display.event(Event(step="measure", text=point.key, second=line))
        display.ended(imagine(point), [imagine(point)])
    seen = out.getvalue()
    assert "memcached peak closed loop" in seen
    assert "100k/s" in seen
    if is_terminal:
        assert "memcached starts" in seen
        assert "50.0k/s" in seen
        assert "p99 412 µs" in seen
        assert "left" in seen
    else:
        assert len(seen.splitlines()) == 1, "one line a point"


def test_a_plan_that_is_exceeded_has_no_total() -> None:
    study = spec.load("max_load_memcached", profile="quick")
    out = io.StringIO()
    point = next_point(study, [], PLANS)
    assert point is not None
    with Display(study, Console(file=out, width=120)) as display:
        display.began(point, [])
        expected = display._expected
        assert expected > 1
        display.ended(imagine(point), [imagine(point)])
        display.ended(imagine(point), [imagine(point)] * expected)
        display.ended(imagine(point), [imagine(point)] * (expected + 1))
    places = [line.split()[0] for line in out.getvalue().splitlines()]
    assert places == [
        f"1/{expected}",
        f"{expected}/{expected}",
        f"{expected + 1}/{expected}+",
    ]


def test_quiet_says_nothing() -> None:
    study = spec.load("max_load_memcached", profile="quick")
    out = io.StringIO()
    point = next_point(study, [], PLANS)
    assert point is not None
    with Display(study, Console(file=out), is_quiet=True) as display:
        display.began(point, [])
        display.ended(imagine(point), [imagine(point)])
    assert out.getvalue() == ""
    assert display.saved == 1
