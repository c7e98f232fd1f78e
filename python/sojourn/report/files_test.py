import gc
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import extras
from sojourn.errors import Exit, StoreFault
from sojourn.findings.findings import ServiceFinding
from sojourn.report import figures, testing, text, volume, write
from sojourn.report.draw.figure import Figure
from sojourn.report.draw.table import Table
from sojourn.report.files import DRAWN
from sojourn.report.large_test import campaign
from sojourn.testing_questions import parts


def test_page_text_and_files_of_each_figure_are_written_and_can_be_replaced(tmp_path: Path) -> None:
    result = replace(
        testing.findings(), services=(), sections={"check": testing.checked(testing.checks())}
    )
    paths = write(result, tmp_path, parts(), has_pictures=True)
    assert [path.name for path in paths[:2]] == ["report.html", "report.txt"]
    assert {path.name for path in paths[2:]} == {f"against-theory.{s}" for s in ("csv", *DRAWN)}
    assert len(DRAWN) == 7
    for name, inches in (("column", 3.33), ("page", 7.0)):
        drawn = tmp_path / "figures" / f"against-theory.{name}.pdf"
        box = re.search(rb"/MediaBox \[0 0 ([0-9.]+) ", drawn.read_bytes())
        assert box
        assert float(box[1]) == pytest.approx(72 * inches, abs=0.5), "points of a paper"
    assert (tmp_path / "report.txt").read_text() == text(result, parts()) + "\n"
    (tmp_path / "report.html").write_text("old")
    assert write(result, tmp_path, parts(), has_pictures=True) == paths
    assert result.answer in (tmp_path / "report.html").read_text()
    assert not list(tmp_path.rglob("*.part"))


def test_pictures_are_drawn_on_request_and_go_when_their_numbers_do(tmp_path: Path) -> None:
    findings = replace(
        testing.findings(), services=(), sections={"check": testing.checked(testing.checks())}
    )
    folder = tmp_path / "figures"
    write(findings, tmp_path, parts())
    assert {path.name for path in folder.iterdir()} == {"against-theory.csv"}
    for suffix in DRAWN:
        (folder / f"against-theory.{suffix}").write_text("of before")
    (folder / "own.svg").write_text("of somebody")
    write(findings, tmp_path, parts())
    assert len(list(folder.iterdir())) == len(DRAWN) + 2, "the same numbers: the pictures stand"
    (folder / "against-theory.csv").write_text("other numbers")
    write(findings, tmp_path, parts())
    assert {path.name for path in folder.iterdir()} == {"against-theory.csv", "own.svg"}


def test_without_the_packages_for_pages_there_are_text_and_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "is_here", lambda _: False)
    sections = {"check": testing.checked(testing.checks())}
    result = replace(testing.findings(), services=(), sections=sections)
    paths = write(result, tmp_path, parts())
    assert [path.name for path in paths] == ["report.txt", "against-theory.csv"]


def test_a_folder_that_cannot_be_written_is_named_with_its_fix(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    with pytest.raises(StoreFault) as caught:
        write(replace(testing.findings(), services=(), sections={}), taken, parts())
    assert caught.value.at.startswith(str(taken))
    assert "sojourn report" in caught.value.fix
    assert caught.value.exit is Exit.FAILED


def test_figures_of_a_large_study_are_let_go_one_combination_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings, alive, made = campaign(20), list[int](), list[Table]()
    assert volume.is_large(findings)
    of_service, csv = figures.of_service, Table.csv

    def watched(service: ServiceFinding, *, is_crowded: bool = False) -> list[Figure]:
        alive.append(sum(isinstance(one, Figure) for one in gc.get_objects()))
        return of_service(service, is_crowded=is_crowded)

    def counted(table: Table) -> str:
        made.append(table)
        return csv(table)

    monkeypatch.setattr(figures, "of_service", watched)
    monkeypatch.setattr(Table, "csv", counted)
    gc.collect()
    gc.disable()
    try:
        paths = write(findings, tmp_path, parts())
    finally:
        gc.enable()
    each = len(of_service(findings.services[0], is_crowded=True))
    assert len(alive) == len(findings.services)
    assert max(alive) - alive[0] <= each, "those of the combination before, at most"
    own = [path for path in paths if "threads" in path.name]
    assert len(own) == each * len(findings.services)
    assert len(made) < 1.2 * len(own), "the numbers of a figure are written once"
