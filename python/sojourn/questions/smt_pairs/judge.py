"""The ST/SMT speed-up: the paces of two copies on a core, added, over that of one alone (P21)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sojourn.analysis import pace
from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.counted import Counted, count, is_narrow
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.plan.setting import NEIGHBOUR
from sojourn.questions.smt_pairs.plan import NAME, PHASE
from sojourn.samples.pace import Pace
from sojourn.spec import ServiceSpec, words
from sojourn.stats.interval import Interval

CORE, PAIR = "core", "pair"
SOURCE = "P21, figure A.8"
PAPER = (
    "The paper's three Xeons of 2016 to 2020 differ by less than 5 % in the speed-up of programs of"
    " SPEC CPU, which may not be shipped"
)
Blocks = dict[str, dict[int, Pace]]  # where → block → what was done


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One program.

    Attributes:
        program: to people.
        unit: of its paces.
        speed_up: paces of both copies together over that of one alone; None: not known.
        interval: of that, 95 %; None where it cannot be told.
        core_per_s, pair_per_s: paces, units/s, means over blocks: one alone, both together.
        blocks: in which both are believed.
        is_across_blocks: the interval is that over blocks; else that of the seconds within them.
        reason: why something is not known; "" if all is.
    """

    program: str
    unit: str = ""
    speed_up: float | None = None
    interval: Interval | None = None
    core_per_s: float | None = None
    pair_per_s: float | None = None
    blocks: int = 0
    is_across_blocks: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtPairsFound(Section):
    """Every program, in the study's order."""

    pairs: tuple[Pair, ...] = ()


class SmtPairsAnswer(Answer):
    """About programs, so no service has a section of its own."""

    name = NAME
    section = SmtPairsFound

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> None:
        """None: it is about what runs beside the service."""
        del data, spec, progress, finding

    def is_part(self, spec: ServiceSpec) -> bool:
        """Every service that is asked for it."""
        del spec
        return True

    def whole(self, data: StudyData) -> SmtPairsFound | None:
        """The speed-up of each program; None where nothing of it was measured."""
        done = done_by_program(data)
        if not done:
            return None
        pairs = tuple(pair_of(program, blocks) for program, blocks in done.items())
        known = [pair for pair in pairs if pair.speed_up is not None]
        reasons = [f"{pair.program}: {pair.reason}" for pair in pairs if pair.reason]
        return SmtPairsFound(
            headline=headline(known),
            answer=" ".join(map(sentence, pairs)),
            verdict=Verdict.HOLDS if len(known) == len(pairs) else Verdict.UNKNOWN,
            reasons=tuple(reasons),
            pairs=pairs,
        )

    def counted(self, findings: Findings) -> Counted | None:
        """Programs of which the speed-up is known."""
        section = findings.section(SmtPairsFound)
        if section is None:
            return None
        return count((is_narrow(pair.interval) for pair in section.pairs), "programs")


def done_by_program(data: StudyData) -> Mapping[str, Blocks]:
    """What was done, by program; of several attempts the first that is believed counts."""
    results: dict[str, Blocks] = {}
    for one in data.measured:
        point = one.outcome.point
        text = str(point.setting.get(NEIGHBOUR, data.study.neighbour))
        name, where = apart(text)
        if point.phase is not PHASE or where not in {CORE, PAIR}:
            continue
        blocks = results.setdefault(name, defaultdict(dict))
        if one.pace is not None and one.outcome.verdict is not Verdict.UNKNOWN:
            blocks[where].setdefault(point.repeat, one.pace)
    return results


def apart(text: str) -> tuple[str, str]:
    """(the neighbour without its place, its place) of a study's text.

    >>> apart("batch:xz,where=pair"), apart("batch:kind=g++,where=core")
    (('batch:xz', 'pair'), ('batch:g++', 'core'))
    """
    inputs = dict(words.read(text, lead="kind").params)
    where = inputs.pop(words.WHERE, "")
    lead = inputs.pop("kind", "")
    rest = [f"{name}={value}" for name, value in inputs.items()]
    named = ",".join(filter(None, [lead, *rest]))
    kind = text.partition(":")[0]
    return (f"{kind}:{named}" if named else kind), where


def pair_of(program: str, blocks: Blocks) -> Pair:
    """The speed-up of one program, block by block.

    Speed-up = (pace of the copy on one hyper-thread + pace of the copy on the other) / pace of one
    copy alone on the core; the two are measured at once. 1: the second thread adds nothing; 2: each
    copy is as fast as one alone.

    Args:
        program: as the study has it, without its place.
        blocks: of "core", one alone, and of "pair", both together.
    """
    core, pair = (blocks.get(where, {}) for where in (CORE, PAIR))
    both = sorted(core.keys() & pair.keys())
    if not both:
        why = "no block has a valid run of one alone and of two together"
        return Pair(program=program, reason=why)
    each = [(core[n], pair[n]) for n in both]
    first = each[0][0]
    called = first.called if first.called != "batch" else program
    alone, together = (
        sum(side.per_s for side in sides) / len(each) for sides in zip(*each, strict=True)
    )
    if any(one.per_s <= 0 or two.per_s <= 0 for one, two in each):
        return Pair(program=called, unit=first.unit, reason="it stood still in some run")
    value, interval, reason = pace.geometric(
        [math.log(two.per_s / one.per_s) for one, two in each],
        [_error(one, two) for one, two in each],
        sum(min(one.seconds, two.seconds) - 1 for one, two in each),
    )
    return Pair(
        program=called,
        unit=first.unit,
        speed_up=value,
        interval=interval,
        core_per_s=alone,
        pair_per_s=together,
        blocks=len(each),
        is_across_blocks=len(each) >= pace.RUNS_MIN,
        reason=reason,
    )


def _error(one: Pace, two: Pace) -> float | None:
    """Of the logarithm of their ratio, by the seconds of both; None where these do not tell."""
    if one.error_per_s is None or two.error_per_s is None:
        return None
    return math.hypot(one.error_per_s / one.per_s, two.error_per_s / two.per_s)


def sentence(pair: Pair) -> str:
    """What the second hyper-thread is worth to one program."""
    if pair.speed_up is None:
        return f"What two copies of {pair.program} on a core do is unknown: {pair.reason}."
    within = "" if pair.is_across_blocks or pair.interval is None else ", by the seconds of runs"
    return (
        f"Two copies of {pair.program} on the hyper-threads of a core do {pair.speed_up:.2f} times "
        f"({sure(pair)}{within}) the work of one alone on it."
    )


def sure(pair: Pair) -> str:
    """Its interval in words, or why there is none."""
    ends = pair.interval
    return pair.reason if ends is None else f"{ends.lo:.2f} to {ends.hi:.2f}"


def headline(known: Sequence[Pair]) -> str:
    """All programs in a sentence."""
    if not known:
        return "What two copies of a program on the hyper-threads of a core do is unknown."
    if len(known) == 1:
        return sentence(known[0])
    ordered = sorted(known, key=lambda pair: pair.speed_up or 0.0)
    least, most = ordered[0], ordered[-1]
    return (
        f"Two copies of a program on the hyper-threads of a core do {least.speed_up:.2f} times "
        f"({sure(least)}; {least.program}) to {most.speed_up:.2f} times ({sure(most)}; "
        f"{most.program}) the work of one alone on it."
    )


KIND = SmtPairsAnswer()
