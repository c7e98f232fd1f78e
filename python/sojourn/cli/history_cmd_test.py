"""`sojourn history` as typed: which records it takes, what it prints, what it writes."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import pipeline, spec, store
from sojourn.analysis.comparison_settings import differing
from sojourn.analysis.history import Change, series_of, with_changes
from sojourn.cli import history_csv
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.findings.findings import Findings
from sojourn.findings.highest_load import MaxLoad
from sojourn.host import ci
from sojourn.report import history as shown
from sojourn.report import testing, testing_answers
from sojourn.stats.paired_ratio import Judgement

KNOWN = {"environment": {"name": "vm", "topology": {"model": "x", "allowed": [0, 1]}}}
HOSTILE = "ma\x1b[2Jin\n<script>|x"
Make = Callable[[int], Path]


def scaled(factor: float, at: int) -> Findings:
    """What a record found: times are a factor of the usual, and a bit of its own."""
    return testing.four_starts(lambda repeat: factor * math.exp(0.01 * math.sin(7.0 * at + repeat)))


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes finished records of one study; from the thirteenth on, all times are 30 % longer."""
    findings: dict[str, Findings] = {}
    asked = spec.load("latency_vs_load", profile="quick")

    def one(number: int) -> Path:
        made = {**KNOWN, "ci": {"commit": f"{number:02d}c0ffee", "label": HOSTILE}}
        with store.open(tmp_path, asked, resume=False, machine="vm", manifest=made) as opened:
            opened.finish()
        path = opened.path.rename(opened.path.with_name(f"202601{number + 1:02d}T000000Z-aaaa"))
        findings[path.name] = scaled(1.3 if number >= 12 else 1.0, number)
        return path

    def judged(path: Path) -> Findings:
        store.read(path).outcomes()
        return findings[path.name]

    monkeypatch.setattr(pipeline, "judged", judged)
    return one


def history(path: Path, *more: str) -> int:
    return main(["history", "--results", str(path), *more])


def test_a_step_is_found_named_and_worse(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = []
    for number in range(19):
        make(number)
        if number >= 17:
            codes.append(history(tmp_path, "--numbers", "mean,cpu", "--json"))
            table = json.loads(capsys.readouterr().out)
    assert codes == [Exit.VIOLATED, Exit.OK], "at the record that shows it, and once"
    changes = [change for one in table["series"] for change in one["changes"]]
    assert [(one["since"], one["judgement"]) for one in changes] == [(12, "worse")] * 2
    assert changes[0]["ratio"] == pytest.approx(1.3, abs=0.03)
    assert table["entries"][12]["commit"] == "12c0ffee"
    assert history(tmp_path, "--numbers", "mean") == Exit.OK
    out = capsys.readouterr().out
    assert "newest: since 12c0ffee" in out
    assert "\x1b" not in out
    assert len([line for line in out.splitlines() if "c0ffee" in line]) >= 19


def test_equal_records_have_no_change_and_few_ones_decide_nothing(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4):
        make(number)
    assert history(tmp_path) == Exit.UNKNOWN
    for number in range(4, 12):
        make(number)
    assert history(tmp_path) == Exit.OK
    assert "No change in 12 records" in capsys.readouterr().out


@pytest.mark.parametrize("asked", ["mean,p999", "mean, p99.9", "p99.9,mean,p999"])
def test_a_number_has_the_name_too_that_compare_gives_it(
    asked: str, make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(0)
    assert history(tmp_path, "--numbers", asked, "--json") == Exit.UNKNOWN, "of one record"
    series = json.loads(capsys.readouterr().out)["series"]
    assert sorted(one["number"] for one in series) == ["mean", "p99.9"]


def test_a_record_under_another_name_stays_in_its_place(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [make(number) for number in range(3)]
    renamed = paths[0].with_name("baseline")
    edited(paths[0], started="2026-01-01T00:00:00+00:00")
    paths[0].rename(renamed)
    monkeypatch.setattr(pipeline, "judged", lambda _path: scaled(1.0, 0))
    history(tmp_path, "--json")
    names = [one["name"] for one in json.loads(capsys.readouterr().out)["entries"]]
    assert names == ["baseline", paths[1].name, paths[2].name]


def edited(path: Path, **changes: object) -> None:
    at = path / "manifest.json"
    at.write_text(json.dumps({**json.loads(at.read_text()), **changes}))


def test_records_that_do_not_belong_are_named_and_left_out(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [make(number) for number in range(9)]
    (paths[0] / "complete.json").unlink()
    (paths[1] / "manifest.json").write_text("{")
    edited(paths[2], schema="sojourn.record/99")
    edited(paths[3], environment={**KNOWN["environment"], "topology": {"model": "y"}})
    (paths[4] / "study.toml").write_text(
        (paths[4] / "study.toml").read_text().replace("measure_s = ", "measure_s = 1")
    )
    elsewhere = paths[5].parents[1] / "other" / paths[5].name
    elsewhere.parent.mkdir()
    shutil.move(paths[5], elsewhere)
    (paths[6].parent / "20260120T000000Z-link").symlink_to(paths[6])
    assert history(tmp_path, "--machine", "vm") == Exit.UNKNOWN
    texts = {
        line.split(": ")[1]: line for line in capsys.readouterr().err.splitlines() if "202" in line
    }
    for at, why in (
        (0, "not finished"),
        (1, "damaged"),
        (2, "version"),
        (3, "another machine: CPU: y / x"),
        (4, "other settings than the newest: run.measure_s"),
        (5, "another machine: other"),
    ):
        assert why in texts[paths[at].name], why
    assert len(texts) == 6, "a link is no record"


def test_page_and_csv_have_every_series_and_spell_out_what_strangers_wrote(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(18):
        make(number)
    page, file = tmp_path / "page.html", tmp_path / "history.csv"
    written = ("--html", str(page), "--csv", str(file))
    assert history(tmp_path, "--numbers", "mean,p99,cpu", *written) == Exit.VIOLATED
    capsys.readouterr()
    text, every = page.read_text(), series_of([scaled(1, 0)], ["mean", "p99", "cpu"])
    assert "<script>|x" not in text
    assert "&lt;script&gt;|x" in text
    assert text.count("<svg") == len(every)
    assert "1.3 times" in text
    head = file.read_text().splitlines()[0]
    assert head == ",".join(["time", "commit", "label", *(one.name for one in every)])
    assert "\x1b" not in file.read_text()
    # A table does not say which way is worse, so it raises no alarm.
    assert main(["history", "--from-csv", str(file), "--only", "mean", "--json"]) == Exit.OK
    again = json.loads(capsys.readouterr().out)
    assert [(one["since"], one["judgement"]) for one in again["series"][0]["changes"]] == [
        (12, str(Judgement.OPEN))
    ]
    assert again["entries"][3]["commit"] == "03c0ffee"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "no column of numbers"),
        ("time,commit\n1,2\n", "no column of numbers"),
        ("time,a\n1,2,3\n", "line 2 has 3 fields"),
        ('time,a\n1,"2\n', "cannot be read"),
        ("\0\n", "no column of numbers"),
        ("time,a\n" + "1,2\n" * 10_001, "at most 10000"),
    ],
)
def test_a_csv_that_is_none_is_refused(
    text: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    assert main(["history", "--from-csv", str(file)]) == Exit.USAGE
    assert word in capsys.readouterr().err


def test_rows_of_a_csv_are_put_in_order_of_time_and_gaps_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(
        "ms,date,commit\n3,2024-01-03 02:00:00 +0000,c\nnan,2024-01-01 02:00:00 +0000,a\n"
    )
    assert main(["history", "--from-csv", str(file), "--json"]) == Exit.UNKNOWN
    table = json.loads(capsys.readouterr().out)
    assert [one["commit"] for one in table["entries"]] == ["a", "c"]
    assert [one and one["value"] for one in table["series"][0]["values"]] == [None, 3.0]


@pytest.mark.parametrize(
    ("more", "word"),
    [
        (["--alpha", "0"], "--alpha"),
        (["--alpha", "nan"], "--alpha"),
        (["--numbers", "p42"], "no number 'p42'"),
        (["--numbers", "max_rps"], "p999, cpu, max, p99.9"),  # it is of a closed loop
        (["--only", "nginx"], "no series has 'nginx'"),
        (["max_load_nginx"], "no record of a study 'max_load_nginx'"),
        (["--machine", "gone"], "give --machine vm"),
        (["latency_vs_load", "--from-csv", "x.csv"], "no studies and machines"),
    ],
)
def test_what_is_typed_wrong_is_named(
    more: list[str], word: str, make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(0)
    assert history(tmp_path, *more) in {Exit.USAGE, Exit.FAILED}
    assert word in capsys.readouterr().err


def test_a_gap_and_an_endless_number_are_no_fault() -> None:
    gone = replace(scaled(1, 0), services=())
    every = [gone if at % 5 == 2 else scaled(1, at) for at in range(20)]
    assert all(one.values[2] is None for one in series_of(every, ["mean"]))
    ends = [replace(one.values[0], value=math.inf) for one in series_of([scaled(1, 0)], ["mean"])]  # type: ignore[type-var]
    series = series_of(every, ["mean"])[0]
    late = replace(series, values=(*series.values[:14], *ends * 9))
    (change,) = with_changes([late], 0.05)[0].changes
    assert isinstance(change, Change)
    assert (change.since, change.ratio, change.judgement) == (14, math.inf, Judgement.WORSE)


@pytest.mark.parametrize(
    ("lo", "estimate", "hi", "value"),
    [
        (0.0, 9_000.0, 0.0, 0.0),  # no load fits: that is known
        (0.0, 9_000.0, 9_000.0, None),
        (90_000.0, 90_000.0, math.inf, None),
    ],
)
def test_a_highest_load_with_an_open_end_is_a_gap(
    lo: float, estimate: float, hi: float, value: float | None
) -> None:
    open_ended = testing_answers.max_load(testing_answers.border(estimate, lo, hi))
    searches = (testing_answers.narrow(), open_ended, testing_answers.narrow())
    (series,) = series_of(list(map(searched, searches)), ["max"])
    assert [one and one.value for one in series.values] == [36_200.0, value, 36_200.0]


def searched(search: MaxLoad) -> Findings:
    """A record of which the highest load alone is known."""
    service = replace(testing.memcached(), sections={"max_load": search})
    return replace(scaled(1, 0), services=(service,))


def test_a_service_of_which_no_load_fits_any_more_is_worse_and_no_row_of_gaps() -> None:
    nothing = testing_answers.max_load(testing_answers.border(9_000.0, 0.0, 0.0))
    every = [searched(testing_answers.narrow() if at < 14 else nothing) for at in range(23)]
    (series,) = with_changes(series_of(every, ["max"]), 0.05)
    (change,) = series.changes
    assert (change.since, change.ratio, change.judgement) == (14, 0.0, Judgement.WORSE)
    assert shown.value(series, 0.0) == "no load"
    assert shown.ratio(change) == "0 times"


def test_studies_that_differ_in_a_number_are_unlike_and_a_seed_is_none() -> None:
    one = spec.load("latency_vs_load", profile="quick")
    assert list(differing(one, one.model_copy(update={"seed": 7}))) == []
    other = spec.load("latency_vs_load", profile="standard")
    assert "run.profile" in list(differing(one, other))


def test_texts_of_ci_are_bounded_and_ours_come_first() -> None:
    text = ci.read({"GITHUB_SHA": "a" * 999, "SOJOURN_COMMIT": "b", "GIT_BRANCH": "\udcff" * 300})
    assert text["commit"] == "b"
    assert len(text["label"]) == 200
    json.dumps(text).encode()
    assert ci.read({"GITHUB_SHA": "", "CI_COMMIT_SHA": "c"}) == {"commit": "c"}


def test_the_median_of_an_even_number_lies_between_the_middle_two(tmp_path: Path) -> None:
    file = tmp_path / "four.csv"
    file.write_text("time,ms\n" + "".join(f"{at},{value}\n" for at, value in enumerate("1942")))
    (line,) = shown.lines(history_csv.read(file))
    assert line[2] == "3", "of 1, 2, 4 and 9"


def test_a_csv_that_is_written_has_no_controls_of_the_one_that_was_read(tmp_path: Path) -> None:
    """It is looked at in a terminal, by `cat`."""
    file = tmp_path / "strange.csv"
    file.write_text("time,ms\x1b[2J,label\n1,2,\x1b]0;x\x07\n2,3,\u202e\n")
    assert "\\x1b[2J" in (text := history_csv.text(history_csv.read(file)))
    assert not set(text) & set("\x1b\x07\u202e")
