"""Several processes share the load: connections, threads and rate in equal parts.

N independent Poisson streams of rate λ/N are together one Poisson stream of rate λ (superposition),
so the service is offered what one process would have offered it, from N sides. Of no other arrival
process this holds, and others are refused: N streams with fixed gaps, say, have no fixed gaps.

Each process has a seed of its own, drawn from that of the job. CPUs are dealt out; where there are
fewer than processes, several share one, of whom one spins at most (see `turns`).

Source: Kingman, Poisson Processes (1993), section 2.2; Treadmill (ISCA 2016) for several clients.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sojourn import units
from sojourn.actors.clients.client import ClientKind, Job
from sojourn.errors import SpecFault
from sojourn.host.tree import cpu_list, cpu_text
from sojourn.plan import make

POISSON = "poisson"
CONNECTIONS, THREADS = 16, 1  # the generator's own, where a job says nothing
FILES = ("hlog", "raw", "seconds")


def share(job: Job, n: int) -> tuple[Job, ...]:
    """The jobs of `n` processes.

    Raises:
        SpecFault: the load cannot be parted: by its arrivals, its rate, or for want of connections.
    """
    _check(job, n)
    cpus = cpu_list(str(job.get("cpus", "")))
    threads = _parts(max(n, int(job.get("threads", THREADS))), n)
    connections = _parts(int(job.get("connections", CONNECTIONS)), n)
    return tuple(
        {
            **job,
            **_files(job, nth),
            **_rate(job, n),
            "connections": max(connections[nth], threads[nth]),
            "threads": threads[nth],
            "cpus": cpu_text(_cpus(cpus, nth, n)),
            "seed": seed_of(int(job.get("seed", 0)), nth),
            **({"server_pid": 0} if nth and "server_pid" in job else {}),  # one log is enough
            **({"raw_max": -(-int(job["raw_max"]) // n)} if "raw_max" in job else {}),
        }
        for nth in range(n)
    )


def seed_of(seed: int, nth: int) -> int:
    """The seed of one of several generators: 48 bits, never 0; of 0 comes 0, a fresh one."""
    return make.derived(seed, f"client {nth}") if seed else 0


def _check(job: Job, n: int) -> None:
    arrivals = str(job.get("arrivals", POISSON))
    if arrivals != POISSON and not job.get("find_max"):
        raise SpecFault(
            f"{n} clients cannot share {arrivals} arrivals: together they would be others",
            at="load.arrivals",
            fix="use poisson arrivals, because their streams add up, or one client",
        )
    connections = int(job.get("connections", CONNECTIONS))
    if connections < n:
        raise SpecFault(
            f"{n} clients cannot share {connections} connections",
            at="load.connections",
            fix=f"give connections = {n} or more, or fewer clients",
        )


def _rate(job: Job, n: int) -> dict[str, Any]:
    if "rate" not in job or job.get("find_max"):
        return {}
    try:
        return {"rate": f"{units.parse_count(str(job['rate'])) / n:.10g}"}
    except ValueError:
        raise SpecFault(
            f"{n} clients cannot share the rate '{job['rate']}'",
            at="load.rate",
            fix="give a plain rate, such as 50k, or one client",
        ) from None


def _parts(whole: int, n: int) -> tuple[int, ...]:
    """A whole number in n parts that differ by 1 at most.

    >>> _parts(7, 3)
    (3, 2, 2)
    """
    return tuple(whole // n + (nth < whole % n) for nth in range(n))


def _cpus(cpus: tuple[int, ...], nth: int, n: int) -> tuple[int, ...]:
    """CPUs of one process: dealt out in turn, or one of them with others.

    >>> [_cpus((4, 5, 6), nth, 2) for nth in (0, 1)], [_cpus((0,), nth, 2) for nth in (0, 1)]
    ([(4, 6), (5,)], [(0,), (0,)])
    """
    if len(cpus) >= n:
        return cpus[nth::n]
    return (cpus[nth % len(cpus)],) if cpus else ()


def _files(job: Job, nth: int) -> dict[str, str]:
    """Files of its own: `load.hlog` is `load.1.hlog` of the first process."""
    return {key: str(numbered(Path(job[key]), nth)) for key in FILES if job.get(key)}


def numbered(path: Path, nth: int) -> Path:
    """The file of one of several processes beside that of all, counted from 1.

    >>> numbered(Path("a/load.hlog"), 0).as_posix()
    'a/load.1.hlog'
    """
    return path.with_name(f"{path.stem}.{nth + 1}{path.suffix}")


KIND = ClientKind(
    name="many",
    about="several generator processes share connections, threads and rate, from one instant on",
    source="Treadmill (ISCA 2016); superposition of Poisson streams (Kingman 1993, 2.2)",
    share=share,
)
