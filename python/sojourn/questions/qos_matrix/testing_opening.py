"""What this question finds as its tests play it, for what opens a report."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sojourn.questions.qos_matrix import section_test
from sojourn.questions.qos_matrix.plan_test import below
from sojourn.questions.testing_openings import Case

CASES: Mapping[str, Case] = {
    "qos_matrix": Case(section_test.findings_of, is_played=True),
    "qos_matrix, not monotone": Case(partial(section_test.findings_of, below), is_played=True),
    "qos_matrix, nothing believed": Case(
        partial(section_test.findings_of, lost=1.0), is_played=True
    ),
}
