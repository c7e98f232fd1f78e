"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from sojourn.findings.load_point import LoadPoint
from sojourn.findings.section import Section
from sojourn.questions.testing_state import Made, made, of_service


def found() -> Made:
    """A load that is believed, and one that is not."""
    points = tuple(made(LoadPoint, fraction=0.5, is_believed=is_so) for is_so in (True, False))
    return Made(of_service("sweep", Section(), points=points), 1, 2, "loads")
