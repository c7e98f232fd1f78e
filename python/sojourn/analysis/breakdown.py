"""Where the time of each request goes: traced points put together, beside their untraced twins.

Stages are means over all traced requests of a condition; they add to the mean total, whatever is
not explained standing beside them (M21). Quantiles are those of the runs, and of several runs the
median: bins of different runs are not merged here, and quantiles are never averaged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from sojourn.analysis import paper_stages
from sojourn.analysis.findings import Breakdown, Cost, Gap, ServiceFinding, Stages
from sojourn.analysis.given import Given, Measured
from sojourn.analysis.method import Method
from sojourn.analysis.words import load_share
from sojourn.plan import traced
from sojourn.plan.points import Phase, Verdict
from sojourn.plan.traced import Condition
from sojourn.samples.traced import CauseShare, Group, Times, TraceResult
from sojourn.spec import Goal, ServiceSpec
from sojourn.units import show_ns

METHOD = Method(
    name="breakdown",
    about="stages of individual requests, with residual, cost of the tracer and the client's gap",
    ids=("M21", "L3", "L12", "C8", "C9", "C10"),
    source="Leverich and Kozyrakis, EuroSys 2014, table 1; Chen et al., ISPASS 2017, II and III",
)
_QS = ((0.5, "p50_ns"), (0.95, "p95_ns"), (0.99, "p99_ns"))
_NAMES = {
    traced.UNLOADED: "unloaded",
    traced.CONTEXT_SWITCH: "context switch",
    traced.INTERFERENCE: "interference",
}


def attach(found: ServiceFinding, given: Given, spec: ServiceSpec) -> ServiceFinding:
    """The finding with its breakdown, if the study asked for one."""
    wanted = traced.conditions(given.study, spec)
    if not wanted:
        return found
    by: dict[Condition, list[Measured]] = defaultdict(list)
    for measured in given.of(spec.label):
        if measured.outcome.point.phase is Phase.TRACE:
            by[traced.of(measured.outcome.point)[0]].append(measured)
    columns = tuple(_column(c, by[c]) for c in wanted if c in by)
    breakdown = Breakdown(columns=columns, answer=_answer(found.service, columns))
    found = replace(
        found,
        breakdown=breakdown,
        paper=(*found.paper, *paper_stages.rows(found.kind, columns)),
    )
    if set(spec.measure) != {Goal.BREAKDOWN}:
        return replace(found, answer=f"{found.answer} {breakdown.answer}".strip())
    doubted = [c for c in columns if c.verdict is not Verdict.HOLDS]
    reasons = [f"{c.name}: {r}" for c in doubted for r in c.reasons]
    is_done = len(columns) == len(wanted) and not doubted
    return replace(
        found,
        answer=breakdown.answer,
        verdict=Verdict.HOLDS if is_done else Verdict.UNKNOWN,
        reasons=tuple(dict.fromkeys((*found.reasons, *reasons))),
    )


def _column(condition: Condition, measured: Sequence[Measured]) -> Stages:
    """One condition: its traced runs together, and what tracing them cost."""
    sound = [m for m in measured if m.traced and m.traced.verdict.verdict is Verdict.HOLDS]
    believed = [m for m in measured if m.outcome.verdict is not Verdict.UNKNOWN]
    both = [m for m in sound if m.outcome.verdict is not Verdict.UNKNOWN]
    # Where only the client doubts itself, the server's stages are shown, and said to be in doubt:
    # they are those of the load that was offered, which may not be the one that was planned.
    ours = both or sound
    twins = [m for m in believed or measured if not traced.of(m.outcome.point)[1]]
    traces = [m.traced for m in ours if m.traced]
    name = _NAMES.get(condition.name, f"{load_share(condition.fraction)} load")
    return Stages(
        name=name,
        condition=condition.name,
        fraction=condition.fraction,
        offered_rps=_median([m.outcome.offered_rps for m in measured]) or 0.0,
        requests=sum(t.matched for t in traces),
        unmatched_share=max((t.unmatched_share for t in traces), default=None),
        runs=len(traces),
        stages=_groups(traces, lambda t: (t.matched, t.groups)),
        tail=_groups(traces, lambda t: (t.tail.requests, t.tail.groups)),
        mean_ns=_mean([(t.matched, t.total.mean_ns) for t in traces]),
        tail_mean_ns=_mean([(t.tail.requests, t.tail.total.mean_ns) for t in traces]),
        residual_ns=_mean([(t.matched, t.residual.mean_ns) for t in traces]),
        quantiles=tuple((q, _quantile(traces, field)) for q, field in _QS),
        causes=_causes(traces, lambda t: (t.matched, t.causes)),
        tail_causes=_causes(traces, lambda t: (t.tail.requests, t.tail.causes)),
        cpu=_cpu(traces),
        gaps=_gaps(ours),
        cost=_cost(ours, twins),
        verdict=Verdict.HOLDS if both else Verdict.UNKNOWN,
        reasons=() if both else _why(measured),
    )


def _groups(
    traces: Sequence[TraceResult], of: Callable[[TraceResult], tuple[int, Sequence[Group]]]
) -> tuple[tuple[str, float], ...]:
    """Mean time per stage over the requests of all runs, ns, in the order of the papers."""
    parts = [of(t) for t in traces]
    names = [group.name for group in parts[0][1]] if parts else []
    means = (_mean([(n, groups[at].mean_ns) for n, groups in parts]) for at in range(len(names)))
    return tuple((name, mean or 0.0) for name, mean in zip(names, means, strict=True))


def _causes(
    traces: Sequence[TraceResult],
    of: Callable[[TraceResult], tuple[int, Sequence[CauseShare]]],
) -> tuple[tuple[str, float], ...]:
    """Share of each cause over the requests of all runs."""
    shares: dict[str, list[tuple[int, float | None]]] = defaultdict(list)
    for n, causes in map(of, traces):
        for each in causes:
            shares[each.cause].append((n, each.share))
    return tuple((name, _mean(each) or 0.0) for name, each in shares.items())


def _quantile(traces: Sequence[TraceResult], field: str) -> float | None:
    return _median([value for t in traces if (value := _at(t.total, field)) is not None])


def _at(times: Times, field: str) -> float | None:
    value = getattr(times, field)
    return None if value is None else float(value)


def _cpu(traces: Sequence[TraceResult]) -> tuple[tuple[str, float], ...]:
    names = ("user_share", "kernel_share", "softirq_share_of_kernel")
    pairs = [
        (name, [v for t in traces if (v := getattr(t.cpu, name)) is not None]) for name in names
    ]
    return tuple((name, median(values)) for name, values in pairs if values)


def _gaps(measured: Sequence[Measured]) -> tuple[Gap, ...]:
    """The client's wire time less the server's total: mean, and quantile against quantile."""
    found: list[Gap] = []
    for q, name, field in ((None, "mean", "mean_ns"), (0.5, "p50", "p50_ns"),
                           (0.95, "p95", "p95_ns"), (0.99, "p99", "p99_ns")):  # fmt: skip
        pairs = [
            (float(wire), inside)
            for m in measured
            if m.traced
            and (wire := dict(m.wire_ns).get(name)) is not None
            and (inside := _at(m.traced.total, field)) is not None
        ]
        if pairs:
            found.append(
                Gap(
                    q=q,
                    wire_ns=median(wire for wire, _ in pairs),
                    server_ns=median(inside for _, inside in pairs),
                )
            )
    return tuple(found)


def _cost(ours: Sequence[Measured], twins: Sequence[Measured]) -> Cost:
    """Medians with the tracer over medians without: the points took turns."""

    def ratio(of: Callable[[Measured], float | None]) -> float | None:
        with_it = _median([v for m in ours if (v := of(m)) is not None])
        without = _median([v for m in twins if (v := of(m)) is not None])
        return with_it / without if with_it is not None and without else None

    return Cost(
        pairs=min(len(ours), len(twins)),
        throughput=ratio(lambda m: m.outcome.achieved_rps),
        mean=ratio(lambda m: m.outcome.mean_ns),
        p99=ratio(lambda m: m.outcome.p99_ns),
        cpu=ratio(lambda m: m.cpu_ns_per_request),
    )


def _why(measured: Sequence[Measured]) -> tuple[str, ...]:
    """One reason per check that failed; each point's folder has all."""
    said = [r for m in measured if m.traced for r in m.traced.verdict.reasons]
    said += [r for m in measured for r in m.outcome.reasons]
    return tuple({r.partition(":")[0]: r for r in said}.values()) or ("not measured",)


def _answer(service: str, columns: Sequence[Stages]) -> str:
    """The heaviest load's answer, and the unloaded one's beside it."""
    known = [c for c in columns if c.stages and c.condition == traced.LOADED]
    if not known:
        return f"Where the time of {service}'s requests goes is unknown."
    sure = [c for c in known if c.verdict is Verdict.HOLDS]
    top = (sure or known)[-1]
    stage, ns = max(top.tail, key=lambda pair: pair[1])
    share = ns / top.tail_mean_ns if top.tail_mean_ns else 0.0
    text = (
        f"At {top.name} {100 * share:.0f} % of the time of {service}'s requests at and above p99 "
        f"is {stage}"
    )
    if top.tail_causes:
        cause, part = max(top.tail_causes, key=lambda pair: pair[1])
        text += f", by cause {100 * part:.0f} % is {cause}"
    alone = next((c for c in columns if c.condition == traced.UNLOADED and c.mean_ns), None)
    if alone and alone.mean_ns and top.mean_ns:
        text += (
            f"; a request alone takes {show_ns(alone.mean_ns)} in the server, "
            f"there {show_ns(top.mean_ns)}"
        )
    return f"{text}." if sure else f"{text}; this is in doubt, see the reasons."


def _mean(parts: Sequence[tuple[int, float | None]]) -> float | None:
    """Mean over all requests: each part with its number of requests."""
    known = [(n, value) for n, value in parts if value is not None]
    total = sum(n for n, _ in known)
    return sum(n * value for n, value in known) / total if total else None


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
