"""What this question finds as its tests play it, for what opens a report."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.questions.scheduler_bakeoff import section_test
from sojourn.questions.testing_openings import Case

CASES: Mapping[str, Case] = {
    "scheduler_bakeoff": Case(section_test.played, is_played=True),
}
