"""Whether a setting is worse than the first, by ratios within blocks."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.counted import Counted, count
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.state import Settle
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.questions.compare import asks, block_runs, plan
from sojourn.questions.compare.compared import Compared, Row
from sojourn.questions.compare.words import CPU_TITLE, with_words
from sojourn.spec import ServiceSpec, Study
from sojourn.stats import gate_rule, paired_ratio, restarts, visible_change
from sojourn.stats.gate_rule import Ruling
from sojourn.stats.interval import Interval
from sojourn.stats.paired_ratio import Judgement, Limits, Paired

CPU = "cpu"
_WITHIN = re.compile(r"--within (\S+)")
TITLES = {CPU: CPU_TITLE, block_runs.MAX_RPS: "max RPS"}


class CompareAnswer(Answer):
    """About all services, so no service has a section of its own."""

    name = plan.NAME
    section = Compared

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> None:
        """None: it is about several services."""
        del data, spec, progress, finding

    def whole(self, data: StudyData) -> Compared | None:
        """What follows from all blocks; None before the first one."""
        asked = asks.of(data.study)
        phases = {block_runs.PHASE, block_runs.FULL}
        outcomes = [m.outcome for m in data.measured if m.outcome.point.phase in phases]
        if not asked.services or not outcomes:
            return None
        logs = block_runs.logs_of(data.study, outcomes)
        family = block_runs.counted(logs)
        judged = paired_ratio.judged(family, Limits(alpha=asked.alpha, same=asked.same))
        blocks = block_runs.blocks_of(data.study, outcomes)
        rows = tuple(
            _row(data.study, name, values, blocks, judged.get(name))
            for name, values in logs.items()
        )
        gate, lacking = None, tuple[str, ...]()
        if asked.gate:
            gate = gate_rule.decide(family, asked.max_regression, asked.alpha)
            if gate.ruling is Ruling.FINE and (lacking := _lacking(logs, family)):
                gate = replace(gate, ruling=Ruling.OPEN)
        wall_s = sum(outcome.wall_s for outcome in outcomes)
        section = Compared(
            called=called(data.study),
            first=asked.services[0],
            rows=rows,
            ruling=gate.ruling if gate else None,
            decided_by=tuple(_title(name.rpartition("/")[2]) for name in gate.numbers)
            if gate
            else (),
            first_alarm=gate.first if gate else None,
            blocks=len(blocks),
            block_s=wall_s / len(blocks) if blocks else 0.0,
            is_traced=any(m.outcome.point.phase is block_runs.TRACED for m in data.measured),
            offered_rps=max(o.point.offered_rps or 0.0 for o in outcomes),
            left_out=tuple(block_runs.left_out_of(data.study, outcomes).items()),
            lacking=lacking,
        )
        return with_words(data.study, section, gate, _unlike(blocks))

    def settle(self, findings: Findings) -> Settle | None:
        """The same command with the time that the target takes, or four times as much."""
        section = findings.section(Compared)
        if section is None or section.lacking or section.ruling not in {None, Ruling.OPEN}:
            return None
        now_s = section.blocks * section.block_s
        rows = [row for row in section.rows if row.judgement is Judgement.OPEN and row.pairs]
        if not rows and section.verdict is not Verdict.UNKNOWN:
            return None
        needed = [row.blocks_for * section.block_s for row in rows if row.blocks_for]
        if rows and len(needed) == len(rows) and max(needed) > now_s:
            seconds, why = max(needed), f"see a change of {100 * rows[0].target:.3g} %"
        else:  # four times as much halves the scatter
            seconds, why = 4 * now_s, "see half of the change"
        longer = _with_time(findings.command, seconds)
        return Settle(command=longer, seconds=seconds, why=why) if longer else None

    def counted(self, findings: Findings) -> Counted | None:
        """How many numbers have a judgement other than open."""
        section = findings.section(Compared)
        if section is None:
            return None
        return count((row.judgement is not Judgement.OPEN for row in section.rows), "numbers")


def _lacking(logs: block_runs.Logs, family: block_runs.Logs) -> tuple[str, ...]:
    """Numbers that are asked for, and that no block has of both services."""
    return tuple(_title(name.rpartition("/")[2]) for name in logs if name not in family)


def _with_time(command: str, seconds: float) -> str:
    """The same command with so much time; "" if it has no `--within`."""
    match = _WITHIN.search(command)
    if not match:
        return ""
    return f"{command[: match.start(1)]}{math.ceil(seconds)}s{command[match.end(1) :]}"


def called(study: Study) -> tuple[tuple[str, str], ...]:
    """What each service is: a command, a URL, or a kind with the keys that differ."""
    by = {service.label: service for service in study.services}
    labels = [label for label in asks.of(study).services if label in by]
    keys = {label: {**by[label].params, **by[label].knobs} for label in labels}
    names = sorted({name for own in keys.values() for name in own})
    unlike = [name for name in names if len({str(own.get(name)) for own in keys.values()}) > 1]
    return tuple((label, _called(by[label].kind, keys[label], unlike)) for label in labels)


def _called(kind: str, keys: Mapping[str, object], unlike: Sequence[str]) -> str:
    if kind in {"command", "external"}:
        return str(keys.get("argv") or keys.get("target") or kind)
    levels = [f"{name.replace('_', ' ')} {keys[name]}" for name in unlike if name in keys]
    return f"{kind} with {', '.join(levels)}" if levels else kind


def _unlike(blocks: Sequence[block_runs.Block]) -> str:
    """That services ran under unlike shields; "" if they did not."""
    shields: dict[str, set[str]] = {}
    for block in blocks:
        for label, runs in block.items():
            shields.setdefault(label, set()).update(outcome.shield for outcome in runs.all)
    # A service whose times are endless has no run that says which shield it had.
    if len({frozenset(each) for each in shields.values() if each}) <= 1:
        return ""
    each = ", ".join(f"{label} {'/'.join(sorted(names))}" for label, names in shields.items())
    return f"the services ran under unlike shields ({each}); compare with --no-shield"


def _row(
    study: Study,
    name: str,
    logs: Sequence[float],
    blocks: Sequence[block_runs.Block],
    judged: Paired | None,
) -> Row:
    """`name`: label and number, as `label/number`."""
    asked = asks.of(study)
    label, _, number = name.rpartition("/")
    first, other = (
        [block_runs.value_of(runs[side], number) for runs in blocks]
        for side in (asked.services[0], label)
    )
    array = np.asarray(logs, float)
    known = array[np.isfinite(array)]
    scatter = visible_change.scatter(array) if len(known) >= visible_change.SCATTER_NEEDS else None
    target = (2 * asked.max_regression or 0.1) if asked.gate else asked.same
    row = Row(
        service=label,
        number=_title(number),
        first_ns=_middle(first),
        other_ns=_middle(other),
        pairs=judged.pairs if judged else 0,
        ratio=judged.ratio if judged else None,
        interval=judged.interval if judged else None,
        judgement=judged.judgement if judged else Judgement.OPEN,
        scatter=scatter,
        modes=any(map(restarts.is_bimodal, (first, other))),
        blocks_for=None if scatter is None else _needed(study, target, scatter),
        target=target,
    )
    return _of_rates(row) if number == block_runs.MAX_RPS else row


def _of_rates(row: Row) -> Row:
    """A row of times for each request as one of requests/s."""
    ends, ratio = row.interval, row.ratio
    return replace(
        row,
        first_ns=None,
        other_ns=None,
        first_rps=1e9 / row.first_ns if row.first_ns else None,
        other_rps=1e9 / row.other_ns if row.other_ns else None,
        ratio=1 / ratio if ratio else None,
        interval=Interval(lo=1 / ends.hi, hi=1 / ends.lo if ends.lo else math.inf)
        if ends
        else None,
    )


def _needed(study: Study, target: float, scatter: float) -> int | None:
    asked = asks.of(study)
    alpha = asked.alpha / (len(asked.numbers) * (len(asked.services) - 1))
    if asked.gate:
        return visible_change.gate_blocks(target, scatter, alpha, asked.max_regression)
    return visible_change.blocks_for(target, scatter, alpha / 2)


def _title(number: str) -> str:
    return TITLES.get(number, number)


def _middle(values: Sequence[float]) -> float | None:
    known = [value for value in values if not math.isnan(value)]
    return float(np.median(known)) if known else None


KIND = CompareAnswer()
