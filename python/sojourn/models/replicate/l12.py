"""L12, L13: at peak nearly all latency is queueing, half in epoll and half behind the batch."""

from __future__ import annotations

from sojourn.models.replicate.kind import (
    Check,
    Curve,
    Experiment,
    Parameter,
    Replica,
    arithmetic,
    within,
)
from sojourn.models.simulator import Result, Simulator

# Table 1, µs of work per request: RX + TCP/IP + Read + memcached + Write, loaded and beside L3.
LOADED_US, INTERFERED_US = 1 + 4 + 5 + 2 + 4, 1 + 4 + 7 + 4 + 5  # the second: L14
LOADED, INTERFERED = 3074 / 2778, 4545 / 3780  # Table 1: libevent over epoll
OFF = 0.05  # the two columns differ by 9 %: half of that either way is no difference
LOADS = (0.5, 0.7, 0.9, 0.95, 0.99, 0.997)


def run(simulator: Simulator, share: float) -> Replica:
    """Simulate one worker's event loop up to near its peak."""
    loaded = _sweep(simulator, LOADED_US, share)
    epoll, dispatch = (
        tuple(r[key] / 1e3 for r in loaded) for key in ("epoll_ns_mean", "dispatch_ns_mean")
    )
    means = [r["sojourn_ns"]["mean"] / 1e3 for r in loaded]
    waiting = [(e + d) / m for e, d, m in zip(epoll, dispatch, means, strict=True)]
    return Replica(
        id="L12",
        title="Where the time goes in an event loop under load (Table 1)",
        label="simulated",
        parameters=(
            Parameter(
                name="work per request",
                value=f"{LOADED_US} µs, exponential",
                source="L12, column Loaded; the distribution is assumed",
            ),
            Parameter(name="connections", value="100 on one worker", source="METHOD M4"),
        ),
        curves=(
            Curve(name="epoll", x_label="load", y_label="µs", x=LOADS, y=epoll),
            Curve(name="libevent (dispatch)", x_label="load", y_label="µs", x=LOADS, y=dispatch),
        ),
        checks=(
            arithmetic(
                what="share of waiting in the total at peak: near full, all is waiting",
                paper=f"{(2778 + 3074) / 5872:.1%}",
                ours=f"{waiting[-1]:.1%} at load {LOADS[-1]:g}",
                is_right=waiting[-1] > 0.98,
            ),
            balance(dispatch[-1] / epoll[-1]),
        ),
        notes=(
            (
                "A batch as long as the last gives a ratio of 1: half of it is left on arrival, "
                "half of the next one comes first. More needs batches that grow, or clients that "
                "send together; the paper does not say which."
            ),
            (
                "Latency at peak depends on how many requests the clients keep in flight, which "
                "the paper does not state: only shares are compared."
            ),
        ),
    )


def balance(ratio: float) -> Check:
    """The second statement, of the waiting behind the batch over that for the loop to be back."""
    return within(
        ratio,
        *(round(edge, 2) for edge in (LOADED * (1 - OFF), INTERFERED * (1 + OFF))),
        what="libevent over epoll at peak",
        paper=f"{LOADED:.2f} (loaded), {INTERFERED:.2f} (L3)",
        ours=f"{ratio:.2f}",
    )


def _sweep(simulator: Simulator, service_us: float, share: float) -> list[Result]:
    job = {
        "service": f"exponential:{service_us}",
        "unit": "us",
        "discipline": "epoll:100,0,0",
        "requests": str(int(4e6 * share)),
    }
    jobs = [{**job, "rate": str(load / service_us * 1e6)} for load in LOADS]
    return simulator.runs("queue", jobs)


EXPERIMENT = Experiment(
    ids=("L12", "L13"), title="event loop under load", label="simulated", seconds=10, run=run
)
