"""Formats of a report: what each file holds, and which are refused."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn.errors import SpecFault, StoreFault
from sojourn.findings.findings import Findings
from sojourn.report import testing
from sojourn.report.parts import Parts
from sojourn.report.writers import WRITERS, asked, export
from sojourn.testing_questions import parts


def written(tmp_path: Path, name: str, *, found: Findings | None = None) -> str:
    path = tmp_path / "answer"
    export(found or testing.findings(), asked([f"{name}={path}"]), parts())
    return path.read_text()


def test_each_format_is_written_by_name(tmp_path: Path) -> None:
    assert set(WRITERS) == {"html", "text", "json", "csv", "markdown", "latex", "openmetrics"}
    found = testing.findings()
    assert written(tmp_path, "html").startswith("<!doctype html>")
    assert found.answer.split()[0] in written(tmp_path, "text")
    table = json.loads(written(tmp_path, "json"))
    assert table["study"] == found.study
    assert [s["service"] for s in table["services"]] == [s.service for s in found.services]
    rows = list(csv.DictReader(io.StringIO(written(tmp_path, "csv"))))
    assert [row["point"] for row in rows] == [row.key for row in found.points]


def test_markdown_has_a_row_a_load_and_a_column_a_quantile(tmp_path: Path) -> None:
    found = testing.findings()
    said = written(tmp_path, "markdown")
    service = found.services[0]
    head = next(line for line in said.splitlines() if line.startswith("| load"))
    quantiles = {q.q for point in service.points for q in point.quantiles}
    assert head.count(" | p") == len(quantiles)
    assert said.count("\n| ") == sum(len(s.points) + 2 for s in found.services if s.points)


def test_words_of_a_record_make_no_table_link_or_tag_in_markdown(tmp_path: Path) -> None:
    found = testing.findings()
    hostile = "a | b\n# [x](http://y) <script>\x1b[2J `z`"
    said = written(tmp_path, "markdown", found=replace(found, question=hostile))
    line = said.splitlines()[2]
    assert line.startswith("*a \\| b \\# \\[x\\](http://y) \\<script\\>")
    assert "\x1b" not in said


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("markdown", "not FORMAT=FILE", "--export markdown=answer.md"),
        ("html=", "not FORMAT=FILE", "html, text, json, csv, markdown"),
        ("markdwon=x", "no format 'markdwon'", "did you mean markdown"),
        ("pdf=x", "no format 'pdf'", "known: html"),
        ("html=/nowhere/x", "does not exist", "folder that exists"),
        ("html=/tmp", "is a folder", "name a file"),
    ],
)
def test_what_is_no_format_or_no_file_is_refused_at_once(text: str, what: str, fix: str) -> None:
    with pytest.raises(SpecFault, match=what) as caught:
        asked([text])
    assert fix in caught.value.fix
    assert caught.value.at == f"--export {text}"


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(SpecFault, match="no name of a file"):
        asked([f"text={'x' * 300}"])


def test_a_file_that_cannot_be_written_is_a_fault(tmp_path: Path) -> None:
    exports = asked([f"text={tmp_path}/answer"])
    (tmp_path / "answer").mkdir()  # meanwhile
    with pytest.raises(StoreFault, match="cannot be written"):
        export(testing.findings(), exports, Parts())
