from __future__ import annotations

import pytest

from sojourn.cli.terminal_width import LEAST, MOST, width
from sojourn.report import plot
from sojourn.report.plot import Mark


@pytest.mark.parametrize(("columns", "wanted"), [(1, LEAST), (7, LEAST), (66, 66), (500, MOST)])
def test_a_page_is_as_wide_as_the_terminal_within_reason(
    monkeypatch: pytest.MonkeyPatch, columns: int, wanted: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert width() == wanted


def test_a_plot_fits_the_narrowest_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1")
    marks = [Mark(x=share / 10, y=1e5 * share, sign="o") for share in range(1, 10)]
    lines = plot.draw(marks, bound_ns=5e5, bound="bound", band=(0.4, 0.8), width=width())
    assert any("o" in line for line in lines)
    assert max(map(len, lines)) <= LEAST
