"""What opens a report of each question: cases that lie with the questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from sojourn.findings.findings import Findings
from sojourn.questions import KINDS


@dataclass(frozen=True, slots=True)
class Case:
    """Findings that a question opens.

    Attributes:
        make: them.
        headline: that they come to; "" where a test of the question says it.
        is_played: a whole study is played for them, which takes seconds.
    """

    make: Callable[[], Findings]
    headline: str = ""
    is_played: bool = False


def every() -> Mapping[str, tuple[str, Case]]:
    """(question, case) by the name of the case, of every question that has an opening."""
    names = [kind.name for kind in KINDS.values() if kind.opening() is not None]
    modules = ((name, import_module(f"sojourn.questions.{name}.testing_opening")) for name in names)
    return {case: (name, made) for name, module in modules for case, made in module.CASES.items()}
