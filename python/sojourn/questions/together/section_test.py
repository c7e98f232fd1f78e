"""The page of services that were measured at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from sojourn import report
from sojourn.analysis import study as find
from sojourn.analysis.testing import run_study
from sojourn.questions import answers, parts
from sojourn.report import terminal
from sojourn.report.page_test import figures_in
from sojourn.spec import load

TEXT = """
name = "pair"
question = "What do two services do to each other?"
[run]
profile = "quick"
repeats = 2
fractions = [0.3]
[[services]]
kind = "memcached"
measure = ["sweep"]
[[services]]
kind = "synthetic"
measure = ["sweep"]
[together]
memcached = [0.3]
synthetic = [0.3]
"""


def whole(paths: Sequence[Path]) -> str:
    """The page, and what its figures are drawn from."""
    page = next(path for path in paths if path.suffix == ".html").read_text()
    return page + json.dumps(figures_in(page), ensure_ascii=False)


def test_the_page_has_a_table_and_a_figure_of_it(tmp_path: Path) -> None:
    path = tmp_path / "pair.toml"
    qos = '[services.qos]\nq = 0.95\nbound = "10s"\n'
    path.write_text(TEXT.replace("[together]", f"{qos}[together]"))
    pages = report.write(
        find(run_study(load(path), capacity_rps=1e5), answers()), tmp_path, parts()
    )
    page = whole(pages)
    assert "Services at once" in page
    assert "memcached at 30 %, beside synthetic at 30 %" in page
    assert "p99 beside others, over p99 alone" in page
    assert "✓ holds: p95 ≤ 10.0 s (met with probability 0.9" in page


def test_with_factors_the_page_and_the_text_say_under_which_levels(tmp_path: Path) -> None:
    path = tmp_path / "pair.toml"
    path.write_text(TEXT + '[factors]\n"neighbour" = ["none", "spin"]\n')
    findings = find(run_study(load(path), capacity_rps=1e5), answers())
    pages = report.write(findings, tmp_path, parts())
    page = whole(pages)
    assert "memcached at 30 %, beside synthetic at 30 %, neighbour = spin" in page
    assert "Effects of neighbour on synthetic" in page
    text = terminal.text(findings, parts())
    assert "with neighbour = spin:" in text
    assert text.count("p99 at 30 % beside synthetic at 30 % over alone") >= 1
