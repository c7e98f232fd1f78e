"""`sojourn gate` as typed: what it refuses, and its forms for CI."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn.cli import named_file
from sojourn.cli.app import main
from sojourn.cli.share import share
from sojourn.errors import Exit, SpecFault
from sojourn.questions import forms, scatter
from sojourn.questions.compare.compare_test import asked, found, noise, played, section

SIDES = ("--baseline", "old {port}", "--candidate", "new {port}")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--alpha", "0"), "--alpha 1%"),
        (("--alpha", "60%"), "--alpha 1%"),
        (("--alpha", "nan"), "no share above"),
        (("--alpha", "-1%"), "no share above"),
        (("--alpha", "1"), "below 0.5"),
        (("--max-regression", "-5%"), "no share of 0 or more and below 10"),
        (("--max-regression", "nan"), "--max-regression 1%"),
        (("--numbers", "cpu,p42"), "there is no number 'p42'"),
        (("--numbers", "cpu,cpu"), "a number is given twice"),
        (("--numbers", ","), "no number is given"),
        (("--within", "3s"), "an answer takes"),
        (("--within", "soon"), "write a time"),
        (("--rate", "0"), "not an offered load"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(
    options: tuple[str, ...], word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["gate", *SIDES, *options, "--results", str(tmp_path)]) == Exit.USAGE
    assert word in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_increase_of_nothing_may_be_allowed() -> None:
    assert share("0%", "--max-regression", takes_least=True) == 0
    with pytest.raises(SpecFault, match="above 0"):
        share("0%", "--same")


def test_an_empty_side_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "--baseline", " ", "--candidate", "x"]) == Exit.USAGE
    assert "--baseline" in capsys.readouterr().err


@pytest.mark.parametrize(("factor", "state"), [(1.3, "failure"), (1.0, ""), (1.05, "skipped")])
def test_forms_say_what_the_gate_says(factor: float, state: str) -> None:
    study = asked(gate=True, blocks=20, numbers=["cpu", "p99"])

    def slower(lot: random.Random, label: str, _: int) -> float:
        return noise(lot, 0.01) * (factor if label == "b" else 1)

    findings = found(study, played(study, slower))
    made = forms(findings)
    cases = ET.fromstring(made["junit"]).findall("testcase")  # noqa: S314 - our own
    assert [case.get("name") for case in cases] == ["CPU per request", "p99"]
    assert {child.tag for case in cases for child in case} == ({state} if state else set())
    sign = {"failure": "❌", "": "✅", "skipped": "❔"}[state]
    assert made["markdown"].startswith(sign)
    assert "| CPU per request |" in made["markdown"]
    assert set(scatter(findings)) == {"CPU per request", "p99"}


def test_hostile_names_neither_end_a_cell_nor_are_markup() -> None:
    study = asked(gate=True, blocks=8)
    findings = found(study, played(study, lambda lot, _, __: noise(lot)))
    evil = replace(section(findings), answer="<b>|\n]]>", reasons=("<i> ![y](http://z)",))
    made = forms(replace(findings, sections={"compare": evil}))
    assert "<b>" not in made["markdown"]
    assert "<i>" not in made["markdown"]
    assert "](http" not in made["markdown"].replace("\\](http", "")
    ET.fromstring(made["junit"])  # noqa: S314 - our own


def test_without_a_comparison_there_are_no_forms() -> None:
    study = asked()
    assert forms(found(study, [])) == {}
    assert scatter(found(study, [])) == {}


def test_a_summary_is_appended_and_a_bad_path_is_a_fault(tmp_path: Path) -> None:
    at = tmp_path / "summary.md"
    for text in ("one\n", "two\n"):
        named_file.write(at, text, is_more=True)
    assert at.read_text() == "one\ntwo\n"
    with pytest.raises(SpecFault, match="cannot write"):
        named_file.write(tmp_path / "no" / "x", "")
