"""Whether a setting is worse than the first, by ratios within blocks."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.counted import Counted, count
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.findings.state import Settle
from sojourn.plan.next import Progress
from sojourn.plan.points import Outcome, Verdict
from sojourn.questions.compare import asks, plan
from sojourn.spec import ServiceSpec, Study
from sojourn.stats import gate_rule, paired_ratio, restarts, visible_change
from sojourn.stats.gate_rule import Decision, Ruling
from sojourn.stats.interval import Interval
from sojourn.stats.paired_ratio import Judgement, Limits, Paired
from sojourn.units import NS_PER_S, parse_ns, show_ns, show_s

CPU = "cpu"
_WITHIN = re.compile(r"--within (\S+)")
TITLES = {CPU: "CPU per request"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One number of one service, held against the first.

    Attributes:
        service: its label.
        number: as people call it.
        first_ns, other_ns: medians over blocks; None: not counted; may be `inf`.
        pairs: blocks in which both have it.
        ratio: to the first; None without a pair.
        interval: of it, at all times together; None if neither end is known.
        judgement: in the family of all numbers.
        scatter: standard deviation of a block's log ratio, upper end; None with fewer than 4 pairs.
        modes: the starts of one side fall into two groups.
        blocks_for: blocks in all that a change of `target` takes; None: more than 2,000.
        target: that change, as a share.
    """

    service: str
    number: str
    first_ns: float | None
    other_ns: float | None
    pairs: int
    ratio: float | None
    interval: Interval | None
    judgement: Judgement
    scatter: float | None = None
    modes: bool = False
    blocks_for: int | None = None
    target: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Section):
    """Every service of the comparison but the first.

    Attributes:
        first: label of the service that the others are held against.
        rows: by service and number.
        ruling: of a gate; None: it was no gate.
        decided_by: numbers for which a gate alarmed.
        first_alarm: block of a gate's first alarm; None: there was none.
        blocks: that were measured whole.
        block_s: mean time that a block took, s.
        offered_rps: load of every service.
    """

    first: str = ""
    rows: tuple[Row, ...] = ()
    ruling: Ruling | None = None
    decided_by: tuple[str, ...] = ()
    first_alarm: int | None = None
    blocks: int = 0
    block_s: float = 0.0
    offered_rps: float = 0.0


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
        outcomes = [m.outcome for m in data.measured if m.outcome.point.phase is plan.PHASE]
        if not asked.services or not outcomes:
            return None
        logs = plan.logs_of(data.study, outcomes)
        family = plan.counted(logs)
        judged = paired_ratio.judged(family, Limits(alpha=asked.alpha, same=asked.same))
        blocks = plan.blocks_of(data.study, outcomes)
        rows = tuple(
            _row(data.study, name, values, blocks, judged.get(name))
            for name, values in logs.items()
        )
        gate = None
        if asked.gate:
            gate = gate_rule.decide(family, asked.max_regression, asked.alpha)
        wall_s = sum(outcome.wall_s for outcome in outcomes)
        section = Compared(
            first=asked.services[0],
            rows=rows,
            ruling=gate.ruling if gate else None,
            decided_by=tuple(_title(name.rpartition("/")[2]) for name in gate.numbers)
            if gate
            else (),
            first_alarm=gate.first if gate else None,
            blocks=len(blocks),
            block_s=wall_s / len(blocks) if blocks else 0.0,
            offered_rps=outcomes[0].offered_rps,
        )
        return _with_words(data.study, section, gate, _unlike(blocks))

    def settle(self, findings: Findings) -> Settle | None:
        """The same command with four times as much time, because half the scatter is seen then."""
        section = findings.section(Compared)
        longer = _longer(findings.command)
        if section is None or section.verdict is not Verdict.UNKNOWN or not longer:
            return None
        seconds = 4 * section.blocks * section.block_s
        return Settle(command=longer, seconds=seconds, why="to see half of the change")

    def counted(self, findings: Findings) -> Counted | None:
        """How many numbers have a judgement other than open."""
        section = findings.section(Compared)
        if section is None:
            return None
        return count((row.judgement is not Judgement.OPEN for row in section.rows), "numbers")


def _longer(command: str) -> str:
    """The same command with four times as much time; "" if it has no `--within`."""
    match = _WITHIN.search(command)
    if not match:
        return ""
    try:
        seconds = 4 * parse_ns(match[1]) / NS_PER_S
    except ValueError:
        return ""
    return f"{command[: match.start(1)]}{seconds:.0f}s{command[match.end(1) :]}"


def _unlike(blocks: Sequence[Mapping[str, Outcome | None]]) -> str:
    """That services ran under unlike shields; "" if they did not."""
    shields: dict[str, set[str]] = {}
    for runs in blocks:
        for label, outcome in runs.items():
            if outcome is not None:
                shields.setdefault(label, set()).add(outcome.shield)
    if len({frozenset(each) for each in shields.values()}) <= 1:
        return ""
    each = ", ".join(f"{label} {'/'.join(sorted(names))}" for label, names in shields.items())
    return f"the services ran under unlike shields ({each}); compare with --no-shield"


def _row(
    study: Study,
    name: str,
    logs: Sequence[float],
    blocks: Sequence[Mapping[str, Outcome | None]],
    judged: Paired | None,
) -> Row:
    """`name`: label and number, as `label/number`."""
    asked = asks.of(study)
    label, _, number = name.rpartition("/")
    first, other = (
        [plan.value_of(runs[side], number) for runs in blocks]
        for side in (asked.services[0], label)
    )
    array = np.asarray(logs, float)
    known = array[np.isfinite(array)]
    scatter = visible_change.scatter(array) if len(known) >= visible_change.SCATTER_NEEDS else None
    target = 2 * asked.max_regression if asked.gate and asked.max_regression else 0.1
    return Row(
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


def _with_words(study: Study, section: Compared, gate: Decision | None, unlike: str) -> Compared:
    """With the answer in words, the verdict, and what an open one would take."""
    text, verdict = _gate_words(study, section, gate) if gate else _words(study, section)
    reasons = [_takes(section)] if verdict is Verdict.UNKNOWN else []
    if unlike:  # then it is the shield that is compared
        text = f"Whether {' or '.join(asks.of(study).services[1:])} is worse cannot be decided."
        verdict, reasons = Verdict.UNKNOWN, [unlike]
    modes = [f"{row.service} {row.number}" for row in section.rows if row.modes]
    note = f" Starts fall into two groups: {', '.join(modes)}." if modes else ""
    return replace(
        section,
        headline=text,
        answer=text + note,
        verdict=verdict,
        reasons=tuple(reasons),
        leads=True,
    )


def _words(study: Study, section: Compared) -> tuple[str, Verdict]:
    worse, better, open_ = (
        [row for row in section.rows if row.judgement is judgement]
        for judgement in (Judgement.WORSE, Judgement.BETTER, Judgement.OPEN)
    )
    texts = [
        f"{rows[0].service} is {word} than {section.first}: {_listed(rows)}."
        for service in asks.of(study).services[1:]
        for word, every in (("worse", worse), ("better", better))
        if (rows := [row for row in every if row.service == service])
    ]
    if worse:
        return " ".join(texts), Verdict.VIOLATED
    if better:
        return " ".join(texts), Verdict.HOLDS
    others = " and ".join(asks.of(study).services[1:])
    if open_:
        names = ", ".join(dict.fromkeys(row.number for row in open_))
        return f"Whether {others} differs from {section.first} cannot be decided: {names}.", (
            Verdict.UNKNOWN
        )
    limit = f"{100 * asks.of(study).same:.3g} %"
    return (
        f"{others} and {section.first} differ by less than {limit} in every number.",
        Verdict.HOLDS,
    )


def _gate_words(study: Study, section: Compared, gate: Decision | None) -> tuple[str, Verdict]:
    assert gate is not None  # noqa: S101  # of a gate only
    second, limit = asks.of(study).services[1], f"{100 * asks.of(study).max_regression:.3g} %"
    if gate.ruling is Ruling.REGRESSION:
        rows = [row for row in section.rows if row.number in section.decided_by]
        text = (
            f"{second} is worse than {section.first} by more than {limit}: {_listed(rows)}; "
            f"confirmed by the blocks after number {gate.first}."
        )
        return text, Verdict.VIOLATED
    if gate.ruling is Ruling.FINE:
        names = ", ".join(row.number for row in section.rows if row.pairs)
        return f"{second} is not worse than {section.first} by {limit}: {names}.", Verdict.HOLDS
    if gate.first:
        names = ", ".join(section.decided_by)
        text = (
            f"Whether {second} is worse than {section.first} cannot be decided: {names} alarmed "
            f"after {gate.first} blocks, and fresh blocks did not confirm it."
        )
        return text, Verdict.UNKNOWN
    text = f"Whether {second} is worse than {section.first} by more than {limit} cannot be decided."
    return text, Verdict.UNKNOWN


def _listed(rows: Sequence[Row]) -> str:
    """`p99 1.31 times (1.12 to 1.50), mean …`."""
    return ", ".join(f"{row.number} {ratio_text(row)}" for row in rows)


def ratio_text(row: Row) -> str:
    """`1.31 times (1.12 to 1.50)`; `–` without a pair."""
    if row.ratio is None:
        return "–"
    text = "∞" if math.isinf(row.ratio) else f"{row.ratio:.3g}"
    if row.interval is None:
        return f"{text} times"
    low, high = row.interval.lo, row.interval.hi
    return f"{text} times ({low:.3g} to {'∞' if math.isinf(high) else f'{high:.3g}'})"


def value_text(value: float | None) -> str:
    """A time; `–` where nothing was counted."""
    return "–" if value is None else "∞" if math.isinf(value) else show_ns(value)


def _takes(section: Compared) -> str:
    """How much longer it would take, by the scatter of these blocks."""
    known = [row for row in section.rows if row.scatter is not None]
    if not known:
        return f"{section.blocks} whole blocks are too few to say how many are needed"
    parts = [
        f"{row.number}: {row.blocks_for} blocks, {show_s(row.blocks_for * section.block_s)}"
        if row.blocks_for
        else f"{row.number}: more than {visible_change.BLOCKS_MOST:,} blocks"
        for row in known
    ]
    target = f"{100 * known[0].target:.3g} %"
    return f"to see a change of {target} nine times out of ten takes {'; '.join(parts)}"


KIND = CompareAnswer()
