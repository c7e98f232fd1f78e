"""Planted services that were really run: what they are, beside what they were taken for.

Of memory no one knows beforehand how many readers it bears, so it is not held against anything
whether those scale. Writers wait for so long beside their writing that two do not fill a disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sojourn.host.usage.resource import BY_NAME
from sojourn.models.classify import rules
from sojourn.models.classify.answer import Class, Word
from sojourn.models.classify.judge import CRITICAL, SCALABLE, SMT
from sojourn.models.classify.scenario import MEMORY
from sojourn.services import planted
from sojourn.store.record import Record

#: What a planted service does → the right answers that are known, by question.
TRUTH: Mapping[str, Mapping[str, str]] = {
    "scales": {SCALABLE: Word.YES, SMT: Word.YES, CRITICAL: rules.CPU_YES},
    "locks": {SCALABLE: Word.NO, SMT: Word.NO, CRITICAL: rules.CPU_NO},
    "writes": {SCALABLE: Word.YES, SMT: Word.NO, CRITICAL: rules.DISK_WRITE},
    "streams": {CRITICAL: rules.BANDWIDTH},
}
CPUS = {rules.CPU, rules.CPU_YES, rules.CPU_NO}


class How(StrEnum):
    """How an answer compares with the truth."""

    RIGHT = "right"
    WRONG = "wrong"
    OPEN = "undecided"
    UNSEEN = "not to be seen here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One answer beside the truth.

    Attributes:
        service, does: its label, and what was planted.
        question, truth, told: what was asked, what is so, and what was said.
        how: how the two stand.
        load_s: how long it was under load in all, s.
    """

    service: str
    does: str
    question: str
    truth: str
    told: str
    how: How
    load_s: float


def held(record: Record, classes: Sequence[Class]) -> tuple[Held, ...]:
    """Every answer that is known, of every planted service of a record; () without one."""
    does = {
        spec.label: str(spec.params.get("does", "scales"))
        for spec in record.study.services
        if spec.kind == planted.NAME
    }
    results = []
    for one in classes:
        label = one.service.partition(",")[0]
        for answer in one.answers if label in does else ():
            truth = TRUTH[does[label]].get(answer.question)
            if truth is not None:
                results.append(
                    Held(
                        service=one.service,
                        does=does[label],
                        question=answer.question,
                        truth=truth,
                        told=answer.word,
                        how=how(truth, answer.word, one),
                        load_s=_load_s(record, label),
                    )
                )
    return tuple(results)


def how(truth: str, report: str, one: Class) -> How:
    """How an answer compares with the truth.

    Time that a CPU waits for memory is CPU time: who has no counters of memory bandwidth cannot
    tell the two apart, and is not wrong to say CPU.
    """
    if report == truth:
        return How.RIGHT
    if report == Word.UNDECIDED:
        return How.OPEN
    is_hidden = BY_NAME[MEMORY].title in {title for title, _ in one.unseen}
    return How.UNSEEN if truth == rules.BANDWIDTH and report in CPUS and is_hidden else How.WRONG


def _load_s(record: Record, label: str) -> float:
    points = (outcome.point for outcome in record.outcomes() if outcome.point.service == label)
    return sum(point.measure_s + point.warmup_s for point in points)
