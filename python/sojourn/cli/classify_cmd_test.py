"""`sojourn classify` says what it found, what it could not see, and what to run next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sojourn.cli.app import app
from sojourn.errors import SpecFault
from sojourn.models.classify.planted import Planted
from sojourn.models.classify.scenario import MEMORY
from sojourn.models.classify.testing import record


def test_a_scaler_of_which_memory_is_not_seen_is_told_by_what_it_carried(tmp_path: Path) -> None:
    path = record(tmp_path, Planted(), unseen=[MEMORY])
    done = CliRunner().invoke(app, ["classify", str(path), "--json"], catch_exceptions=False)
    (result,) = json.loads(done.stdout)["classes"]
    assert done.exit_code == 0, done.output
    assert (result["scalable"]["word"], result["smt"]["word"]) == ("yes", "yes")
    assert result["scalable"]["others"][0]["word"] == "undecided"  # busy threads prove nothing
    assert ["memory bandwidth", "no resctrl here"] in result["unseen"]
    text = CliRunner().invoke(app, ["classify", str(path)], catch_exceptions=False).stdout
    assert "memcached: scalable yes" in text
    assert "not seen: memory bandwidth: no resctrl here" in " ".join(text.split())


def test_one_scenario_shows_no_trend_and_the_next_command_is_reported(tmp_path: Path) -> None:
    path = record(tmp_path, Planted(cpu_s=1e-4, wait_s=1e-3), levels=(1,))
    done = CliRunner().invoke(app, ["classify", str(path)], catch_exceptions=False)
    assert done.exit_code == 3
    text = " ".join(done.stdout.split())
    assert "SMT-sensitive no" in text
    assert "sojourn run planted --vary services.memcached.params.threads=1,2,8" in text


@pytest.mark.parametrize(
    ("does", "service", "exit_code", "hows"),
    [
        ("scales", Planted(), 0, {"right"}),
        ("locks", Planted(serial=1.0), 0, {"right"}),
        ("locks", Planted(), 1, {"wrong"}),  # it scales, and was asked to lock
        ("scales", Planted(serial=1.0), 1, {"wrong"}),
        ("streams", Planted(), 0, {"not to be seen here"}),  # CPU time, to who sees no memory
    ],
)
def test_a_planted_service_is_held_against_what_it_is(
    tmp_path: Path, does: str, service: Planted, exit_code: int, hows: set[str]
) -> None:
    path = record(tmp_path, service, unseen=[MEMORY], does=does)
    done = CliRunner().invoke(app, ["classify", str(path), "--json"], catch_exceptions=False)
    assert done.exit_code == exit_code, done.output
    assert {one["how"] for one in json.loads(done.stdout)["known"]} == hows
    text = CliRunner().invoke(app, ["classify", str(path)], catch_exceptions=False).stdout
    right = sum(one["how"] == "right" for one in json.loads(done.stdout)["known"])
    assert f"{right} of {1 if does == 'streams' else 3} right" in text


def test_tables_come_out_right_and_two_questions_at_once_are_refused() -> None:
    for words in (["--planted"], ["--paper", "--details"]):
        done = CliRunner().invoke(app, ["classify", *words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    with pytest.raises(SpecFault, match="only one of"):
        CliRunner().invoke(app, ["classify", "--paper", "--planted"], catch_exceptions=False)
    with pytest.raises(SpecFault, match="size such as"):
        CliRunner().invoke(app, ["classify", "--memory-max", "much"], catch_exceptions=False)
