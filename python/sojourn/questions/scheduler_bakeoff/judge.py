"""Scheduler settings side by side: what each can do, and what its QoS matrix came to (L25).

Each setting is a combination of levels of both services' knobs. The paper's word is beside ours
where it has one, and where the two differ that is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn.analysis.answer_kind import Answer, Rank
from sojourn.analysis.counted import Counted
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.papers import schedulers as paper_schedulers
from sojourn.plan import design
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.plan.setting import Level, Setting
from sojourn.questions.beside.judge import shares_of
from sojourn.questions.beside.words import others_words
from sojourn.questions.qos_matrix import asks as matrix_asks
from sojourn.questions.qos_matrix import judge as qos_matrix
from sojourn.questions.qos_matrix import plan as plan_matrix
from sojourn.questions.qos_matrix.matrix import BOTH, OPEN, Matrix
from sojourn.questions.scheduler_bakeoff import files, plan, properties
from sojourn.questions.scheduler_bakeoff.files import Properties
from sojourn.questions.scheduler_bakeoff.properties import ALL, UNDECIDED, Property
from sojourn.spec import ServiceSpec
from sojourn.spec.keys import service_of

KNOBS = ".knobs."


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One setting.

    Attributes:
        name, levels: of both services' levels, in words and as (factor, level) pairs.
        kind: the paper's kind of scheduler; "" for none of them.
        properties: the three; () where none was measured.
        paper: its word on each; "" where it has none.
        fits: pairs of loads of which both targets are met; None: there is no matrix.
        cells: pairs of loads; open: not settled.
        most: the highest load of both together that fits, as a share of one CPU's work.
        paper_matrix: what its matrix came to.
    """

    name: str
    kind: str
    properties: tuple[Property, ...]
    paper: tuple[str, ...]
    fits: int | None
    cells: int
    open: int
    most: float | None
    paper_matrix: str
    levels: tuple[tuple[str, Level], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bakeoff(Section):
    """All settings, the one under which most pairs of loads fit first.

    Attributes:
        candidates: in that order.
        disagreements: where a measured property is not the paper's, in words.
    """

    candidates: tuple[Candidate, ...] = ()
    disagreements: tuple[str, ...] = ()


class BakeoffAnswer(Answer):
    """About settings of two services, so no service has a section of its own."""

    name = plan.NAME
    section = Bakeoff
    rank = Rank.WHOLE  # a matrix under each setting is a part of it
    longer = ("run.measure_s", "run.repeats")  # of the pairs of loads; of windows of properties
    methods = (properties.METHOD,)

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> None:
        """None: it is about both services."""
        del data, spec, progress, finding

    def whole(self, data: StudyData) -> Bakeoff | None:
        """Every setting of which something was measured."""
        loads = matrix_asks.of(data.study).loads
        labels, pairs = tuple(loads), math.prod(map(len, loads.values()))
        if not matrix_asks.of(data.study).properties:
            return None
        matrices = {matrix.under: matrix for matrix in qos_matrix.matrices(data)}
        seen = _seen(data)
        results = [
            replace(
                _candidate(
                    _levels(data, combination, labels),
                    seen.get(levels.text, ()),
                    matrices,
                    qos_matrix.under_words(data.study, levels),
                    pairs,
                ),
                levels=levels.levels,
            )
            for combination in data.study.combinations(*labels)
            if (levels := Setting.of(combination)).text in seen
            or qos_matrix.under_words(data.study, levels) in matrices
        ]
        if not results:
            return None
        ranked = tuple(sorted(results, key=lambda one: (-(one.fits or 0), one.open)))
        against = tuple(text for one in ranked for text in _against(one))
        shares = dict(
            shares_of(m.others for m in data.measured if m.outcome.point.phase is plan_matrix.PHASE)
        )
        message = " ".join(filter(None, [*_sentences(ranked, against), others_words(shares)]))
        is_reported = all(one.properties and not _undecided(one) for one in ranked)
        return Bakeoff(
            headline=message,
            answer=message,
            candidates=ranked,
            disagreements=against,
            leads=True,
            verdict=Verdict.HOLDS if is_reported else Verdict.UNKNOWN,
            reasons=tuple(_open(ranked)),
        )

    def counted(self, findings: Findings) -> Counted | None:
        """Pairs of loads under all settings, and properties of each."""
        section = findings.section(Bakeoff)
        if section is None:
            return None
        each = section.candidates
        done = sum(one.cells - one.open for one in each)
        done += sum(p.verdict != UNDECIDED for one in each for p in one.properties)
        return Counted(done, sum(one.cells + len(ALL) for one in each), "pairs and properties")

    def wants(self, findings: Findings) -> tuple[str, ...]:
        """Longer runs for pairs that are open, and more windows for properties that are."""
        section = findings.section(Bakeoff)
        each = section.candidates if section else ()
        runs_s, blocks = self.longer
        keys = []
        if any(one.open for one in each):
            keys.append(runs_s)
        if any(not one.properties or _undecided(one) for one in each):
            keys.append(blocks)
        return tuple(keys) or self.longer


def _undecided(one: Candidate) -> bool:
    return any(own.verdict == UNDECIDED for own in one.properties)


def _seen(data: StudyData) -> Mapping[str, list[Properties]]:
    """What was measured, by the text of the levels."""
    results: dict[str, list[Properties]] = {}
    for one in data.measured:
        if (seen := files.of(one)) is not None:
            levels = design.levels_of(data.study, one.outcome.point)
            results.setdefault(levels.text, []).append(seen)
    return results


def _levels(
    data: StudyData, combination: Mapping[str, object], labels: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Of both services' knobs under a combination, by label: those that the study sets as well."""
    results = {
        label: {name: str(level) for name, level in data.study.service(label).knobs.items()}
        for label in labels
    }
    for key, level in combination.items():
        label = service_of(key)
        if KNOBS in key and label in results:
            results[label][key.rpartition(".")[2]] = str(level)
    return results


def _candidate(
    levels: Mapping[str, Mapping[str, str]],
    seen: Sequence[Properties],
    matrices: Mapping[str, Matrix],
    name: str,
    pairs: int,
) -> Candidate:
    kind, matrix = paper_schedulers.kind_of(levels), matrices.get(name)
    own = properties.judged(seen) if seen else ()
    result = paper_schedulers.PAPER.get(kind)
    cells = matrix.cells if matrix else ()  # without one all pairs are open
    fitting = [cell.row + cell.column for cell in cells if cell.meets == BOTH]
    return Candidate(
        name=name,
        kind=kind,
        properties=own,
        paper=tuple((result.properties.get(p.name) or "") if result else "" for p in own),
        fits=len(fitting) if matrix else None,
        cells=len(cells) if matrix else pairs,
        open=sum(cell.meets == OPEN for cell in cells) if matrix else pairs,
        most=max(fitting, default=None),
        paper_matrix=result.matrix if result else "",
    )


def _against(one: Candidate) -> Iterator[str]:
    """Properties of which the paper says the opposite."""
    for own, others in zip(one.properties, one.paper, strict=True):
        if others and own.verdict not in {others, UNDECIDED}:
            ours = f"{own.name} is {own.verdict} here ({own.said})"
            yield f"{one.name}: {ours}, {others} in the paper"


def _sentences(ranked: Sequence[Candidate], against: Sequence[str]) -> Iterator[str]:
    """The order of the settings, and where the paper's table says otherwise."""
    known = [one for one in ranked if one.fits is not None]
    if known:
        each = ", ".join(
            f"{one.name} {one.fits}{f' (and {one.open} open)' if one.open else ''}" for one in known
        )
        yield f"Of {known[0].cells} pairs of loads both targets are met in: {each}."
    judged = [p for one in ranked for p in one.properties]
    compared = sum(
        bool(others) and own.verdict != UNDECIDED
        for one in ranked
        for own, others in zip(one.properties, one.paper, strict=True)
    )
    if judged:
        yield (
            f"{len(judged) - sum(p.verdict == UNDECIDED for p in judged)} of {len(judged)} "
            f"properties are decided by measurement; {compared - len(against)} of the {compared} "
            "on which the paper says something agree with it."
        )


def _open(ranked: Sequence[Candidate]) -> Iterator[str]:
    for one in ranked:
        if not one.properties:
            yield f"{one.name}: no property was measured"
        for own in one.properties:
            if own.verdict == UNDECIDED:
                yield f"{one.name}: {own.name} is undecided: {own.said}"


KIND = BakeoffAnswer()
