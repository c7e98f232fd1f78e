"""What applying isolation costs, in numbers and words, beside the paper's Table IV (C19, M24)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn import units
from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.counted import Counted, count, is_narrow
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.plan import make
from sojourn.plan.next import Progress
from sojourn.plan.points import Outcome, Verdict
from sojourn.questions.isolation_cost import costs, files, restored
from sojourn.questions.isolation_cost.costs import Cost, Felt
from sojourn.questions.isolation_cost.files import Costs, CostTable
from sojourn.questions.isolation_cost.plan import BUSY, HOSTS, IDLE, LOADED, NAME, share_of
from sojourn.questions.isolation_cost.table_iv import COLUMNS, SOURCE, TABLE_IV, Paper
from sojourn.spec import ServiceSpec
from sojourn.stats.interval import Interval

OTHERS_MAX = 0.05  # of all CPUs' time: an idle host has no more of others
NAMED_MAX = 3
NOTHING = "No mechanism could be applied."


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One mechanism.

    Attributes:
        one: what one application is.
        missing, fix: what this machine lacks for it; "": nothing.
        doubts: why its numbers are not believed; () if they are.
        costs: by host condition, of `HOSTS`.
        felt: what one change does to p99 of the service under load.
        work_ns: median times of a fixed piece of work on the idle host, one a block.
    """

    name: str
    about: str
    one: str
    is_restart: bool
    missing: str
    fix: str
    doubts: tuple[str, ...]
    costs: Mapping[str, Cost]
    felt: Felt | None
    work_ns: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationCosts(Section):
    """Every mechanism.

    Attributes:
        share: of max RPS, under which they were applied.
        others_share: of all CPUs' time used by others on the host that was to be idle, the most.
        table_iv: the paper's.
    """

    rows: tuple[Row, ...] = ()
    share: float = 0.0
    others_share: float | None = None
    table_iv: tuple[Paper, ...] = TABLE_IV


class IsolationCostAnswer(Answer):
    """A row for each mechanism."""

    name = NAME
    section = IsolationCosts
    longer = ("run.applications", "run.restarts")
    methods = (costs.METHOD,)

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> IsolationCosts | None:
        """All blocks together; it decides only where nothing else is asked."""
        del finding
        each = [(one, m.outcome) for m in data.of(spec.label) if (one := files.of(m)) is not None]
        if not each:
            return None
        points = [_trusted(*one) for one in each]
        by_name: dict[str, list[tuple[Costs, CostTable]]] = defaultdict(list)
        for point in points:
            for table in point.file.mechanisms:
                by_name[table.name].append((point, table))
        judged = sum(any(table.changes for _, table in own) for own in by_name.values())
        rows = tuple(
            _row(own, judged, make.seed_of(data.study, f"{spec.label}/{name}"))
            for name, own in by_name.items()
        )
        idle = [p.file.others_share for p in points if p.file.host == IDLE]
        known = [share for share in idle if share is not None]
        section = IsolationCosts(
            rows=restored.judged(rows),
            share=share_of(data.study),
            others_share=max(known, default=None),
        )
        left_out = _left_out([o for point, o in each if point.file.host == LOADED])
        return _with_answer(section, progress, left_out, is_alone=set(spec.measure) == {NAME})

    def counted(self, findings: Findings) -> Counted | None:
        """Costs of the mechanisms that are here, each on each host."""
        own = [one for service in findings.services if (one := service.section(IsolationCosts))]
        rows = [row for one in own for row in one.rows if not row.missing]
        each = (
            is_narrow(cost.mean.interval) and not row.doubts
            for row in rows
            for cost in row.costs.values()
        )
        return count(each, "costs") if own else None


def _trusted(point: Costs, outcome: Outcome) -> Costs:
    """A point; without what its requests say of changes where its run is in doubt."""
    return replace(point, changes={}) if outcome.verdict is Verdict.UNKNOWN else point


def _left_out(loaded: Sequence[Outcome]) -> tuple[str, bool]:
    """Which runs under load do not count, and why, "" of none; and whether it is all of them."""
    off = [outcome for outcome in loaded if outcome.verdict is Verdict.UNKNOWN]
    if not off:
        return "", False
    why = next((reason for outcome in off for reason in outcome.reasons), "they are in doubt")
    share = f"{len(off)} of {len(loaded)}"
    return f"runs under load that do not count: {share}, {why}", len(off) == len(loaded)


def _row(each: Sequence[tuple[Costs, CostTable]], judged: int, seed: int) -> Row:
    tables = [table for _, table in each]
    first = next((table for table in tables if table.one), tables[0])
    by_host = {host: [t for p, t in each if p.file.host == host and t.ns] for host in HOSTS}
    changes = [change for p, t in each for change in p.changes.get(t.name, ())]
    return Row(
        name=first.name,
        about=first.about,
        one=first.one,
        is_restart=first.is_restart,
        missing=first.missing,
        fix=first.fix,
        doubts=_doubts(each),
        costs={
            host: costs.cost(
                [t.ns for t in own],
                [run for t in own for run in t.runs],
                [ns for t in own for ns in t.lab_ns],
            )
            for host, own in by_host.items()
            if own
        },
        felt=costs.tail_effect(changes, mechanisms=judged, seed=seed)
        if any(table.changes for table in tables)
        else None,
        work_ns=restored.medians([t.probed for t in by_host[IDLE]]),
    )


def _doubts(each: Sequence[tuple[Costs, CostTable]]) -> tuple[str, ...]:
    """What failed, and blocks after which the change was not in force."""
    results = []
    for point, table in each:
        if table.failed:
            results.append(f"{point.file.host}: {table.failed}")
        if table.amiss:
            off = f"{len(table.amiss)} of {table.checks} read-backs"
            results.append(f"{point.file.host}: {off} found it not in force: {table.amiss[0]}")
    return tuple(dict.fromkeys(results))


def _with_answer(
    section: IsolationCosts, progress: Progress, left_out: tuple[str, bool], *, is_alone: bool
) -> IsolationCosts:
    why, is_all = left_out
    reasons = (*_reasons(section, progress), *([why] if is_all else []))
    verdict = (Verdict.UNKNOWN if reasons else Verdict.HOLDS) if is_alone else None
    believed = [row for row in section.rows if not row.doubts]
    each = (sentence(row) for row in believed if row.name in SENTENCE_ROWS and row.costs)
    parts = list(filter(None, [*each, restored.sentence(believed)]))
    doubted = [row.name for row in section.rows if row.doubts]
    lacking = [row.name for row in section.rows if row.missing]
    text = " ".join(parts)
    text += f" Not on this machine: {', '.join(lacking)}." if lacking else ""
    text += f" Doubted: {', '.join(doubted)}." if doubted else ""
    longer = [row for row in believed if row.felt and row.felt.is_longer]
    if longer:
        named = ", ".join(map(_longer, longer))
        text += f" One change lengthens p99 of the service under load: {named}."
    elif any(row.felt and row.felt.ratio for row in believed):
        text += " That one change lengthens p99 of the service under load was not shown of any."
    text += f" {why[:1].upper()}{why[1:]}." if why else ""
    return IsolationCosts(
        headline=" ".join(parts[:NAMED_MAX]) or (text.strip() if doubted else NOTHING),
        answer=text.strip() or NOTHING,
        verdict=verdict,
        reasons=reasons,
        paper=tuple(_paper(believed)),
        rows=section.rows,
        share=section.share,
        others_share=section.others_share,
    )


#: Mechanisms that the answer has a sentence about.
# fmt: off
SENTENCE_ROWS = (
    "cpu_quota", "cpuset", "memory_limit", "egress", "llc_ways", "restart_lxc", "restart_runc",
)
# fmt: on


def sentence(row: Row) -> str:
    """What a change of one mechanism takes, on each host, and what the paper has."""
    what = "Ending and starting" if row.is_restart else "A change of"
    reports = [f"{_number(row.costs[host])} {_where(host)}" for host in HOSTS if host in row.costs]
    paper = ", ".join(
        f"{_time(one.mean_ns)} on {one.machine}"
        for one in TABLE_IV
        if one.column == COLUMNS.get(row.name)
    )
    has = f"; the paper has {paper}, by command-line tools" if paper else ""
    return f"{what} {row.name.removeprefix('restart_')} takes {', '.join(reports)}{has}."


def _number(cost: Cost) -> str:
    mean, p99 = cost.mean, cost.p99
    if mean.value is None:
        return "an unknown time"
    sure = _span(mean.interval) if mean.interval else "once"
    tail = f"p99 {_time(p99.value)}" if p99.value is not None else f"max {_time(cost.max_ns)}"
    return f"{_time(mean.value)} ({sure}, {tail})"


def _where(host: str) -> str:
    return {
        IDLE: "on the idle host",
        BUSY: "on a busy host",
        LOADED: "beside the service under load",
    }[host]


def _longer(row: Row) -> str:
    tail = row.felt
    if tail is None or tail.interval is None:
        return row.name
    if tail.ratio == math.inf:
        return f"{row.name} {costs.ratio_words(tail)} times"
    return f"{row.name} {tail.ratio:.2f} times ({costs.ends_words(tail.interval)})"


def _reasons(section: IsolationCosts, progress: Progress) -> Sequence[str]:
    results = []
    if progress.next is not None:
        results.append("the study was not finished: run it again, it resumes")
    others = section.others_share
    if others is None:
        results.append("whether the idle host was idle is not known")
    elif others > OTHERS_MAX:
        results.append(
            f"the idle host was not idle: others used {others:.0%} of its CPUs' time, "
            f"{OTHERS_MAX:.0%} may be"
        )
    results += [f"{row.name}: {row.doubts[0]}" for row in section.rows if row.doubts]
    return results


def _paper(rows: Sequence[Row]) -> Sequence[tuple[str, str, str, str]]:
    """Ours beside the paper's numbers, on the idle host."""
    results = []
    for row in rows:
        column = COLUMNS.get(row.name)
        if column is None:
            continue
        others = ", ".join(
            f"{_time(one.mean_ns)} ({one.machine})" for one in TABLE_IV if one.column == column
        )
        ours = _number(row.costs[IDLE]) if IDLE in row.costs else ""
        ours = ours or (f"not here: {row.missing} is missing" if row.missing else "not measured")
        results.append((f"one application of {row.name} ({column}), mean", others, ours, SOURCE))
    return results


def _time(ns: float | None) -> str:
    return units.show_ns(ns) if ns is not None else "unknown"


def _span(interval: Interval) -> str:
    """An interval, its unit left out where the number before it has the same."""
    lo, hi = units.show_ns(interval.lo), units.show_ns(interval.hi)
    same = lo.split()[1] == hi.split()[1]
    return f"{lo.split()[0] if same else lo} to {hi}"


KIND = IsolationCostAnswer()
