"""What the first screen says of suspects."""

from __future__ import annotations

from sojourn.questions.blame import figure as suspects
from sojourn.questions.blame.testing_opening import CASES
from sojourn.report import figures, openings


def test_a_suspect_that_is_tried_in_every_condition_is_named_with_it() -> None:
    guilty, cleared, open_ = openings.of(CASES["guilty"].make()).sentences
    assert guilty.endswith("as with it stopped, on the CPU.")
    assert "cleared" in cleared
    assert "undecided: only changes above a factor of 3" in open_
    (worst,) = [row for row in openings.of(CASES["guilty"].make()).text if "system calls" in row]
    assert worst.startswith("system calls at 1 %, worst of 3")
    drawn = next(f for f in figures.of_study(CASES["guilty"].make()) if f.name == suspects.NAME)
    assert sum("beside" in str(row) for row in drawn.table.rows) == 3
