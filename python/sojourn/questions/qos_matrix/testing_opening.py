"""What this question finds as its tests play it, for what opens a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp

from sojourn.questions.qos_matrix import section_test
from sojourn.questions.qos_matrix.plan_test import below
from sojourn.questions.testing_openings import Case


def _folder() -> Path:
    return Path(mkdtemp())


CASES: Mapping[str, Case] = {
    "qos_matrix": Case(lambda: section_test.findings_of(_folder()), is_played=True),
    "qos_matrix, not monotone": Case(
        lambda: section_test.findings_of(_folder(), below), is_played=True
    ),
    "qos_matrix, nothing believed": Case(
        lambda: section_test.findings_of(_folder(), lost=1.0), is_played=True
    ),
}
