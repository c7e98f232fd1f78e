import re
from pathlib import Path

import pytest

from sojourn.report import testing, text, tiles

GOLDEN = Path(__file__).parent / "golden" / "report.txt"


def test_the_text_is_as_it_was_reviewed() -> None:
    assert text(testing.findings()) + "\n" == GOLDEN.read_text("utf-8")


@pytest.mark.parametrize("case", testing.degenerate())
@pytest.mark.parametrize("width", [80, 100])
def test_it_fits(case: str, width: int) -> None:
    found = testing.degenerate()[case]
    lines = text(found, width).splitlines()
    assert max(len(line) for line in lines) <= width
    words = re.sub(r"\s+", " ", " ".join(lines))
    for service in found.services:
        assert re.sub(r"\s+", " ", tiles.of_service(service).line) in words
    assert found.services or found.answer in words


def test_colour_adds_nothing_but_colour() -> None:
    plain, painted = text(testing.findings()), text(testing.findings(), color=True)
    assert painted != plain
    assert re.sub(r"\x1b\[\d+m", "", painted) == plain


def test_the_plot_shows_bound_runs_and_what_is_not_believed() -> None:
    lines = text(testing.findings()).splitlines()
    start = lines.index("p99 sojourn time against offered load, % of max RPS")
    plot = lines[start : start + 21]
    bound = next(line for line in plot if "QoS p99 <= 1 ms" in line)
    assert bound.startswith("     1 ms +--")
    above = "".join(plot[: plot.index(bound)])
    below = "".join(plot[plot.index(bound) + 1 : 18])
    assert above.count("#") == 2  # 80 % and 100 % violate
    assert below.count("o") == 7  # 10 % to 70 % hold
    assert "x" in above  # 90 % is not believed
