"""What the first screen says of isolation costs."""

from __future__ import annotations

from sojourn.questions.isolation_cost.testing_opening import isolation
from sojourn.report import openings


def test_the_paper_is_beside_what_isolation_costs() -> None:
    cheap, paper, tail = openings.of(isolation()).sentences
    assert cheap.startswith("Cheapest is cpu quota, 38 µs")
    assert "empty" not in cheap
    assert "1.2 to 3.5 times as long" in paper
    assert "cpu quota 2.0 (1.7–2.3) times" in tail
    rows = openings.of(isolation()).text
    assert any("◆" in row for row in rows if row.startswith("restart runc"))
