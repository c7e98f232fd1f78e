import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sojourn.cli.app import app
from sojourn.errors import SpecFault


def _ask(*words: str) -> dict[str, object]:
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


def test_tco_prints_the_papers_row_as_json() -> None:
    result = _ask("tco", "--json")
    rows = result["rows"]
    assert isinstance(rows, list)
    assert [round(100 * row["gain"], 2) for row in rows] == [51.95, 29.07, 17.19, 10.32, 17.44]
    assert result["label"] == "computed"


def test_tco_of_table_3_is_the_papers_17_percent() -> None:
    rows = _ask("tco", "L33", "--json")["rows"]
    assert isinstance(rows, list)
    assert [round(100 * row["gain"], 2) for row in rows[:2]] == [12.19, 17.19]
    assert rows[1]["matched_servers"] == 3600
    assert rows[1]["gain_after_loss"] < rows[1]["gain"]


def test_tco_of_a_free_server_prints_and_of_one_without_any_cost_is_refused() -> None:
    for words in (("--price", "0"), ("L33", "--price", "0"), ("--price", "0", "--idle-ratio", "0")):
        assert _ask("tco", *words, "--json")["label"] == "computed"
    with pytest.raises(SpecFault, match="costs nothing"):
        _ask("tco", "--price", "0", "--energy", "0")


def test_provision_prints_the_plan_and_the_servers() -> None:
    result = _ask("provision", "L28", "--bound", "500us", "--demand", "7.7M,77M", "--json")
    assert result["load"] == 0.7
    assert result["servers"] == [10, 100]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("L33", "--bound", "1us"), 1, "no load fits"),
        (("L33",), 0, "70% of peak"),
        (("L28", "--bound", "500us"), 0, "10 unknown neighbours"),
    ],
)
def test_provision_ends_with_1_where_nothing_fits(
    words: tuple[str, ...], code: int, text: str
) -> None:
    done = CliRunner().invoke(app, ["provision", *words], catch_exceptions=False)
    assert done.exit_code == code, done.output
    assert text in done.output


def test_replicate_runs_what_needs_no_simulator_and_lists_the_rest() -> None:
    done = CliRunner().invoke(app, ["replicate", "--list", "--json"], catch_exceptions=False)
    states = {entry["id"]: entry["state"] for entry in json.loads(done.stdout)}
    assert (states["L20"], states["C24"], states["C3"]) == ("simulated", "measured", "not yet")


def test_replicate_of_arithmetic_alone_ends_with_0_and_says_so() -> None:
    done = CliRunner().invoke(app, ["replicate", "L34"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "verdict: arithmetic" in done.output


def test_replicate_writes_one_page_and_json_beside_it(tmp_path: Path) -> None:
    page, data = tmp_path / "page.html", tmp_path / "data.json"
    words = ["replicate", "L32", "--report", str(page), "--out", str(data)]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "51.95/29.07/17.19/10.32/17.44" in page.read_text()
    table = json.loads(data.read_text())
    assert table["verdict"] == "holds"
    assert table["counts"] == {"holds": 1, "violated": 0, "arithmetic": 3, "unknown": 0}
    assert [check["verdict"] for check in table["checks"]] == ["holds", *["arithmetic"] * 3]
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["tco", "--price", "-1"], "0 or more"),
        (["tco", "--neighbour", "nobody"], "known:"),
        (["tco", "L82"], "L28"),
        (["provision", "--bound", "fast"], "500us"),
        (["provision", "--bound", "500"], "500us"),
        (["provision", "--peak", "0", "--demand", "1M"], "above 0"),
        (["provision", "--demand", "diurnal:1"], "diurnal"),
        (["replicate", "L118"], "L18"),
        (["replicate", "C7"], "sojourn run"),
        (["replicate", "L18", "--profile", "quik"], "quick"),
        (["replicate", "L18", "--report", "/no/such/folder/x.html"], "make it"),
        (["calibrate", "/no/such/points.csv"], "record"),
        (["calibrate", "x.csv", "--peak", "fast"], "120k"),
    ],
)
def test_mistakes_end_with_a_way_out(words: list[str], hint: str) -> None:
    with pytest.raises(SpecFault) as caught:
        CliRunner().invoke(app, words, catch_exceptions=False)
    assert hint in caught.value.fix


DEEP = "[" * 200_000
ROW = "rate_rps,mean_ns,p50_ns,p95_ns,p99_ns\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["fleet", "--job"], DEEP),
        (["fleet", "--job"], "\xff"),
        (["tco"], DEEP),
        (["tco"], '{"rows": ' + DEEP),
        (
            ["calibrate", "--peak", "1k"],
            ROW + "1," + "x" * 200_000 + "\n",
        ),  # beyond csv's own bound
        (["calibrate", "--peak", "1k"], ROW + "\0"),
        (["calibrate", "--peak", "1k"], "a\rb\n\xff"),
        (["calibrate", "--peak", "1k"], ROW + '1,2,3,4,5,6,7\n"'),
    ],
)
def test_a_file_from_anywhere_is_a_mistake_of_the_file(
    tmp_path: Path, words: list[str], text: str
) -> None:
    path = tmp_path / "given"
    path.write_text(text, encoding="latin-1", newline="")
    with pytest.raises(SpecFault) as caught:
        CliRunner().invoke(app, [*words, str(path)], catch_exceptions=False)
    assert str(path) in caught.value.at
