"""Who has which cores, what the job gets, and what a controller sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.controllers.look import BEST_EFFORT, CRITICAL, Allocation, Group, Look, Signal, Window

WEB, BATCH = "web", "batch"
PERIOD_S = 0.1  # of a quota, and of the shortest window
SLICE_S = 0.003  # for which a job holds a shared core
MEMORY = 1.0  # service times beside a job that uses all cores: so much longer
WEIGHT = 100  # of a service


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is simulated. Times in s."""

    cores: int = 8
    service_s: float = 0.004
    target_s: float = 0.030
    peak_rps: float = 1700.0


def sharing(shape: Shape, now: Mapping[str, Allocation], wants: float) -> tuple[int, int, float]:
    """Cores of the service, those that the job may use as well, and how much it holds them."""
    cores, job = shape.cores, now[BATCH]
    own = cores if now[WEB].cores is None else max(1, now[WEB].cores or 0)
    may = cores if job.cores is None else job.cores
    shared = max(0, own + may - cores)
    if job.idle or shared == 0:
        return own, shared, 0.0
    alone = may - shared
    most = _most(shape, job, wants)
    quota = min(most, float(may) if job.quota is None else job.quota)
    part = job.weight / (job.weight + WEIGHT)  # where both always want the core
    return own, shared, min(max(0.0, quota - alone) / shared, part)


def job_cpus(
    shape: Shape, job: Allocation, *, used: float, own: int, shared: int, wants: float
) -> float:
    """What the job gets, CPUs, beside a service that uses `used` CPUs."""
    may = shape.cores if job.cores is None else job.cores
    left = max(0.0, shared * (1 - min(1.0, used / max(1, own))))
    if not job.idle:
        left = max(left, shared * job.weight / (job.weight + WEIGHT))
    had = min(may - shared + left, _most(shape, job, wants))
    return had if job.quota is None else min(had, job.quota)


def _most(shape: Shape, job: Allocation, wants: float) -> float:
    """CPUs that the job would use at most."""
    cores = shape.cores if job.cores is None else job.cores
    return min(float(cores), wants * shape.cores)


def seen(
    shape: Shape,
    now: Mapping[str, Allocation],
    t_s: float,
    windows: tuple[Window, ...],
    *,
    web: Mapping[str, float],
    job: float,
) -> Look:
    """A look: windows and signals of the service, and CPUs of the job."""
    groups = {
        WEB: Group(
            role=CRITICAL,
            target_ns=shape.target_s * 1e9,
            windows=windows,
            signals=_signals(web),
            allocation=now[WEB],
        ),
        BATCH: Group(
            role=BEST_EFFORT,
            signals=_signals({"cpu": job}),
            allocation=now[BATCH],
            traits=("non-scalable",),
        ),
    }
    host = _signals({"cpu": min(shape.cores, web["cpu"] + job)})
    return Look(t_s=round(t_s, 4), cpus=shape.cores, groups=groups, signals=host)


def _signals(values: Mapping[str, float]) -> dict[str, Signal]:
    return {name: Signal(value=value) for name, value in values.items()}
