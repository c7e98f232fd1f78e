"""A probe client: one connection that asks seldom, beside the load (M5).

What the load's own client adds to a sojourn time (batches, a busy poll loop, full connections) the
probe does not share: it is a process of its own with one request at a time. It is Poisson, so it
sees time averages, as the load's requests do (PASTA). Where the two differ by more than chance the
client is in the numbers.

The probe's requests are part of the load that is offered, not on top of it: what it asks is taken
from the others, and two Poisson streams are one. So it is there only where the load is Poisson, and
asks at most a twentieth of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn import units
from sojourn.actors.clients.client import Job
from sojourn.actors.clients.many import POISSON, seed_of
from sojourn.host import Placement
from sojourn.host.tree import cpu_text

AUTO, AUTO_RPS = "auto", 100.0
SHARE_MAX = 0.05  # of the load
REQUESTS_MIN = 20  # in the measured part; fewer have no interval worth a word
NOT_ITS_OWN = (
    "hlog",
    "raw",
    "raw_max",
    "seconds",
    "server_pid",
    "qos_bound",
    "qos_quantile",
    "depth",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """How often it asks, requests/s, and where it runs."""

    rate_rps: float
    cpus: Sequence[int]


def probe_of(asked: str, where: Placement) -> Probe | None:
    """The probe that a study asks for; None: none.

    It belongs on a CPU that is neither the server's nor the client's: beside a client that spins it
    would measure its own wait for the CPU. By `auto` it is there where such a CPU is; by a rate it
    is there in any case, and its own self-checks say whether it can be believed.
    """
    cpus = tuple(c for c in where.housekeeping if c not in {*where.server, *where.client})
    if asked == AUTO:
        return Probe(rate_rps=AUTO_RPS, cpus=cpus) if cpus else None
    rate = units.parse_count(asked)
    return Probe(rate_rps=rate, cpus=cpus or where.client) if rate > 0 else None


def beside(job: Job, probe: Probe | None) -> tuple[Job, Job | None]:
    """The jobs of load and probe that together are `job`; no probe where there can be none."""
    rate = _poisson_rps(job)
    if probe is None or rate is None:
        return job, None
    own = min(probe.rate_rps, SHARE_MAX * rate)
    if own * units.parse_ns(str(job.get("duration", "10s"))) / units.NS_PER_S < REQUESTS_MIN:
        return job, None
    asks = {key: value for key, value in job.items() if key not in NOT_ITS_OWN}
    return {**job, "rate": f"{rate - own:.10g}"}, {
        **asks,
        "rate": f"{own:.10g}",
        "connections": 1,
        "threads": 1,
        "wait": "sleep",
        "cpus": cpu_text(tuple(probe.cpus)),
        "seed": seed_of(int(job.get("seed", 0)), -1),
    }


def _poisson_rps(job: Job) -> float | None:
    """The rate of a job that can be parted; None of any other."""
    if job.get("find_max") or str(job.get("arrivals", POISSON)) != POISSON:
        return None
    if str(job.get("target", "null:")).startswith("null"):
        return None
    try:
        return units.parse_count(str(job.get("rate", "")))
    except ValueError:
        return None
