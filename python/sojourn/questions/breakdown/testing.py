"""Traces by hand, for tests."""

from __future__ import annotations

from typing import Any

from sojourn.findings.findings import ServiceFinding
from sojourn.plan.points import Verdict
from sojourn.questions.breakdown.findings import Breakdown
from sojourn.samples.traced import Blame, Folded, Sampling, Slowing, TraceResult, Trust

STAGES = (("RX", 1e3), ("EPoll", 6e3), ("application", 2e3), ("residual", 1e3))


def trace(
    scale: float, *, requests: int = 1000, verdict: str = "holds", reason: str = ""
) -> TraceResult:
    """A trace whose stages take `scale` times as long as `STAGES` says, ns."""
    total = scale * sum(ns for _, ns in STAGES)
    times = {"mean_ns": total, "p50_ns": total, "p95_ns": 2 * total, "p99_ns": 3 * total}
    groups = [{"name": name, "mean_ns": scale * ns} for name, ns in STAGES]
    causes = [{"cause": "queuing", "share": 0.6}, {"cause": "work", "share": 0.4}]
    return TraceResult.model_validate(
        {
            "requests": requests,
            "matched": requests,
            "unmatched_share": 0.0,
            "dropped": 0,
            "verdict": {"verdict": verdict, "reasons": [reason] if reason else []},
            "answer": "",
            "total": times,
            "groups": groups,
            "causes": causes,
            "residual": {**times, "mean_ns": scale * 1e3},
            "tail": {"q": 0.99, "requests": 10, "total": times, "groups": groups, "causes": causes},
            "cpu": {"user_share": 0.2, "kernel_share": 0.8, "softirq_share_of_kernel": 0.3},
        }
    )


XZ = "run-queue delay behind `xz` (cgroup batch)"
SENTENCE = f"p99: 71 % of the excess is {XZ}, 5 % unexplained"
STACKS: Folded = (
    (("p99", "memcached", "waits for a CPU", "behind xz (cgroup batch)"), 710.0),
    (("p99", "memcached", "works", "application"), 290.0),
    (("others", "memcached", "works", "application"), 900.0),
)


def blamed(about: str = XZ, answer: str = SENTENCE) -> TraceResult:
    """A trace that names one: 71 of the 100 µs by which its 10 slowest exceed the others."""
    suspect = {
        "kind": "task",
        "about": about,
        "tail_mean_ns": 71e3,
        "body_mean_ns": 0.0,
        "share": 0.71,
        "share_low": 0.609,
        "is_named": True,
    }
    blame = Blame.model_validate(
        {
            "q": 0.99,
            "tail_requests": 10,
            "body_requests": 90,
            "tail_mean_ns": 110e3,
            "body_mean_ns": 10e3,
            "verdict": "holds",
            "reasons": (),
            "answer": answer,
            "suspects": (suspect,),
            "unexplained_share": 0.05,
        }
    )
    return trace(1.0).model_copy(update={"blame": blame})


def windowed(measured: float | None, lo: float, hi: float | None, p99: float | None) -> TraceResult:
    """A trace in twelve windows: what they took with its interval, and the upper end of p99, ns."""
    cost: dict[str, Any] = {
        "asked": 0.02,
        "measured": measured,
        "interval": {"low": lo, "high": hi},
        "while_attached": 0.2,
        "is_assumed": False,
        "tracer_cpu_ratio": 0.01,
    }
    accuracy = {"clusters": 12, "p99_ns": {"low": 25e3, "high": p99}}
    table = {"windows": 13, "duty": 0.05, "cost": cost, "accuracy": accuracy}
    sampling = Sampling.model_validate(table)
    return trace(1.0).model_copy(update={"mode": "windows", "sampling": sampling})


def slowed(tail_ratio: float | None, *more: str, cpu_ratio: float | None = 1.12) -> TraceResult:
    """A trace in windows that doubts itself because of what hooks do to the tail, and `more`."""
    slowing = Slowing(
        cpu_ratio=cpu_ratio,
        busy=0.8,
        mean_ratio=tail_ratio and 1.05,
        tail_ratio=tail_ratio,
        tail_ratio_max=1.1,
    )
    reason = f"hooks make the requests at and above p99 ×{tail_ratio} as long: take the client's"
    usual = windowed(0.01, 0.0, 0.02, 40e3)
    return usual.model_copy(
        update={
            "sampling": usual.sampling.model_copy(update={"slowing": slowing}),
            "verdict": Trust(verdict=Verdict.UNKNOWN, reasons=(reason, *more)),
        }
    )


def breakdown_of(finding: ServiceFinding) -> Breakdown:
    """The breakdown of a service; AssertionError without one."""
    section = finding.section(Breakdown)
    if section is None:
        raise AssertionError(f"{finding.service} has no breakdown")
    return section
