"""Made-up findings of questions about factors, costs, suspects, stages and many services."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sojourn.findings.findings import Effect, FactorFinding, Findings, ServiceFinding, Trend
from sojourn.findings.point_row import PointRow
from sojourn.plan.points import Verdict
from sojourn.questions.attribution.judge import Attributed, Attributions
from sojourn.questions.blame.judge import Blames
from sojourn.questions.blame.randomisation import Change, Contrast
from sojourn.questions.blame.suspects import (
    CLEARED,
    CPU,
    GUILTY,
    OTHERS,
    OWN,
    SOFTIRQ,
    UNDECIDED,
    WAIT,
)
from sojourn.questions.blame.suspects import Row as Suspect
from sojourn.questions.breakdown.findings import Breakdown, Culprits, Stages
from sojourn.questions.breakdown.findings import Cost as Price
from sojourn.questions.breakdown.findings import Suspect as Seen
from sojourn.questions.isolation_cost.costs import Cost, Felt
from sojourn.questions.isolation_cost.judge import IsolationCosts
from sojourn.questions.isolation_cost.judge import Row as CostRow
from sojourn.report import testing, testing_use
from sojourn.stats.interval import Estimate, Interval
from sojourn.stats.quantile_regression import MOVES, NOT_SHOWN, SEEMS, Fit, Term

GZIP, PLACE = "services.nginx.params.gzip", "services.memcached.place"
ITEMS = "services.memcached.params.items"
TAIL, PEAK = "p99 at 60 % load", "max RPS"


def effect(
    level: str,
    ratio: float | None,
    lo: float = 0,
    hi: float = 0,
    *,
    what: str = TAIL,
    base: str = "false",
    gate: float | None = None,
    is_noise: bool = False,
    doubt: str = "",
) -> Effect:
    """One ratio; without one it says why."""
    ends = Interval(lo=lo, hi=hi) if ratio is not None else None
    # fmt: off
    return Effect(
        what=what, is_time=what != PEAK, base=base, level=level, ratio=ratio, interval=ends,
        coverage=0.95, blocks=3, reason="" if ends else "no block has valid runs", doubt=doubt,
        sentence="", noise_gate=gate, is_noise=is_noise,
    )
    # fmt: on


def factor(
    key: str,
    name: str,
    levels: Sequence[str],
    *effects: Effect,
    service: str = "nginx",
    trends: tuple[Trend, ...] = (),
) -> FactorFinding:
    """What a factor does to a service."""
    return FactorFinding(
        service=service,
        key=key,
        name=name,
        levels=tuple(levels),
        effects=effects,
        aliases=(),
        sentence="",
        trends=trends,
    )


def of_factors(*factors: FactorFinding) -> Findings:
    """A study with these, and two combinations."""
    base = testing.findings()
    keys = [(one.key, one.levels[0]) for one in factors]
    service = replace(
        testing.nginx(), label=factors[0].service, levels=tuple(keys), service="nginx, x"
    )
    return replace(base, services=(service, service), sections={}, factors=factors)


def settings() -> Findings:
    """One setting that costs, one that does nothing, one of which nothing can be said."""
    # fmt: off
    return of_factors(
        factor(GZIP, "gzip", ("false", "true"), effect("true", 1.97, 1.19, 3.27, gate=1.2),
               effect("true", 0.54, 0.46, 0.64, what=PEAK)),
        factor("services.nginx.params.sendfile", "sendfile", ("true", "false"),
               effect("false", 0.98, 0.9, 1.07, base="true"),
               effect("false", 1.01, 0.93, 1.09, base="true", what=PEAK)),
        factor("services.nginx.params.access_log", "access_log", ("false", "true"),
               effect("true", 2.02, 0.12, 34.1)),
    )
    # fmt: on


def places() -> Findings:
    """Places that are within the noise, one far beyond, one without runs."""
    levels = ("local", "netns", "runc", "vm")
    some = [
        effect("netns", 0.92, 0.5, 1.6, base="local", gate=1.4, is_noise=True),
        effect("runc", None, base="local"),
        effect("vm", 60.0, 32.0, 140.0, base="local"),
    ]
    return of_factors(factor(PLACE, "place", levels, *some, service="memcached"))


def unseen() -> Findings:
    """Nothing but intervals that answer nothing."""
    both = [effect("true", 2.02, 0.12, 34.1), effect("true", 0.9, 0.3, 2.9, what=PEAK)]
    return of_factors(factor(GZIP, "gzip", ("false", "true"), *both))


def trend(kind: str, *curve: tuple[float, float, float], between: tuple[str, ...] = ()) -> Trend:
    """A trend over four sizes."""
    named = curve[-1]
    return Trend(
        what=TAIL,
        kind=kind,
        levels=("1000", "64000", "256000", "1024000"),
        blocks=3,
        ratio=None if kind == "flat" else named[0],
        interval=None if kind == "flat" else Interval(lo=named[1], hi=named[2]),
        sentence=f"{TAIL} is {kind}",
        between=between,
        curve=((1.0, 1.0, 1.0), *curve),
    )


def trends(kind: str) -> Findings:
    """A study of sizes whose tail goes like this."""
    flat = ((1.01, 0.96, 1.06), (0.99, 0.94, 1.04), (1.0, 0.95, 1.05))
    up = ((1.02, 0.9, 1.15), (1.1, 0.95, 1.3), (4.2, 3.1, 5.6))
    shape = flat if kind == "flat" else up
    between = ("256000", "1024000") if kind in {"knee", "cliff"} else ()
    one = trend(kind, *shape, between=between)
    levels = one.levels
    return of_factors(
        factor(
            ITEMS,
            "items",
            levels,
            *(effect(level, 1.1, 0.9, 1.4) for level in levels[1:]),
            service="memcached",
            trends=(one,),
        )
    )


def estimate(ns: float, *, q: float | None = None) -> Estimate:
    """A time that is known within five percent."""
    ends = Interval(lo=0.95 * ns, hi=1.05 * ns)
    return Estimate(q=q, value=ns, interval=ends, across_restarts=None, requests=99, effective=99.0)


def isolation() -> Findings:
    """A cheap mechanism, a dear one with the paper's beside it, and one that is missing."""
    # fmt: off
    rows = (
        _cost_row("empty", 400.0), _cost_row("cpu_quota", 38e3), _cost_row("memory_limit", 2e6),
        _cost_row("restart_runc", 8e8),
        CostRow(name="llc_ways", about="", one="", is_restart=False, missing="resctrl",
                mend="mount it", doubts=(), costs={}, felt=None),
    )
    # fmt: on
    service = testing.memcached().having("isolation_cost", IsolationCosts(rows=rows))
    return replace(testing.findings(), services=(service,), sections={})


def _cost_row(name: str, ns: float) -> CostRow:
    # fmt: off
    cost = Cost(count=1000, mean=estimate(ns), p50=estimate(ns, q=0.5), p99=estimate(ns, q=0.99),
                max_ns=2 * ns, cpu_ns=ns, child_ns=0.0, lab_ns=None)
    # fmt: on
    # fmt: off
    felt = Felt(changes=20, requests=999, before_ns=1e5, after_ns=2e5, ratio=1.97,
                interval=Interval(lo=1.73, hi=2.28), is_longer=name == "cpu_quota")
    # fmt: on
    # fmt: off
    return CostRow(name=name, about="", one="a write", is_restart=name.startswith("restart"),
                   missing="", mend="", doubts=(), costs={"idle": cost, "loaded": cost},
                   felt=felt)
    # fmt: on


def attribution(*, moves: bool = True) -> Findings:
    """Three factors; the first moves the tail, or none does."""
    keys = {
        "threads": ("services.memcached.params.threads", "1", "2"),
        "policy": ("services.memcached.knobs.policy", "other", "nice:-10"),
        "thp": ("services.memcached.knobs.thp", "madvise", "never"),
    }
    terms = [
        _term(("threads",), 2.04 if moves else 1.01, MOVES if moves else NOT_SHOWN),
        _term(("policy",), 0.95, SEEMS),
        _term(("thp",), 1.01, NOT_SHOWN),
        _term(("threads", "policy"), 1.02, NOT_SHOWN),
    ]
    levels = tuple((name, _text(low), _text(high)) for name, (_, low, high) in keys.items())
    one = Attributed(
        service="memcached",
        rate="8k",
        levels=levels,
        fits=(Fit(q=0.99, blocks=4, terms=tuple(terms), pseudo_r2=0.2),),
    )
    # fmt: off
    point = PointRow(
        key="a", service="memcached", levels=tuple((key, low) for key, low, _ in keys.values()),
        phase="attribution", repeat=0, fraction=None, offered_rps=8e3, achieved_rps=8e3,
        p50_ns=1e5, p99_ns=1e6, verdict=Verdict.HOLDS, reasons=(),
    )
    # fmt: on
    found = replace(testing.findings(), services=(), sections={}, points=(point,))
    return found.having("attribution", Attributions(of=(one,)))


def _text(level: str) -> str:
    return f'"{level}"' if "-" in level else level


def _term(factors: tuple[str, ...], ratio: float, said: str) -> Term:
    # fmt: off
    return Term(factors=factors, q=0.99, ratio=ratio, p=0.01, p_holm=0.02, said=said,
                interval=Interval(lo=0.97 * ratio, hi=1.03 * ratio))
    # fmt: on


def blame(*words: str) -> Findings:
    """A condition for each word, in which a neighbour is that; the innocent one is in all."""
    names = ("noise:cpu@100%,where=one", "noise:membw@100%,where=free", "noise:disk@50MB/s")
    services = []
    for name, word in zip(names, words, strict=False):
        rows = (_suspect(name, word), _suspect("noise:syscalls@1%,where=one", CLEARED))
        section = Blames(bound_ns=1e6, rows=rows, as_is_ns=2e6, as_is=Interval(lo=1.5e6, hi=3e6))
        base = replace(
            testing.memcached(),
            label="memcached",
            levels=(("neighbour", name),),
            service=f"memcached, neighbour = {name}",
            points=(),
        )
        services.append(base.having("blame", section))
    return replace(testing.findings(), services=tuple(services), sections={})


def _change(cost: str) -> Change:
    ends = Interval(lo=500.0, hi=1500.0)
    return Change(name=cost, with_=2e3, without=1e3, more=1e3, interval=ends)


def _suspect(name: str, word: str) -> Suspect:
    at = {GUILTY: 23.0, CLEARED: 1.02, UNDECIDED: 1.4}[word]
    wide = 3.0 if word == UNDECIDED else 1.15
    # fmt: off
    stop = Contrast(ratio=at, interval=Interval(lo=at / wide, hi=at * wide), p=0.01, p_holm=0.02,
                    blocks=8, requests=999, with_ns=2e6, without_ns=1e6)
    # fmt: on
    # fmt: off
    return Suspect(
        name=name, word=word, resource=CPU if word == GUILTY else "", stop=stop, alone=None,
        costs=tuple(map(_change, (WAIT, SOFTIRQ, OWN, OTHERS))),
        cpu_share=0.5, still_share=0.0, disk_bytes_per_s=0.0, traced_share=None,
        matters=1.25,
    )
    # fmt: on


def breakdown() -> Findings:
    """Two services unloaded and at two loads; somebody is accused in one of them."""
    services = []
    for name, times in (("memcached", 1.0), ("nginx", 3.0)):
        columns = tuple(
            _stages(label, times * more, is_alone=label == "unloaded", is_accused=name == "nginx")
            for label, more in (("unloaded", 1.0), ("10 % load", 1.3), ("95 % load", 20.0))
        )
        found = Breakdown(columns=columns, top="95 % load", accused="95 % load")
        base = replace(testing.memcached(), service=name, label=name, points=(), sections={})
        services.append(base.having("breakdown", found))
    return replace(testing.findings(), services=tuple(services), sections={})


def _stages(name: str, times: float, *, is_alone: bool, is_accused: bool) -> Stages:
    parts = (("RX", 2e3), ("EPoll", 5e3 * times), ("application", 3e3), ("residual", 1e3))
    tail = (("RX", 4e3), ("EPoll", 30e3 * times), ("application", 5e3), ("residual", 2e3))
    # fmt: off
    seen = Seen(kind="task", about="run-queue delay behind `xz`", tail_ns=1e5, body_ns=1e3,
                share=0.6, share_low=0.5, named=2, is_named=is_accused)
    # fmt: on
    # fmt: off
    culprits = Culprits(q=0.99, answer="", runs=2, requests=99, others=999, tail_ns=1e5,
                        body_ns=1e3, suspects=(seen,), unexplained_share=0.1, stacks=(),
                        verdict=Verdict.HOLDS, reasons=())
    # fmt: on
    # fmt: off
    return Stages(
        name=name, neighbour="none", is_alone=is_alone, fraction=0.1, offered_rps=1e4,
        requests=9999, unmatched_share=0.0, runs=2, stages=parts, tail=tail,
        mean_ns=sum(ns for _, ns in parts), tail_mean_ns=sum(ns for _, ns in tail),
        residual_ns=1e3, quantiles=((0.99, 1e5),), causes=(), tail_causes=(), cpu=(), gaps=(),
        cost=Price(pairs=2, throughput=1.0, mean=1.0, p99=1.0, cpu=1.0), verdict=Verdict.HOLDS,
        reasons=(), culprits=None if is_alone else culprits,
    )
    # fmt: on


def tailbench(*, swept: bool = True) -> Findings:
    """Four services on one core, as a machine of two CPUs can host them."""
    names = ("img_dnn", "ordered_map", "silo", "xapian")
    return replace(
        testing.findings(),
        services=tuple(_service(name, swept=swept) for name in names),
        sections={},
    )


def _service(name: str, *, swept: bool) -> ServiceFinding:
    base = testing.memcached()
    return replace(
        base,
        service=f"{name}, cores = 1",
        label=name,
        kind=name,
        levels=(("services.each.cores", "1"),),
        points=base.points if swept else (),
        resources=testing_use.both_sides(),
    )
