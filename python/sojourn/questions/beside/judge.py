"""What a neighbour costs a service under each setting (L17, L18).

One setting: the difference a request, which beside a task that only wants the CPU is the cost of
the switch. Several: where each one's tail breaks, what the neighbour kept, and whether the
simulator puts them in the same order, which `simulated_order` adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.combinations import Part
from sojourn.analysis.counted import Counted, count, is_narrow
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.plan.next import Progress
from sojourn.plan.points import Phase, Verdict
from sojourn.plan.setting import NEIGHBOUR, TWIN, Setting, level_text
from sojourn.questions.beside import interference
from sojourn.questions.beside.costs import Beside, BesideSection
from sojourn.questions.beside.interference import Number
from sojourn.questions.beside.words import answer_sentences, break_words, pace_words, time_words
from sojourn.spec import ServiceSpec
from sojourn.spec.levels import names
from sojourn.text.numbers import load_share, percentile

NAME = "beside"
NO_NEIGHBOUR = "none"
TAIL = 0.95  # L18 tells p95; a study's own target comes first
USED_MIN = 0.005  # of a CPU: who used less is not named

Case = tuple[Part, ServiceFinding, ServiceFinding]  # beside a neighbour, with what it is alone
Paces = Mapping[float, Mapping[int, float]]  # of one setting, by load and block

WAVE_ID, SWITCH_ID = "L18", "L17"
PAPER_WAVE = "≈ 12 % of the peak (CFS), 50 % (BVT)"
PAPER_SWITCH = "−2.8 µs in the server: 18.7 µs beside a CPU-bound task, 21.5 µs alone (L12)"


class BesideAnswer(Answer):
    """About combinations of levels, so no service has a section of its own."""

    name = NAME
    section = BesideSection
    methods = (interference.METHOD,)

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> None:
        """None: it compares services under different levels."""
        del data, spec, progress, finding

    def compared(
        self, data: StudyData, parts: Sequence[Part], findings: Sequence[ServiceFinding]
    ) -> BesideSection | None:
        """Each setting beside each neighbour, against the same setting alone."""
        asked = [
            (part, finding)
            for part, finding in zip(parts, findings, strict=True)
            if NAME in part.spec.measure
        ]
        if not asked:
            return None
        cases = _cases(asked)
        paces = [_pace_by_load(part) for part, _, _ in cases]
        shared = shared_loads(paces)
        called = names(data.study.factors)
        each = tuple(
            _beside(called, case, stored, shared) for case, stored in zip(cases, paces, strict=True)
        )
        if not any(one.breaks.most for one in each):
            why = "no load has valid runs both alone and beside a neighbour"
            return BesideSection(
                headline="", answer="", verdict=Verdict.UNKNOWN, reasons=(why,), found=each
            )
        every = sorted({load for by_load in paces for load in by_load})
        text = " ".join([*answer_sentences(each), *pace_words(shared, every)])
        return BesideSection(
            headline=text,
            answer=text,
            found=each,
            paper=tuple(_paper(each)),
            reasons=tuple(_reasons(each)),
            leads=True,
        )

    def counted(self, findings: Findings) -> Counted | None:
        """Loads at which the tail is as alone or is not, or at which its ratio is known."""
        section = findings.section(BesideSection)
        if section is None:
            return None
        return count((done for one in section.found for done in _decided(one)), "loads")


def _decided(one: Beside) -> list[bool]:
    """Of each load; above one at which the tail is not as alone any more nothing is open."""
    return [
        row.state != "open"
        or row.load > one.breaks.hi
        or (row.ratio is not None and is_narrow(row.ratio.interval))
        for row in one.rows
    ]


def _cases(asked: Sequence[tuple[Part, ServiceFinding]]) -> list[Case]:
    """Every setting beside a neighbour that was measured without one, too."""
    alone = {
        (part.spec.label, _without(part.levels).text): finding
        for part, finding in asked
        if level_text(part.levels.get(NEIGHBOUR, "")) == NO_NEIGHBOUR
    }
    every = (
        (part, finding, alone.get((part.spec.label, _without(part.levels).text)))
        for part, finding in asked
        if str(part.levels.get(NEIGHBOUR, NO_NEIGHBOUR)) != NO_NEIGHBOUR
    )
    return [
        (part, finding, reference) for part, finding, reference in every if reference is not None
    ]


def _beside(
    called: Mapping[str, str], case: Case, stored: Paces, shared: Sequence[float]
) -> Beside:
    """One of them.

    Args:
        called: factors' names for people, by key.
        case: it.
        stored: its neighbour's pace.
        shared: loads over which the pace is averaged.
    """
    part, finding, reference = case
    rest = _without(part.levels)
    q = finding.qos.q if finding.qos else TAIL
    before = {point.fraction: point for point in reference.points}
    rows = tuple(
        interference.row(
            before[point.fraction], point, q, list(stored.get(point.fraction, {}).values())
        )
        for point in sorted(finding.points, key=lambda point: point.fraction)
        if point.fraction in before
    )
    return Beside(
        service=part.spec.label,
        setting=", ".join(f"{called[key]} = {level_text(of)}" for key, of in rest.items()),
        levels=rest.levels,
        neighbour=str(part.levels[NEIGHBOUR]),
        q=q,
        rows=rows,
        breaks=interference.breaks(rows),
        kept=_mean_pace(stored, shared),
        others=_others(part),
    )


def _without(levels: Setting) -> Setting:
    return Setting.of({key: level for key, level in levels.items() if key != NEIGHBOUR})


def _pace_by_load(part: Part) -> Paces:
    """By load and block: what the neighbour did of its pace alone, or of what it was asked for."""
    results: dict[float, dict[int, float]] = {}
    for one in part.data.of(part.spec.label):
        outcome, point = one.outcome, one.outcome.point
        is_reported = point.phase is Phase.SWEEP and outcome.verdict is not Verdict.UNKNOWN
        is_reported &= TWIN not in point.setting
        if is_reported and one.pace is not None and point.fraction is not None:
            results.setdefault(point.fraction, {})[point.repeat] = one.pace.kept
    return results


def shared_loads(paces: Sequence[Paces]) -> list[float]:
    """Loads at which the pace is known in every block of every setting, ascending.

    A neighbour keeps less at high load, where runs fail their checks first. A mean over whatever
    loads a block has would therefore be best under the setting that fails most.
    """
    known = [by_load for by_load in paces if by_load]
    blocks = [{block for values in by_load.values() for block in values} for by_load in known]
    return sorted(
        load
        for load in {load for by_load in known for load in by_load}
        if all(
            own <= set(by_load.get(load, {})) for by_load, own in zip(known, blocks, strict=True)
        )
    )


def _mean_pace(stored: Paces, loads: Sequence[float]) -> Number | None:
    """Mean over these loads by block, over blocks."""
    blocks: dict[int, list[float]] = {}
    for load in loads:
        for block, value in stored.get(load, {}).items():
            blocks.setdefault(block, []).append(value)
    return interference.over_blocks(
        [float(np.mean(values)) for _, values in sorted(blocks.items())]
    )


def _others(part: Part) -> tuple[tuple[str, float], ...] | None:
    """Who else ran there, with the mean share of the CPUs' time over the runs, most first."""
    seen = [one.others for one in part.data.of(part.spec.label)]
    return shares_of(seen) if any(each is not None for each in seen) else None


def shares_of(
    seen: Iterable[tuple[tuple[str, float], ...] | None],
) -> tuple[tuple[str, float], ...]:
    """The mean share of each task over runs, the most first; None: not measured at that run.

    >>> shares_of([(("a", 0.1), ("b", 0.001)), (("a", 0.3),), None])
    (('a', 0.2),)
    """
    runs = [each for each in seen if each is not None]
    sums: dict[str, float] = {}
    for each in runs:
        for task, share in each:
            sums[task] = sums.get(task, 0.0) + share / len(runs)
    ranked = sorted(sums.items(), key=lambda pair: -pair[1])
    return tuple((task, share) for task, share in ranked if share >= USED_MIN)


def _reasons(each: Sequence[Beside]) -> Iterator[str]:
    for one in each:
        if not one.breaks.most:
            yield f"{one.setting or one.service} beside {one.neighbour}: no load can be compared"


def _paper(each: Sequence[Beside]) -> Iterator[tuple[str, str, str, str]]:
    """The paper's numbers beside ours: of the default under a wave, of nice −20 and a spinner."""
    for one in each:
        policy = next((str(of) for key, of in one.levels if key.endswith(".policy")), "")
        tail = percentile(one.q)
        if "wave" in one.neighbour and policy in {"", "other"}:
            what = f"load at which {tail} departs beside the square wave, kernel default"
            yield what, PAPER_WAVE, break_words(one.breaks), WAVE_ID
        if "cpu@" in one.neighbour and len(each) == 1:
            for row in one.rows:
                if row.mean_ns:
                    what = f"a request beside a CPU-bound task at {load_share(row.load)} load"
                    yield what, PAPER_SWITCH, time_words(row.mean_ns), SWITCH_ID


KIND = BesideAnswer()
