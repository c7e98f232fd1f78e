"""`sojourn tco --league`: the batch work that each controller keeps, in money."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sojourn.cli.app import app
from sojourn.errors import SpecFault
from sojourn.models.league import rows_file
from sojourn.models.tco import Costs, used_gain

ROW = {
    "controller": "posterior",
    "scenario": "week",
    "seed": 1,
    "violated_s": 4,
    "kept": 0.30,
    "alone": 0.60,
    "busy": 0.40,
    "settled_s": None,
}


def written(folder: Path, *rows: dict[str, Any], form: str = "sojourn.league/1") -> Path:
    path = folder / "rows.json"
    path.write_text(json.dumps({"schema": form, "hours": 168, "rows": rows}))
    return path


def ask(*words: str) -> str:
    done = CliRunner().invoke(app, ["tco", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_gain_is_that_of_its_own_load_and_batch_work(tmp_path: Path) -> None:
    rows = [{**ROW, "seed": seed, "kept": share} for seed, share in ((1, 0.3), (2, 0.1), (3, 0.2))]
    path = written(tmp_path, *rows, {**ROW, "controller": "null", "kept": 0.5})
    result = json.loads(ask("--league", str(path), "--json", "--price", "1000"))
    ours, null = result["rows"]
    costs = Costs(price_usd=1000)
    assert ours["gain"] == used_gain(costs, 0.40, 0.2)
    assert (ours["gain_least"], ours["gain_most"]) == (
        used_gain(costs, 0.4, 0.1),
        used_gain(costs, 0.4, 0.3),
    )
    assert (ours["runs"], ours["of_alone"]) == (3, pytest.approx(1 / 3))
    assert (ours["matched_servers"], null["matched_servers"]) == (2400, 6000)
    assert null["gain"] > ours["gain"]


def test_it_is_printed_as_a_table(tmp_path: Path) -> None:
    text = ask("--league", str(written(tmp_path, ROW)))
    assert "posterior" in text
    assert f"{used_gain(Costs(), 0.4, 0.3):.2%}" in text
    assert "50%" in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kept": 1.5}, "rows.0.kept"),
        ({"busy": float("nan")}, "rows.0.busy"),
        ({"violated_s": -1}, "rows.0.violated_s"),
        ({"controller": ""}, "rows.0.controller"),
        ({"alone": None}, "rows.0.alone"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecFault, match=says):
        ask("--league", str(written(tmp_path, {**ROW, **changes})))


def test_a_run_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """Else it would count as two runs that agree."""
    with pytest.raises(SpecFault, match="a run is in it twice"):
        ask("--league", str(written(tmp_path, ROW, {**ROW, "seed": 2}, {**ROW, "kept": 0.2})))


def test_what_is_no_league_is_refused(tmp_path: Path) -> None:
    for path in (written(tmp_path), written(tmp_path, ROW, form="sojourn.colocation/1")):
        with pytest.raises(SpecFault, match="no league"):
            ask("--league", str(path))
    (tmp_path / "deep").write_text("[" * 200_000)
    for name in ("deep", "none"):
        with pytest.raises(SpecFault) as caught:
            ask("--league", str(tmp_path / name))
        assert str(tmp_path / name) in caught.value.at


@pytest.mark.parametrize("words", [("L33",), ("--neighbour", "lbm"), ("--setting", "x")])
def test_a_table_beside_it_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(SpecFault, match="a table means nothing"):
        ask("--league", str(written(tmp_path, ROW)), *words)


def test_a_file_of_many_controllers_takes_time_by_its_length() -> None:
    rows = [{**ROW, "controller": f"c{number}"} for number in range(8000)]
    form = {"schema": "sojourn.league/1", "rows": rows}
    league = rows_file.League.model_validate_json(json.dumps(form))
    began = time.process_time()
    worth = league.worth(Costs(), 1000)
    assert time.process_time() - began < 3.0  # 64 million comparisons take longer
    assert [row["controller"] for row in worth] == [row["controller"] for row in rows]
