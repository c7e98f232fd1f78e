"""What every question's answer has, whatever else it found; each has more in a type of its own."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.findings.slow_request import SlowRequest
from sojourn.plan.points import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What one question found of a service, or of all services of a study together.

    Attributes:
        headline: it in a sentence, for the answer of the study.
        answer: it in words; "" where another question's answer says it.
        verdict: None: it decides nothing beside other questions.
        reasons: why it is not `holds`.
        paper: (what, paper's value in words, ours in words, id) rows.
        leads: it is what the study was made for, and is reported before anything else.
    """

    headline: str = ""
    answer: str = ""
    verdict: Verdict | None = None
    reasons: tuple[str, ...] = ()
    paper: tuple[tuple[str, str, str, str], ...] = ()
    leads: bool = False

    @property
    def whole(self) -> tuple[int, int, str] | None:
        """How many answers are decided, of how many, and their name; None: others count as well.

        Where it is not None, the section alone counts for the state of the study (M37).
        """
        return None

    @property
    def slow_requests(self) -> tuple[SlowRequest, ...]:
        """Requests of the tail that it looked into one by one."""
        return ()
