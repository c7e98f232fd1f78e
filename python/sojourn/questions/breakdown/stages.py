"""Where the time of each request goes: traced points put together, beside their untraced twins.

Stages are means over all traced requests of a setting; they add to the mean total, whatever is
not explained standing beside them (M21). Quantiles are those of the runs, and of several runs the
median: bins of different runs are not merged here, and quantiles are never averaged.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from sojourn.findings.measured import Measured, StudyData
from sojourn.findings.slow_request import SlowRequest
from sojourn.papers import stages as paper_stages
from sojourn.plan import traced
from sojourn.plan.points import Phase, Verdict
from sojourn.plan.setting import LOAD, NEIGHBOUR, Setting
from sojourn.questions.breakdown import culprits, tracer_cost
from sojourn.questions.breakdown.findings import Breakdown, Stages
from sojourn.samples.traced import CauseShare, Group, Times, TraceResult
from sojourn.spec import ServiceSpec
from sojourn.stats.method import Method
from sojourn.stats.pooling import mean, middle
from sojourn.text.numbers import load_share
from sojourn.units import show_ns

METHOD = Method(
    name="breakdown",
    about="stages of individual requests, with residual, cost of the tracer and the client's gap",
    ids=("M21", "L3", "L12", "C8", "C9", "C10"),
    source="Leverich and Kozyrakis, EuroSys 2014, table 1; Chen et al., ISPASS 2017, II and III",
)
SLOWEST = 10  # requests of a setting that are shown one by one
_QS = ((0.5, "p50_ns"), (0.95, "p95_ns"), (0.99, "p99_ns"))
_NUMBER = re.compile(r"\d+(\.\d+)?")
# The papers' names of what has one request at a time, by neighbour; and of their other neighbour.
_ALONE = {traced.NO_NEIGHBOUR: "unloaded", traced.SPIN: "context switch"}
_BESIDE = {traced.STREAM: "interference"}


def of_service(data: StudyData, spec: ServiceSpec, kind: str, *, is_alone: bool) -> Breakdown:
    """Where the time of a service's requests goes, as far as it was measured.

    Args:
        data: the study and its points.
        spec: the service.
        kind: of the service, for what the papers say of it.
        is_alone: nothing else is asked of it, so this decides.
    """
    wanted, beside = traced.settings(data.study, spec), data.study.neighbour
    by: dict[Setting, list[Measured]] = defaultdict(list)
    for measured in data.of(spec.label):
        if measured.outcome.point.phase is Phase.TRACE:
            by[traced.of(measured.outcome.point)[0]].append(measured)
    columns = tuple(_column(s, by[s], beside) for s in wanted if s in by)
    top = _top(columns, beside)
    accused = _accused(columns, top, beside)
    answer = _answer(spec.label, columns, top, accused)
    breakdown = Breakdown(
        headline=answer,
        answer=answer,
        columns=columns,
        top=top.name if top else "",
        accused=accused.name if accused else "",
        paper=paper_stages.rows(kind, columns),
    )
    if not is_alone:
        return breakdown
    doubted = [c for c in columns if c.verdict is not Verdict.HOLDS]
    reasons = [f"{c.name}: {r}" for c in doubted for r in c.reasons]
    is_done = len(columns) == len(wanted) and not doubted
    return replace(
        breakdown,
        verdict=Verdict.HOLDS if is_done else Verdict.UNKNOWN,
        reasons=tuple(dict.fromkeys(reasons)),
    )


def _column(
    setting: Setting, measured: Sequence[Measured], beside: str = traced.NO_NEIGHBOUR
) -> Stages:
    """One setting: its traced runs together, and what tracing them cost.

    Args:
        setting: as of `plan.traced`.
        measured: its points, with the tracer and without.
        beside: the neighbour that the study has beside all its points.
    """
    sound = [m for m in measured if m.traced and m.traced.verdict.verdict is Verdict.HOLDS]
    believed = [m for m in measured if m.outcome.verdict is not Verdict.UNKNOWN]
    both = [m for m in sound if m.outcome.verdict is not Verdict.UNKNOWN]
    # Where only the client doubts itself, the server's stages are shown, and said to be in doubt:
    # they are those of the load that was offered, which may not be the one that was planned. So are
    # those of a service that the hooks slow: its shares say what its p99 does not.
    slowed = [m for m in measured if m.traced and m.traced.is_only_slowed]
    ours = both or sound or slowed
    twins = [m for m in believed or measured if not traced.of(m.outcome.point)[1]]
    blocks = {m.outcome.point.repeat for m in measured if traced.of(m.outcome.point)[1]}
    traces = [m.traced for m in ours if m.traced]
    cost, windows = tracer_cost.ratios(ours, twins), tracer_cost.of_windows(traces)
    gaps = tracer_cost.gaps(ours)
    return Stages(
        name=_named(setting, beside),
        neighbour=str(setting[NEIGHBOUR]),
        is_alone=traced.is_alone(setting),
        fraction=float(setting[LOAD]),
        offered_rps=middle([m.outcome.offered_rps for m in measured]) or 0.0,
        requests=sum(t.matched for t in traces),
        unmatched_share=max((t.unmatched_share for t in traces), default=None),
        runs=len(traces),
        stages=_groups(traces, lambda t: (t.matched, t.groups)),
        tail=_groups(traces, lambda t: (t.tail.requests, t.tail.groups)),
        mean_ns=mean([(t.matched, t.total.mean_ns) for t in traces]),
        tail_mean_ns=mean([(t.tail.requests, t.tail.total.mean_ns) for t in traces]),
        residual_ns=mean([(t.matched, t.residual.mean_ns) for t in traces]),
        quantiles=tuple((q, _quantile(traces, field)) for q, field in _QS),
        causes=_causes(traces, lambda t: (_spent_ns(t.matched, t.total), t.causes)),
        tail_causes=_causes(
            traces, lambda t: (_spent_ns(t.tail.requests, t.tail.total), t.tail.causes)
        ),
        cpu=_cpu(traces),
        gaps=gaps,
        cost=cost,
        verdict=Verdict.HOLDS if both else Verdict.UNKNOWN,
        reasons=() if both else _why(measured),
        client_wait=next((m.client_wait for m in ours if m.client_wait), ""),
        windows=windows,
        culprits=culprits.pooled(ours, len(blocks)),
        tail_requests=sum(t.tail.requests for t in traces),
        remarks=tuple(tracer_cost.remarks(cost, windows, gaps)) if traces else (),
        slowest=_slowest(ours),
    )


def _slowest(measured: Sequence[Measured]) -> tuple[SlowRequest, ...]:
    """The slowest requests of some traced points."""
    every = [
        SlowRequest(
            run=one.outcome.point.key,
            start_unix_ns=max(0, _since(one.traced) + worst.start_ns),
            total_ns=worst.total_ns,
            stages=worst.stages,
            thread=worst.tid,
            peer_port=worst.peer_port,
            bytes_in=worst.bytes_in,
            bytes_out=worst.bytes_out,
        )
        for one in measured
        if one.traced
        for worst in one.traced.worst
    ]
    return tuple(sorted(every, key=lambda one: -one.total_ns)[:SLOWEST])


def _since(traced: TraceResult) -> int:
    """When the clock of a trace was 0, ns since 1970."""
    return traced.started_unix_ns - traced.started_ns


def _named(setting: Setting, beside: str) -> str:
    """A column's name for people: the papers' where they have one."""
    neighbour = str(setting[NEIGHBOUR])
    if traced.is_alone(setting):
        return _ALONE.get(neighbour) or f"unloaded beside {neighbour}"
    if neighbour != beside:
        return _BESIDE.get(neighbour) or f"beside {neighbour}"
    load = f"{load_share(float(setting[LOAD]))} load"
    return load if neighbour == traced.NO_NEIGHBOUR else f"{load} beside {neighbour}"


def _groups(
    traces: Sequence[TraceResult], of: Callable[[TraceResult], tuple[int, Sequence[Group]]]
) -> tuple[tuple[str, float], ...]:
    """Mean time per stage over the requests of all runs, ns, in the order of the papers."""
    means: dict[str, list[tuple[int, float | None]]] = defaultdict(list)
    for n, groups in map(of, traces):
        for group in groups:
            means[group.name].append((n, group.mean_ns))
    return tuple((name, mean(each) or 0.0) for name, each in means.items())


def _causes(
    traces: Sequence[TraceResult],
    of: Callable[[TraceResult], tuple[int, Sequence[CauseShare]]],
) -> tuple[tuple[str, float], ...]:
    """Share of each cause of the time of all runs' requests: a run counts by that time."""
    shares: dict[str, list[tuple[int, float | None]]] = defaultdict(list)
    for spent_ns, causes in map(of, traces):
        for each in causes:
            shares[each.cause].append((spent_ns, each.share))
    return tuple((name, mean(each) or 0.0) for name, each in shares.items())


def _spent_ns(requests: int, total: Times) -> int:
    """Time of all these requests together; 0 where their mean is not known."""
    return round(requests * (total.mean_ns or 0.0))


def _quantile(traces: Sequence[TraceResult], field: str) -> float | None:
    return middle([v for t in traces if (v := tracer_cost.at(t.total, field)) is not None])


def _cpu(traces: Sequence[TraceResult]) -> tuple[tuple[str, float], ...]:
    names = ("user_share", "kernel_share", "softirq_share_of_kernel")
    pairs = [
        (name, [v for t in traces if (v := getattr(t.cpu, name)) is not None]) for name in names
    ]
    return tuple((name, median(values)) for name, values in pairs if values)


def _why(measured: Sequence[Measured]) -> tuple[str, ...]:
    """One reason per check that failed, whatever its numbers; each point's folder has all."""
    selected = [r for m in measured if m.traced for r in m.traced.verdict.reasons]
    selected += [r for m in measured for r in m.outcome.reasons]
    by_check = {_NUMBER.sub("", r.partition(":")[0]): r for r in selected}
    return tuple(by_check.values()) or ("not measured",)


def _is_loaded(column: Stages, beside: str) -> bool:
    """Whether it is one of the study's loads, in its usual company."""
    return not column.is_alone and column.neighbour == beside


def _top(columns: Sequence[Stages], beside: str = traced.NO_NEIGHBOUR) -> Stages | None:
    """The heaviest load that is believed and that the tracer left as it was, or the next best."""
    known = [c for c in columns if c.stages and _is_loaded(c, beside)]
    sure = [c for c in known if c.verdict is Verdict.HOLDS]
    carried = [c for c in sure if tracer_cost.is_carried(c.cost)]
    best = carried or sure or known
    return best[-1] if best else None


def _accused(
    columns: Sequence[Stages], top: Stages | None, beside: str = traced.NO_NEIGHBOUR
) -> Stages | None:
    """Where culprits are reported first: there too, if they are known there, or the next best."""
    known = [
        c
        for c in columns
        if c.culprits and _is_loaded(c, beside) and c.culprits.verdict is Verdict.HOLDS
    ]
    sure = [c for c in known if c.verdict is Verdict.HOLDS] or known
    if top in sure or (top and top.culprits and not sure):
        return top
    carried = [c for c in sure if tracer_cost.is_carried(c.cost)]
    best = carried or sure
    return best[-1] if best else None


def _answer(
    service: str, columns: Sequence[Stages], top: Stages | None, accused: Stages | None
) -> str:
    """What makes up the tail there, who made it slow, and the unloaded answer beside it."""
    if top is None:
        return f"Where the time of {service}'s requests goes is unknown."
    stage, ns = max(top.tail, key=lambda pair: pair[1])
    share = ns / top.tail_mean_ns if top.tail_mean_ns else 0.0
    text = (
        f"At {top.name} {100 * share:.0f} % of the time of {service}'s requests at and above p99 "
        f"is {stage}"
    )
    if top.tail_causes:
        cause, part = max(top.tail_causes, key=lambda pair: pair[1])
        text += f", by cause {100 * part:.0f} % is {cause}"
    alone = next(
        (c for c in columns if c.is_alone and c.name == _ALONE[traced.NO_NEIGHBOUR] and c.mean_ns),
        None,
    )
    if alone and alone.mean_ns and top.mean_ns:
        text += (
            f"; a request alone takes {show_ns(alone.mean_ns)} in the server, "
            f"there {show_ns(top.mean_ns)}"
        )
    text = f"{text}{_doubt(top)}."
    if accused is None or accused.culprits is None:
        return text
    who = accused.culprits.answer.removesuffix(".")
    where, doubt = ("", "") if accused is top else (f"At {accused.name} ", _doubt(accused))
    return f"{text} {where}{who}{doubt}."


def _doubt(column: Stages) -> str:
    """What to do with an answer that is in doubt; "" if it is not."""
    if column.verdict is Verdict.HOLDS:
        return ""
    if column.windows and column.windows.is_tail_slowed:
        return f"; {tracer_cost.slowed_tail(column.windows)}"
    return "; this is in doubt, see the reasons"
