"""What this question finds as its tests play it, for what opens a report."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.questions.manager_league import judge_test
from sojourn.questions.testing_openings import Case

CASES: Mapping[str, Case] = {
    "managers": Case(judge_test.usual, "Static, idle 1 keeps 48 % of xz, 0.0 of 10 s violated"),
    "managers, no target": Case(
        judge_test.overloaded, "No manager can be judged: the target is missed alone"
    ),
    "managers, one run each": Case(judge_test.once, "Which manager is best is unknown"),
}
