"""C20: seven threads on fewer cores, against as many threads as cores (Figs. 9 and 10).

Threads are started once and keep their connections, so a core with two of them carries twice the
requests of a core with one. That is what breaks the tail, long before the cores together are full.
"""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.models.replicate.kind import (
    Check,
    Curve,
    Experiment,
    Parameter,
    Replica,
    arithmetic,
)
from sojourn.models.replicate.paper import KERNEL
from sojourn.models.simulator import Result, Simulator

THREADS, LOAD = 7, 0.6
CORES = (3, 4, 5, 6, 7)


@dataclass(frozen=True, slots=True)
class App:
    """A service of the paper on the Xeon: highest load of seven cores, and its target."""

    name: str
    max_rps: float
    qos_ns: float

    @property
    def service_us(self) -> float:
        """Time on a core per request, if seven full cores serve `max_rps`."""
        return THREADS / self.max_rps * 1e6

    @property
    def busy(self) -> float:
        """Cores' worth of work at the load in question."""
        return LOAD * THREADS


APPS = (App("memcached", 672e3, 1e6), App("NGINX", 420e3, 20e6))  # C4, C5


def run(simulator: Simulator, share: float) -> Replica:
    """Sweep the cores with seven threads, and with one thread per core."""
    cases = [(app, threads, cores) for app in APPS for threads in (THREADS, 0) for cores in CORES]
    jobs = [_job(app, threads or cores, cores, share) for app, threads, cores in cases]
    p99 = [_p99(result) for result in simulator.runs("sched", jobs)]
    curves, checks = [], []
    for at, app in enumerate(APPS):
        seven, one_each = (
            p99[(2 * at + k) * len(CORES) : (2 * at + k + 1) * len(CORES)] for k in (0, 1)
        )
        curves += [_curve(app, "7 threads", seven), _curve(app, "threads = cores", one_each)]
        checks += _checks(app, seven, one_each)
    return Replica(
        id="C20",
        title="Seven threads on fewer cores, against threads = cores (Figs. 9 and 10, Xeon)",
        label="simulated",
        parameters=(
            *(
                Parameter(
                    name=app.name,
                    source="C4, C5",
                    value=f"exponential, mean {app.service_us:.1f} µs; p99 ≤ "
                    f"{app.qos_ns / 1e6:g} ms",
                )
                for app in APPS
            ),
            Parameter(
                name="load",
                value="60 % of max RPS: 4.2 cores' worth",
                source="section V-B1; the paper's aggregate is below 500 %",
            ),
            Parameter(
                name="threads on cores",
                value="dealt in turn, and stay",
                source="assumed: mistakes of placement last for 100s of ms (L15)",
            ),
            KERNEL,
        ),
        curves=tuple(curves),
        checks=tuple(checks),
        notes=(
            (
                "Two of seven threads on one core offer it 2/7 of 4.2 cores' work, 1.2 of what it "
                "can do, although six cores are 70 % busy. A scheduler that moved threads at once "
                "would not fail; Linux moves them in 100s of ms."
            ),
        ),
    )


def _checks(app: App, seven: list[float | None], one_each: list[float | None]) -> list[Check]:
    def fits(p99: float | None) -> bool:
        return p99 is not None and p99 <= app.qos_ns

    short = [
        cores for cores, value in zip(CORES, seven, strict=True) if cores < THREADS and fits(value)
    ]
    enough = [cores for cores, value in zip(CORES, one_each, strict=True) if fits(value)]
    return [
        arithmetic(
            what=f"{app.name}: fewer cores than threads violate the target (2/7 of 4.2 > 1)",
            paper="violate",
            ours=f"7 threads meet it on {', '.join(map(str, short))} cores"
            if short
            else "7 threads meet it on 7 cores alone",
            is_right=not short,
        ),
        arithmetic(
            what=f"{app.name}: as many threads as cores do better, down to five cores (4.2 < 5)",
            paper="five cores, close to saturation",
            ours=f"met on {', '.join(map(str, enough))} cores" if enough else "met nowhere",
            is_right=min(enough, default=99) == 5,
        ),
    ]


def _curve(app: App, name: str, p99: list[float | None]) -> Curve:
    return Curve(
        name=name,
        x_label="cores",
        y_label="p99 µs",
        x=tuple(map(float, CORES)),
        y=tuple(None if value is None else value / 1e3 for value in p99),
        group=app.name,
    )


def _p99(result: Result) -> float | None:
    value = result["services"][0]["sojourn_ns"]["p99"]
    return None if value is None else float(value)


def _job(app: App, threads: int, cores: int, share: float) -> dict[str, object]:
    service = {
        "rate": str(LOAD * app.max_rps),
        "service": f"exponential:{app.service_us:.6g}",
        "workers": threads,
        "connections": 100 * threads,
    }
    return {
        "cpus": cores,
        "policy": "cfs",
        "services": [service],
        "allow_overload": True,
        "duration": f"{max(0.5, 2 * share):g}s",
        "warmup": "200ms",
        "in_flight_max": 20_000,
    }


EXPERIMENT = Experiment(
    ids=("C20",), title="threads against cores", label="simulated", seconds=10, run=run
)
