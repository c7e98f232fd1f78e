"""Made-up findings of this question, for what opens a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sojourn.findings.findings import Findings
from sojourn.plan.points import Verdict
from sojourn.questions.breakdown.findings import Breakdown, Culprits, Stages
from sojourn.questions.breakdown.findings import Cost as Price
from sojourn.questions.breakdown.findings import Suspect as Seen
from sojourn.questions.testing_openings import Case
from sojourn.report import testing


def breakdown() -> Findings:
    """Two services unloaded and at two loads; somebody is accused in one of them."""
    services = []
    for name, times in (("memcached", 1.0), ("nginx", 3.0)):
        columns = tuple(
            _stages(label, times * more, is_alone=label == "unloaded", is_accused=name == "nginx")
            for label, more in (("unloaded", 1.0), ("10 % load", 1.3), ("95 % load", 20.0))
        )
        result = Breakdown(columns=columns, top="95 % load", accused="95 % load")
        base = replace(testing.memcached(), service=name, label=name, points=(), sections={})
        services.append(base.having("breakdown", result))
    return replace(testing.findings(), services=tuple(services), sections={})


def _stages(name: str, times: float, *, is_alone: bool, is_accused: bool) -> Stages:
    parts = (("RX", 2e3), ("EPoll", 5e3 * times), ("application", 3e3), ("residual", 1e3))
    tail = (("RX", 4e3), ("EPoll", 30e3 * times), ("application", 5e3), ("residual", 2e3))
    seen = Seen(
        kind="task",
        about="run-queue delay behind `xz`",
        tail_ns=1e5,
        body_ns=1e3,
        share=0.6,
        share_low=0.5,
        named=2,
        is_named=is_accused,
    )
    culprits = Culprits(
        q=0.99,
        answer="",
        runs=2,
        requests=99,
        others=999,
        tail_ns=1e5,
        body_ns=1e3,
        suspects=(seen,),
        unexplained_share=0.1,
        stacks=(),
        verdict=Verdict.HOLDS,
        reasons=(),
    )
    return Stages(
        name=name,
        neighbour="none",
        is_alone=is_alone,
        fraction=0.1,
        offered_rps=1e4,
        requests=9999,
        unmatched_share=0.0,
        runs=2,
        stages=parts,
        tail=tail,
        mean_ns=sum(ns for _, ns in parts),
        tail_mean_ns=sum(ns for _, ns in tail),
        residual_ns=1e3,
        quantiles=((0.99, 1e5),),
        causes=(),
        tail_causes=(),
        cpu=(),
        gaps=(),
        cost=Price(pairs=2, throughput=1.0, mean=1.0, p99=1.0, cpu=1.0),
        verdict=Verdict.HOLDS,
        reasons=(),
        culprits=None if is_alone else culprits,
    )


CASES: Mapping[str, Case] = {
    "breakdown": Case(breakdown, "The tail is: memcached 98 % EPoll, nginx 99 % EPoll"),
}
