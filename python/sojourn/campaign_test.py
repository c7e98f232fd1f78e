"""`--all` on a simulated machine: one page, what fails does not end the others, it goes on."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sojourn import campaign, run
from sojourn.campaign import stored
from sojourn.cli.app import main
from sojourn.cli.options import _some_studies
from sojourn.errors import Exit, HostFault, RunFault
from sojourn.report import index
from sojourn.run import Held
from sojourn.spec import Study
from sojourn.testing import Lab, installed, is_bug

if TYPE_CHECKING:
    from sojourn.plan import Point

TINY = """schema = "sojourn.study/1"
name = "{name}"
question = "What is asked of {name}?"
aa = false
[run]
measure_s = 0.2
repeats = 1
retries = 9
fractions = [0.2, 0.5]
peak_s = 0.2
peak_repeats = 1
[[services]]
kind = "memcached"
label = "{name}"
measure = ["sweep"]
[services.qos]
q = 0.99
bound = "1ms"
"""


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    result = installed(monkeypatch, tmp_path_factory.mktemp("locks"))

    def hold(study: Study, *_: object) -> Held:
        is_lacking = study.name == "lacking"
        fault = HostFault("program nothing is missing", at="", fix="apt install nothing")
        return Held(faults=(fault,) if is_lacking else ())

    monkeypatch.setattr(run, "hold", hold)
    return result


def many(folder: Path, *names: str) -> str:
    for name in names:
        (folder / f"{name}.toml").write_text(TINY.format(name=name), encoding="utf-8")
    return ",".join(str(folder / f"{name}.toml") for name in names)


def sojourn(verb: str, only: str, *more: str, results: Path | None = None) -> int:
    where = ["--results", str(results)] if results else []
    return main([verb, "--all", "--only", only, "--profile", "quick", *more, *where])


def states(results: Path) -> list[str]:
    return [entry.state for entry in campaign.read(results).entries]


def test_what_is_skipped_or_fails_is_told_on_one_page_and_the_others_are_measured(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def trouble(point: Point, _number: int) -> None:
        if point.service == "broken":
            raise ZeroDivisionError("a surprise")
        if point.service == "dead":
            raise RunFault("it died", at="pid 7", fix="see its log")

    lab.trouble = trouble
    only = many(tmp_path, "lacking", "broken", "dead", "good")
    results = tmp_path / "results"
    assert sojourn("run", only, "--json", results=results) == Exit.VIOLATED
    out, err = capsys.readouterr()
    reports = {Path(row["study"]).stem: row for row in json.loads(out)["studies"]}
    assert [reports[name]["state"] for name in ("lacking", "broken", "dead")] == [
        "skipped",
        "failed",
        "failed",
    ]
    assert reports["good"]["verdict"]
    assert reports["lacking"]["fix"] == "apt install nothing"
    assert reports["dead"]["points"] == 3
    assert "Traceback" not in out + err
    log = results / reports["broken"]["log"]
    assert "ZeroDivisionError: a surprise" in log.read_text(encoding="utf-8")
    page = (results / "index.html").read_text(encoding="utf-8")
    for text in ("What is asked of good?", "apt install nothing", "it died", "a surprise"):
        assert text in page
    assert (results / reports["good"]["record"] / "study.toml").is_file()
    assert f'href="{reports["good"]["report"]}"' in page

    lab.trouble = lambda _point, _number: None
    before = len(lab.points)
    sojourn("run", only, results=results)
    assert {point.service for point in lab.points[before:]} == {"broken", "dead"}
    assert "resumed: 1 of 4 studies" in capsys.readouterr().err
    assert campaign.read(results).is_ended


def test_a_campaign_that_was_stopped_goes_on_where_it_was(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(point: Point, _number: int) -> None:
        if point.service == "second":
            raise KeyboardInterrupt

    lab.trouble = stop
    only, results = many(tmp_path, "first", "second"), tmp_path / "results"
    assert sojourn("run", only, results=results) == Exit.INTERRUPTED
    assert "resume with: sojourn run --all --only" in capsys.readouterr().err
    assert states(results)[1] == index.MEASURING
    lab.trouble = lambda _point, _number: None
    before = len(lab.points)
    sojourn("run", only, results=results)
    assert {point.service for point in lab.points[before:]} == {"second"}
    assert main(["report", "--all", "--results", str(results)]) == Exit.OK
    assert str(results / "index.html") in capsys.readouterr().out


def test_a_study_that_was_changed_is_measured_again_when_its_campaign_goes_on(
    lab: Lab, tmp_path: Path
) -> None:
    def stop(point: Point, _number: int) -> None:
        if point.service == "third":
            raise KeyboardInterrupt

    lab.trouble = stop
    only, results = many(tmp_path, "first", "second", "third"), tmp_path / "results"
    assert sojourn("run", only, results=results) == Exit.INTERRUPTED
    lab.trouble = lambda _point, _number: None
    file = tmp_path / "first.toml"
    file.write_text(file.read_text().replace('bound = "1ms"', 'bound = "2ms"'))
    before = len(lab.points)
    sojourn("run", only, results=results)
    assert {point.service for point in lab.points[before:]} == {"first", "third"}


def test_where_nothing_can_be_measured_it_is_exit_3(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only, results = many(tmp_path, "lacking"), tmp_path / "results"
    assert sojourn("run", only, results=results) == Exit.UNKNOWN
    assert not lab.points
    capsys.readouterr()
    for verb in ("plan", "check"):
        assert sojourn(verb, only, "--json") == Exit.OK
        report = json.loads(capsys.readouterr().out)["studies"][0]
        assert (report["can"], report["fix"]) == (False, "apt install nothing")


def test_the_plan_of_all_sums_up_and_says_the_budget(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    only = many(tmp_path, "one", "two", "lacking")
    assert sojourn("plan", only, "--json") == Exit.OK
    table = json.loads(capsys.readouterr().out)
    assert [row["can"] for row in table["studies"]] == [True, True, False]
    assert table["wall_s"] == pytest.approx(sum(row["wall_s"] for row in table["studies"]))
    assert table["budget_s"] == campaign.BUDGET_S["quick"]
    monkeypatch.setitem(campaign.BUDGET_S, "quick", 1.0)
    assert sojourn("plan", only) == Exit.OK
    assert "what does not fit waits" in capsys.readouterr().out
    assert not lab.points


def test_what_does_not_fit_into_the_time_waits_for_the_same_command(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only, results = many(tmp_path, "one", "two", "three"), tmp_path / "results"
    for ended in (1, 2):
        sojourn("run", only, "--within", "1ms", results=results)
        waiting = [state for state in states(results) if state == index.WAITING]
        assert len(waiting) == 3 - ended
        assert f"{len(waiting)} studies are postponed" in capsys.readouterr().err
    sojourn("run", only, "--within", "none", results=results)
    assert index.WAITING not in states(results)
    assert "postponed" not in capsys.readouterr().err
    assert sojourn("run", only, "--within", "soon", results=results) == Exit.USAGE
    assert main(["run", "selfcheck", "--within", "1h"]) == Exit.USAGE


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--all", "--only", "zzz"], "there are: attribution, batch_colocation, blame"),
        (["--only", "selfcheck"], "add --all"),
        (["selfcheck", "--all"], "leave selfcheck out"),
        (["--all", "--vary", "load=0.1,0.2"], "name the study"),
        ([], "or give --all"),
    ],
)
def test_a_wrong_command_lists_the_right_ones(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("run", "plan", "check"):
        assert main([verb, *arguments]) == Exit.USAGE
        assert says in " ".join(capsys.readouterr().err.split())


def test_completion_goes_on_after_a_comma() -> None:
    assert "selfcheck" in _some_studies("self")
    assert _some_studies("breakdown,selfch") == ["breakdown,selfcheck"]
    assert _some_studies("selfcheck,selfch") == []


def test_exits_count_answers() -> None:
    def exit_of(*results: str) -> Exit:
        entries = [
            index.Entry(study=s, question="?", state=s, points=s != "skipped") for s in results
        ]
        return campaign.Campaign(
            folder=Path(), identity={}, command="", started="", entries=entries
        ).exit

    assert exit_of(index.ANSWERED, index.ANSWERED) == Exit.OK
    assert exit_of(index.ANSWERED, index.SKIPPED) == Exit.VIOLATED
    assert exit_of(index.ANSWERED, index.IN_PART) == Exit.VIOLATED
    assert exit_of(index.UNDECIDED) == Exit.VIOLATED
    assert exit_of(index.SKIPPED, index.SKIPPED) == Exit.UNKNOWN


def test_a_study_that_says_what_factors_do_shows_no_verdict_where_its_target_is_undecided() -> None:
    entry = index.Entry(study="a", question="?", state=index.ANSWERED, verdict="unknown")
    assert entry.verdict_text == ""
    assert replace(entry, verdict="violated").verdict_text == "violated"
    assert replace(entry, state=index.UNDECIDED).verdict_text == "unknown"


def test_the_state_is_that_of_the_studys_question_with_what_would_settle_the_rest(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two levels in one block: max RPS has an interval, the tail has none."""
    assert lab
    text = TINY.format(name="levels").replace("peak_repeats = 1", "peak_repeats = 3")
    factors = '[factors]\n"services.levels.params.threads" = [1, 2]\n'
    (tmp_path / "levels.toml").write_text(text.replace("[[services]]", f"{factors}[[services]]", 1))
    results = tmp_path / "out"
    sojourn("run", str(tmp_path / "levels.toml"), results=results)
    (entry,) = campaign.read(results).entries
    assert (entry.state, entry.done, entry.of) == (index.IN_PART, 1, 3)
    assert entry.state_text == "answered in part (1 of 3 effects)"
    assert entry.settle.startswith(f"sojourn run {tmp_path}/levels.toml --profile quick ")
    assert entry.settle.endswith(" --set run.repeats=5")
    assert entry.settle_s > 0
    out = capsys.readouterr()
    assert "answered in part (1 of 3 effects)" in " ".join(out.out.split())
    assert "--set run.repeats=5" in " ".join(out.out.split())
    page = (results / "index.html").read_text()
    assert "answered in part (1 of 3 effects): measured to the end, and a part of" in page
    assert f"<code>{entry.settle}</code>" in page
    assert main(["ls", "--results", str(results), "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["records"][0]["answered"] == entry.state_text
    main(["show", "--results", str(results), "--json"])
    state = json.loads(capsys.readouterr().out)["state"]
    assert (state["word"], state["done"], state["of"]) == ("answered in part", 1, 3)
    assert state["settle"]["command"] == entry.settle


def test_a_campaign_of_somebody_else_leads_nowhere_but_into_its_folder(
    lab: Lab, tmp_path: Path
) -> None:
    """The proof of the finding: links that run scripts, and a record from elsewhere."""
    del lab
    only, results, other = many(tmp_path, "good"), tmp_path / "results", tmp_path / "other"
    assert sojourn("run", only, results=results) in {Exit.OK, Exit.VIOLATED}
    assert sojourn("run", only, results=other) in {Exit.OK, Exit.VIOLATED}
    file = results / campaign.FILE
    table = json.loads(file.read_text(encoding="utf-8"))
    (entry,) = table["entries"]
    foreign = json.loads((other / campaign.FILE).read_text(encoding="utf-8"))["entries"][0]
    (results / "link").symlink_to(other / Path(foreign["record"]).parts[0])
    rest = "/".join(Path(foreign["record"]).parts[1:])
    before = {p: p.read_bytes() for p in other.rglob("*") if p.is_file()}
    for bad in (
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "\tjavascript:alert(1)",
        "//evil.example/x",
        "data:text/html,x",
        str(other),
        "../other",
        f"../other/{foreign['record']}",
        f"link/{rest}",
        "https://evil.example",
        "\\\\evil\\x",
        "java\nscript:alert(1)",
    ):
        forged = {**entry, "report": bad, "log": bad, "record": bad}
        file.write_text(json.dumps({**table, "entries": [forged]}), encoding="utf-8")
        assert main(["report", "--all", "--results", str(results)]) == Exit.OK
        page = (results / "index.html").read_text(encoding="utf-8")
        for address in re.findall(r'href="([^"]*)"', page):
            assert re.fullmatch(r"#\w+|data:,|[\w.~/%-]+", address), address
            assert not address.startswith(("/", ".."))
        assert {p: p.read_bytes() for p in other.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    "change",
    [
        {"entries": [3]},
        {"entries": [{}]},
        {"entries": {}},
        {"identity": 3},
        {"entries": None},
        {"entries": [{"study": "a", "question": "?", "state": "new"}]},
        {"entries": [{"study": "a", "question": "?", "points": "many"}]},
        {"entries": [{"study": 3, "question": "?"}]},
        {"entries": [{"study": "a", "question": "?", "left_out": 3}]},
    ],
)
def test_a_campaign_that_is_damaged_is_a_fault_of_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object]
) -> None:
    whole = {
        "schema": "sojourn.campaign/1",
        "identity": {},
        "command": "",
        "started": "",
        "entries": [],
    }
    (tmp_path / campaign.FILE).write_text(json.dumps({**whole, **change}), encoding="utf-8")
    assert main(["report", "--all", "--results", str(tmp_path)]) == Exit.FAILED
    err = capsys.readouterr().err
    assert "the campaign cannot be read" in err
    assert not is_bug(err)


def test_the_fix_of_a_study_is_read_from_files_of_earlier_versions_too(tmp_path: Path) -> None:
    entry = {"study": "a", "question": "?", "state": "skipped", "reason": "no disk", "mend": "add"}
    whole = {"schema": "sojourn.campaign/1", "identity": {}, "command": "", "started": ""}
    (tmp_path / campaign.FILE).write_text(json.dumps({**whole, "entries": [entry]}), "utf-8")
    (read,) = stored.read(tmp_path).entries
    assert (read.reason, read.fix) == ("no disk", "add")
