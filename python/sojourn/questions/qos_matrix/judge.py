"""A QoS matrix: for every pair of loads both services, one or none meets its target (L19, C22).

A cell is what the posterior of the plan makes sure, from its own runs or from those of other cells;
else it is open. Where runs of some cells say the opposite of what follows from the others, the
services are not monotone as was assumed: then only cells with runs of their own are told, by these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sojourn.analysis import qos_probability as targets
from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.counted import Counted, count
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.papers import matrices as paper_matrices
from sojourn.plan import design
from sojourn.plan.axis import Target
from sojourn.plan.next import Progress
from sojourn.plan.points import Outcome, Verdict
from sojourn.plan.setting import Setting, level_text
from sojourn.questions.qos_matrix import asks, plan
from sojourn.questions.qos_matrix.matrix import BOTH, NONE, OPEN, Matrix, MatrixCell, QosMatrix
from sojourn.questions.qos_matrix.plan import Pair, State
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.keys import service_of
from sojourn.spec.levels import names
from sojourn.text.numbers import load_share

USUAL = ("other", "none")  # levels of knobs that leave a service as the kernel has it
RUNS_MIN = 2  # of a cell, before they are held against all others
OWN_SURE = 0.9  # of a cell by its own runs alone, where nothing follows from others


class MatrixAnswer(Answer):
    """About two services, so no service has a section of its own."""

    name = plan.NAME
    section = QosMatrix
    longer = ("run.measure_s",)

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> None:
        """None: it is about two services, and has no section of one."""
        del data, spec, progress, finding

    def whole(self, data: StudyData) -> QosMatrix | None:
        """Which pairs of loads fit."""
        results = tuple(matrices(data))
        if not results:
            return None
        text = " ".join(map(in_words, results))
        pairs = list(data.study.combinations(*asks.of(data.study).loads))
        is_reported = len(results) == len(pairs) and all(not m.counts.get(OPEN) for m in results)
        reasons = tuple(dict.fromkeys(why for m in results for why in m.reasons))
        verdict = Verdict.HOLDS if is_reported else Verdict.UNKNOWN
        return QosMatrix(
            headline=text,
            answer=text,
            verdict=verdict,
            reasons=reasons,
            matrices=results,
            paper=tuple(_paper(results)),
        )

    def counted(self, findings: Findings) -> Counted | None:
        """Pairs of loads of which it is known who meets the target."""
        section = findings.section(QosMatrix)
        if section is None:
            return None
        cells = [cell for matrix in section.matrices for cell in matrix.cells]
        return count((cell.meets != OPEN for cell in cells), "cells")


def matrices(data: StudyData) -> Iterator[Matrix]:
    """The matrix under each combination of levels in which something was measured."""
    study, labels = data.study, tuple(asks.of(data.study).loads)
    outcomes = [measured.outcome for measured in data.measured]
    by_label = {
        label: targets.of_service(study, label, outcomes, data.questions) for label in labels
    }
    for combination in study.combinations(*labels) if labels else ():
        levels = Setting.of(combination)
        own = [
            o
            for o in outcomes
            if o.point.phase is plan.PHASE and design.levels_of(study, o.point) == levels
        ]
        effect = {label: design.factor_levels(study, label, levels).text for label in labels}
        known = {
            label: result for label in labels if (result := by_label[label].get(effect[label]))
        }
        if own and len(known) == len(labels):
            state = plan.state(study.under(combination), levels, known, own)
            yield _matrix(study, levels, state, known, own)


def _matrix(
    study: Study,
    levels: Setting,
    state: State,
    known: Mapping[str, Target],
    outcomes: Sequence[Outcome],
) -> Matrix:
    asked = asks.of(study)
    first, second = state.labels
    against = state.against(asked.sure, RUNS_MIN)
    is_monotone = asked.full or not against
    cells = tuple(
        _cell(study, state, (row, column), is_monotone=is_monotone)
        for row in range(state.runs.shape[0])
        for column in range(state.runs.shape[1])
    )
    reasons = list(_lost(outcomes)) if any(cell.meets == OPEN for cell in cells) else []
    if not is_monotone:
        reasons.insert(0, _not_monotone(study, state.labels, against))
    return Matrix(
        services=state.labels,
        targets=(targets.words(known[first]), targets.words(known[second])),
        under=under_words(study, levels),
        cells=cells,
        measurements=sum(state.tried.values()),
        grid=len(cells) * study.run.repeats,
        is_monotone=is_monotone,
        reasons=tuple(reasons),
        levels=levels.levels,
    )


def under_words(study: Study, levels: Setting) -> str:
    """The levels in words; of a comparison of schedulers by knob, without what is as usual.

    So two services under FIFO with a budget are "fifo:rate, rt_quota load/24ms", not four levels.
    """
    called = names(study.factors)
    if not asks.of(study).properties:
        return ", ".join(f"{called[key]} = {level_text(level)}" for key, level in levels.items())
    by_knob: dict[str, dict[str, str]] = {}
    for key, level in levels.items():
        by_knob.setdefault(key.rpartition(".")[2], {})[service_of(key) or ""] = str(level)
    texts = []
    for knob, of in by_knob.items():
        reports = {label: level for label, level in of.items() if level not in USUAL}
        before = "" if knob == "policy" else f"{knob} "
        if len(reports) == len(of) > 1 and len({*reports.values()}) == 1:
            texts.append(f"both {before}{next(iter(reports.values()))}")
        else:
            texts += [f"{label} {before}{level}".strip() for label, level in reports.items()]
    return ", ".join(texts) or "kernel default"


def _cell(study: Study, state: State, pair: Pair, *, is_monotone: bool) -> MatrixCell:
    first, second = state.labels
    chances = state.chances if is_monotone else state.own
    loads = asks.of(study).loads
    a, b = float(chances[first][pair]), float(chances[second][pair])
    runs = [one.outcomes for one in state.measured if one.pair == pair]
    numbers = tuple(
        _sure_side(state, label, pair, is_monotone=is_monotone) for label in state.labels
    )
    return MatrixCell(
        row=loads[first][pair[0]],
        column=loads[second][pair[1]],
        meets=_meets(state.labels, numbers),
        chances=(a, b),
        runs=len(runs),
        lost=state.tried.get(pair, 0) - len(runs),
        p_ns=(_p99_ns([of[first] for of in runs]), _p99_ns([of[second] for of in runs])),
    )


def _sure_side(state: State, label: str, pair: Pair, *, is_monotone: bool) -> int:
    """1: the service surely meets its target there, -1: it surely misses it, 0: open."""
    if is_monotone:
        return int(state.told[label][pair])
    chance = state.own[label][pair]  # of its own runs, of which one alone is not enough
    return int(chance > OWN_SURE) - int(chance < 1 - OWN_SURE)


def _meets(labels: tuple[str, str], numbers: Sequence[int]) -> str:
    """Who meets the target in a cell, in words, from whether each does."""
    if 0 in numbers:
        return OPEN
    named = {(1, 1): BOTH, (1, -1): f"{labels[0]} only", (-1, 1): f"{labels[1]} only"}
    return named.get((numbers[0], numbers[1]), NONE)


def _p99_ns(outcomes: Sequence[Outcome]) -> float | None:
    known = [o.p99_ns for o in outcomes if o.p99_ns is not None]
    return float(np.median(known)) if len(known) == len(outcomes) and known else None


def _lost(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Why runs were not believed, the most frequent first."""
    whys = Counter(o.reasons[0] for o in outcomes if o.verdict is Verdict.UNKNOWN and o.reasons)
    for why, times in whys.most_common(3):
        yield f"{times} of {len(outcomes)} runs were not valid: {why}"


def _not_monotone(study: Study, labels: tuple[str, str], against: Sequence[Pair]) -> str:
    loads = [asks.of(study).loads[label] for label in labels]
    where = ", ".join(
        f"{load_share(loads[0][row])} with {load_share(loads[1][column])}"
        for row, column in against[:3]
    )
    return (
        f"at {where} the results contradict those at other loads, because more load does not "
        "always make it worse here. Only measured pairs are reported; measure all of them with "
        "--set qos_matrix.full=true"
    )


def in_words(matrix: Matrix) -> str:
    """How many pairs fit, and the most that does."""
    first, second = matrix.services
    counts = matrix.counts
    parts = [f"{counts.get(name, 0)} {name}" for name in (f"{first} only", f"{second} only")]
    parts.append(f"{counts.get(NONE, 0)} neither")
    if counts.get(OPEN):
        parts.append(f"{counts[OPEN]} open")
    under = f" with {matrix.under}" if matrix.under else ""
    whole = f"{counts.get(BOTH, 0)} of {len(matrix.cells)} pairs of loads"
    text = f"{first} and {second}{under} both meet their targets in {whole}; {', '.join(parts)}."
    if best := matrix.most:
        most = f"{first} at {load_share(best.row)} with {second} at {load_share(best.column)}"
        surely = "" if matrix.is_bounded else "surely "
        text += f" The most that {surely}fits is {most}."
    return f"{text} It took {matrix.measurements} measurements; a full grid takes {matrix.grid}."


def _paper(results: Sequence[Matrix]) -> Iterator[tuple[str, str, str, str]]:
    """How many cells fit, beside figure 11 of Chen et al., where it is about the same pair."""
    for matrix in results:
        if set(matrix.services) != {"memcached", "nginx"}:
            continue
        cells = [cell for row in paper_matrices.PAPER[paper_matrices.SAME] for cell in row.split()]
        others = f"{cells.count(paper_matrices.BOTH)} of {len(cells)} (10 to 70 %, seven cores)"
        ours = f"{matrix.counts.get(BOTH, 0)} of {len(matrix.cells)}"
        under = f", {matrix.under}" if matrix.under else ""
        yield f"pairs of loads that fit on the same CPUs{under}", others, ours, "C22"


KIND = MatrixAnswer()
