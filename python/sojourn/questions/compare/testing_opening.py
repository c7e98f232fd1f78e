"""Made-up findings of this question, for what opens a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sojourn.findings.findings import Findings
from sojourn.questions.compare.compare_test import asked, noise, played
from sojourn.questions.compare.compare_test import found as findings_of
from sojourn.questions.testing_openings import Case


def _made(factor: float, spread: float, **keys: Any) -> Callable[[], Findings]:
    def make() -> Findings:
        study = asked(blocks=20, **keys)
        done = played(
            study, lambda lot, label, _: noise(lot, spread) * (factor if label == "b" else 1)
        )
        return replace(findings_of(study, done), command="sojourn compare --within 4m")

    return make


CASES: Mapping[str, Case] = {
    "compare": Case(_made(1.3, 0.02), "b is worse than a: mean 1.29 times", is_played=True),
    "compare, gate": Case(
        _made(1.3, 0.02, gate=True),
        "b is worse than a by more than 5 %: mean 1.30 times",
        is_played=True,
    ),
    "compare, same": Case(_made(1.0, 0.005), is_played=True),
    "compare, open": Case(
        _made(1.0, 0.3), "Whether b differs from a cannot be decided", is_played=True
    ),
}
