"""The state of a study is that of its own question: answered, in part, or undecided (M37).

Each question counts its own part, and the factors of a study theirs. Of these that one speaks for
the study which is about most of it (`Rank`): a matrix of two services before the curve of each, a
comparison of settings before the matrix under each of them, effects of factors before the numbers
of each combination. What is left open beside it, such as a target that one load misses or not,
does not make the study undecided. What it asks and has no answer to at all counts as open,
whoever speaks for it: such as loads that an unfinished study has not begun.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from sojourn.analysis import counted
from sojourn.analysis.answer_kind import Answer, Answers, Rank
from sojourn.analysis.counted import Counted
from sojourn.findings.findings import Findings
from sojourn.findings.state import State


def of(findings: Findings, answers: Answers) -> State:
    """How far its question is answered; what would settle the rest is what `findings` has of it."""
    _, whole = leading(findings, answers)
    is_done = whole.done == whole.of
    return State(
        done=whole.done,
        of=whole.of,
        unit=whole.unit,
        settle=None if is_done and whole.of else findings.state.settle,
    )


def leading(findings: Findings, answers: Answers) -> tuple[tuple[Answer, ...], Counted]:
    """The questions that speak for the study, and their count.

    None do where its factors speak for it, or a section alone (`Section.whole`).
    """
    for section in findings.sections.values():
        if section.whole is not None:
            return (), Counted(*section.whole)
    by_rank: dict[int, list[tuple[tuple[Answer, ...], Counted]]] = defaultdict(list)
    missing = Counter(findings.unanswered)
    silent: dict[int, int] = defaultdict(int)  # without an answer, by the rank of what is asked
    for name, kind in answers.items():
        part = kind.counted(findings)
        silent[kind.rank] += missing[name]
        if missing[name]:
            part = counted.total([*filter(None, [part]), Counted(0, missing[name], "answers")])
        if part is not None:
            by_rank[kind.rank].append(((kind,), part))
    if (part := counted.of_factors(findings.factors)) is not None:
        by_rank[Rank.FACTORS].append(((), part))
    if not by_rank:
        return (), counted.total([])
    rank = max(by_rank)
    who = tuple(kind for kinds, _ in by_rank[rank] for kind in kinds)
    others = Counted(0, sum(of for at, of in silent.items() if at < rank), "answers")
    return who, counted.total([*(part for _, part in by_rank[rank]), others])
