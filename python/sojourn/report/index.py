"""One page for many studies: what was asked, the answer, the verdict, and a link to each report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from urllib.parse import quote

from sojourn.findings import state
from sojourn.report import page

WAITING, MEASURING = "waiting", "measuring"
ANSWERED, IN_PART, UNDECIDED = state.ANSWERED, state.IN_PART, state.UNDECIDED
SKIPPED, FAILED = "skipped", "failed"
#: What each state means, in the order of the page's summary.
STATES = {
    ANSWERED: "measured to the end, and its question has an answer",
    IN_PART: "measured to the end, and a part of its question has an answer",
    UNDECIDED: "measured to the end; what was seen does not decide, its report says why",
    SKIPPED: "nothing of it can be measured on this machine",
    FAILED: "it ended with a fault; the same command tries it again",
    MEASURING: "it is being measured, or was when the campaign was stopped",
    WAITING: "its turn has not come",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One study of a campaign.

    Attributes:
        study: its name, or the path of its file.
        state: one of `STATES`.
        verdict, answer: of its report; "" while there is none.
        done, of, unit: how much of its question is answered: 47 of 49 "cells".
        settle, settle_s: the command that would settle the rest, and how long it takes; "" if
            nothing is open, or nothing was measured.
        reason, fix: why it was skipped or failed.
        points: that are stored; `planned`: about how many there will be.
        wall_s: that it took; `planned_s`: that it was to take.
        left_out: why combinations of its levels have no answer, each reason in a sentence.
        left_count: how many combinations these are.
        record, report: relative to the campaign's folder; "" while there is none.
        log: of an error that was not foreseen, the same.
    """

    study: str
    question: str
    state: str = WAITING
    verdict: str = ""
    answer: str = ""
    reason: str = ""
    fix: str = ""
    points: int = 0
    planned: int = 0
    wall_s: float = 0.0
    planned_s: float = 0.0
    left_out: tuple[str, ...] = ()
    left_count: int = 0
    record: str = ""
    report: str = ""
    log: str = ""
    done: int = 0
    of: int = 0
    unit: str = ""
    settle: str = ""
    settle_s: float = 0.0

    @property
    def state_text(self) -> str:
        """Its state, with what is answered of it: `answered in part (47 of 49 cells)`."""
        if self.state in {ANSWERED, IN_PART, UNDECIDED}:
            answered = state.State(done=self.done, of=self.of, unit=self.unit)
            return answered.text if self.of else self.state
        return self.state

    @property
    def answer_text(self) -> str:
        """The answer, or why there is none."""
        return self.answer or "; ".join(filter(None, (self.reason, self.fix)))

    @property
    def verdict_text(self) -> str:
        """Its verdict; "" where it answers what factors do, and a target is left undecided."""
        return (
            "" if self.state in {ANSWERED, IN_PART} and self.verdict == "unknown" else self.verdict
        )


def answer(entries: Sequence[Entry]) -> str:
    """The page's one sentence.

    >>> answer([Entry(study="a", question="?", state="answered")])
    '1 of 1 study is answered.'
    """
    count = Counter(entry.state for entry in entries)
    done, total = count.pop(ANSWERED, 0), len(entries)
    rest = [f"{count[state]} {state}" for state in STATES if count[state]]
    verb = "is" if done == 1 else "are"
    text = f"{done} of {total} {'study' if total == 1 else 'studies'} {verb} answered"
    return f"{'; '.join([text, *rest])}."


def link(path: str) -> str:
    """A file below the page's folder as a link may name it; "" for any other.

    >>> link("a b/host/r1/report.html"), link("javascript:alert(1)"), link("../secret")
    ('a%20b/host/r1/report.html', 'javascript%3Aalert%281%29', '')
    """
    return quote(path) if is_below(path) else ""


def is_below(path: str) -> bool:
    """Whether a path leads to something below the folder that it is relative to."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts


def html(entries: Sequence[Entry], *, profile: str, command: str, started: str) -> str:
    """The page, complete in itself but for the reports that it links to.

    Args:
        entries: in the order in which they are measured.
        profile: of all studies; "" where each has its own.
        command: that goes on with the campaign, or makes it again.
        started: UTC, ISO 8601.
    """
    return page.rendered(
        "index.html.j2",
        [],
        entries=[replace(one, report=link(one.report), log=link(one.log)) for one in entries],
        answer=answer(entries),
        states=STATES,
        profile=profile,
        command=command,
        started=started,
        wall_s=sum(entry.wall_s for entry in entries),
    )
