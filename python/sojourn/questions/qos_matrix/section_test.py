"""A QoS matrix from made-up runs of known truth to words, text and page."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sojourn import report
from sojourn.analysis import study as find
from sojourn.analysis.testing import run_study
from sojourn.findings.findings import Findings
from sojourn.plan.points import Verdict
from sojourn.questions import answers, parts
from sojourn.questions.qos_matrix import section
from sojourn.questions.qos_matrix.matrix import OPEN, QosMatrix
from sojourn.questions.qos_matrix.plan import PHASE
from sojourn.questions.qos_matrix.plan_test import TEXT, Truth, World, below, read, sums
from sojourn.report import headline, terminal

BOTH = sum(all(sums(a / 10, b / 10)) for a in range(1, 8) for b in range(1, 8))


def findings_of(truth: Truth = sums, *, text: str = TEXT, lost: float = 0.0) -> Findings:
    return _played(truth, text, lost)


@cache
def _played(truth: Truth, text: str, lost: float) -> Findings:
    """A whole matrix, which takes seconds."""
    world = World(truth, lost=lost)
    with TemporaryDirectory() as folder:
        study = read(Path(folder), text)
    return find(run_study(study, capacity_rps=1e5, of_phase={PHASE: world}), answers())


def whole(findings: Findings) -> QosMatrix:
    section = findings.section(QosMatrix)
    assert section is not None
    return section


def test_it_says_how_many_pairs_fit_and_what_that_took() -> None:
    qos_matrix = whole(findings_of())
    (matrix,) = qos_matrix.matrices
    assert matrix.counts["both"] == BOTH
    assert matrix.is_monotone
    assert OPEN not in matrix.counts
    assert qos_matrix.answer.startswith(
        f"memcached and synthetic both meet their targets in {BOTH} of 49 pairs of loads"
    )
    assert f"It took {matrix.measurements} measurements; a full grid takes 98." in qos_matrix.answer
    assert "The most that fits is memcached at 30 % with synthetic at 40 %" in qos_matrix.answer
    assert qos_matrix.verdict is Verdict.HOLDS


def test_the_headline_is_of_the_pair() -> None:
    findings = findings_of()
    assert headline.of(findings) == f"both targets met in {BOTH} of 49 pairs of loads"


def test_services_that_are_not_monotone_are_judged_by_their_own_runs_only() -> None:
    qos_matrix = whole(findings_of(below))
    (matrix,) = qos_matrix.matrices
    assert not matrix.is_monotone
    assert qos_matrix.verdict is Verdict.UNKNOWN
    assert "--set qos_matrix.full=true" in qos_matrix.reasons[0]
    never = [cell for cell in matrix.cells if not cell.runs]
    assert never
    assert all(cell.meets == OPEN for cell in never)


def test_what_no_one_believed_is_open() -> None:
    qos_matrix = whole(findings_of(lost=1.0))
    (matrix,) = qos_matrix.matrices
    assert matrix.counts == {OPEN: 49}
    assert qos_matrix.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("truth", [sums, below])
def test_page_and_text_show_it(tmp_path: Path, truth: Truth) -> None:
    findings = findings_of(truth)
    pages = report.write(findings, tmp_path, parts())
    page = next(path for path in pages if path.suffix == ".html").read_text()
    assert "Loads at which memcached and synthetic keep their targets" in page
    text = terminal.text(findings, parts())
    assert "rows: load of memcached, columns: load of synthetic" in text


def test_under_factors_each_combination_has_its_own() -> None:
    text = TEXT + '[factors]\n"services.memcached.params.threads" = [1, 2]\n'
    qos_matrix = whole(findings_of(text=text))
    assert [matrix.under for matrix in qos_matrix.matrices] == ["threads = 1", "threads = 2"]
    assert all(matrix.counts["both"] == BOTH for matrix in qos_matrix.matrices)


def test_targets_that_differ_between_matrices_are_all_in_the_caption() -> None:
    """A bound that is measured at a low load differs between combinations of levels."""
    text = TEXT + '[factors]\n"services.memcached.params.threads" = [1, 2]\n'
    findings = findings_of(text=text)
    one, other = whole(findings).matrices
    row, column = one.targets
    alike = section.draw(findings)[0].caption
    assert alike.startswith(f"memcached: {row}; synthetic: {column}. ")
    other = replace(other, targets=("p99 ≤ 3 ms", column))
    unlike = findings.having("qos_matrix", replace(whole(findings), matrices=(one, other)))
    caption = section.draw(unlike)[0].caption
    names = [section.name_of(each) for each in (one, other)]
    assert names[0] != names[1]
    assert f"memcached: {row} ({names[0]}), p99 ≤ 3 ms ({names[1]}); " in caption
    assert f"; synthetic: {column}. " in caption, "the same under both is named once"


def test_the_paper_has_targets_of_its_own() -> None:
    findings = findings_of()
    (matrix,) = whole(findings).matrices
    ours = replace(matrix, services=("memcached", "nginx"), targets=("p99 ≤ 7 ms", "p99 ≤ 8 ms"))
    cells = tuple(replace(cell, meets="both") for cell in matrix.cells)
    pair = replace(whole(findings), matrices=(replace(ours, cells=cells),))
    here, papers = section.draw(findings.having("qos_matrix", pair))
    assert "memcached: p99 ≤ 7 ms; nginx: p99 ≤ 8 ms" in here.caption
    assert "p99 ≤ 20 ms" in papers.caption
    assert "7 ms" not in papers.caption
