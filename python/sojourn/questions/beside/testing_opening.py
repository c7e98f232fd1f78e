"""What this question finds as its tests play it, for what opens a report."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.questions.beside import section_test
from sojourn.questions.testing_openings import Case

CASES: Mapping[str, Case] = {
    "beside": Case(
        lambda: section_test.played("square_wave", ["other", "nice:-20", "fifo:1"]), is_played=True
    ),
    "beside, one setting": Case(lambda: section_test.played("context_switch", []), is_played=True),
}
