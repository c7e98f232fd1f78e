"""What this question finds as its tests play it, for what opens a report."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.questions.colocation import judge_test
from sojourn.questions.testing_openings import Case

CASES: Mapping[str, Case] = {
    "colocation": Case(judge_test.usual, is_played=True),
    "colocation, one died": Case(judge_test.bereft, is_played=True),
}
