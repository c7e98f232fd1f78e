"""`sojourn compare` as typed: what it refuses, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sojourn import spec, store
from sojourn.cli.app import main
from sojourn.cli.share import share
from sojourn.errors import Exit, SpecFault


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """Two unfinished records without points, of one machine."""
    made = []
    for number in range(2):
        asked = spec.load("latency_vs_load", profile="quick")
        known = {"environment": {"name": "vm", "topology": {"model": "x", "allowed": [0, 1]}}}
        with store.open(tmp_path, asked, resume=False, machine="vm", manifest=known) as opened:
            pass
        made.append(opened.path.rename(opened.path.with_name(f"20260101T00000{number}Z-aaaa")))
    return made


def compare(two: list[Path], *more: str) -> int:
    return main(["compare", *map(str, two), *more])


@pytest.mark.parametrize("alpha", ["0", "0%", "nan", "100%", "-1%", "much"])
def test_an_alpha_that_is_none_is_refused(
    alpha: str, two: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(two, "--alpha", alpha) == Exit.USAGE
    assert "--alpha 1%" in capsys.readouterr().err


def test_a_share_is_read_in_both_forms() -> None:
    assert share("1%", "--alpha") == share("0.01", "--alpha") == 0.01
    with pytest.raises(SpecFault):
        share("", "--alpha")


def test_records_without_points_have_nothing_in_common(
    two: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(two) == Exit.USAGE
    err = capsys.readouterr().err
    assert "no service and load in common" in err
    assert "-aaaa has " in err


def test_one_record_and_the_same_twice_are_refused(
    two: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(two[0])]) == Exit.USAGE
    assert compare([two[0], two[0]]) == Exit.USAGE
    assert "given twice" in capsys.readouterr().err
    assert main(["compare", "gone", "away", "--results", str(two[0])]) == Exit.FAILED


def test_another_machine_is_refused_unless_asked_for(
    two: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    at = two[1] / "manifest.json"
    manifest = json.loads(at.read_text())
    manifest["environment"]["topology"]["model"] = "y"
    at.write_text(json.dumps(manifest))
    assert compare(two) == Exit.USAGE
    assert "different machines: CPU: x / y" in capsys.readouterr().err
    assert compare(two, "--across-machines") == Exit.USAGE  # they have no points
    assert "different machines" not in capsys.readouterr().err


@pytest.mark.parametrize("known", ["text", [1], {"topology": 3, "cgroup": []}, None])
def test_a_strange_manifest_is_no_traceback(known: object, two: list[Path]) -> None:
    for path in two:
        at = path / "manifest.json"
        at.write_text(json.dumps({**json.loads(at.read_text()), "environment": known}))
    assert compare(two) in {Exit.USAGE, Exit.FAILED}
