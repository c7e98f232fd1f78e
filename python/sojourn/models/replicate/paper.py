"""Parameters that several experiments take from the papers' text."""

from __future__ import annotations

from sojourn.models.replicate.kind import Parameter

# L8: 1.1 M QPS on 12 cores, so one core serves a request in 10.9 µs on average.
CORES = 12
PEAK_RPS = 1.1e6
SERVICE_US = CORES / PEAK_RPS * 1e6
L_MS = 12.0  # L20: 24 ms / 2

MEMCACHED = Parameter(
    name="memcached's service time",
    value=f"exponential, mean {SERVICE_US:.1f} µs",
    source="L8: 1.1 M QPS on 12 cores; exponential as in the paper's own M/M/1 (L5)",
)
WAVE = Parameter(name="square wave", value="6 ms of CPU time, 42 ms of sleep", source="L18")
LATENCY = Parameter(name="CFS latency", value="24 ms, so L = 12 ms", source="L20")
TEXT = Parameter(
    name="granularities, rules as in the text",
    value="0: whoever is behind runs",
    source="section 3.3 describes no wake-up granularity",
)
KERNEL = Parameter(
    name="granularities, rules as in the kernel",
    value="wake-up 4 ms, minimal 3 ms, tick 4 ms",
    source="Linux 3.5 kernel/sched/fair.c on 8 CPUs or more; the tick is assumed (250 Hz)",
)
# Rules as the paper's text has them, and as the kernel has them.
TEXT_TUNING = {"wakeup_granularity": "0", "min_granularity": "0"}


def seconds(base: float, share: float) -> str:
    """Simulated time, scaled, as the job writes it."""
    return f"{max(1.0, base * share):g}s"
