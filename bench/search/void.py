"""What the rest of a run says where stops excluded more than half of it (M33).

Usage: .venv/bin/python bench/search/void.py [--runs 6]

The same requests meet a queue with stops of the client and without. Printed are, for each queue,
share of time stopped and load: the share excluded, the share of the kept requests that miss the
bound, and the share of all requests that miss it without stops. `VOID_LEAST` of the first is to be
no more than the second, `VOID_MAX` is where the rest says nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys

import numpy as np

from sojourn.analysis.served import QUEUES, Queue, Stops

SHARES, LOADS = (0.02, 0.05, 0.1, 0.2), (0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 1.0, 1.03, 1.06, 1.1, 1.2)
SECONDS, WARMUP_S = 2.3, 0.3
LONG = (
    Queue(name="mm1, 20 ms", rate_rps=50_000, bound_s=20e-3, border=0.995),
    Queue(name="1 ms each", rate_rps=1000, bound_s=20e-3, border=0.77),
)


def one(queue: Queue, stopped: float, load: float, seed: int) -> tuple[float, float, float] | None:
    """(excluded, missed of the kept, missed without stops); None where fewer than 50 are kept."""
    rng = np.random.default_rng([seed, 7])
    stops = Stops.drawn(stopped, 2 * SECONDS, np.random.default_rng([seed, 9]))
    at = np.sort(rng.random(rng.poisson(load * queue.rate_rps * SECONDS)) * SECONDS)
    state = rng.bit_generator.state
    beside = queue.sojourn(at, SECONDS, rng, stops=stops)
    rng.bit_generator.state = state
    alone = queue.sojourn(at, SECONDS, rng)
    counts = at >= WARMUP_S
    p99_s = float(np.quantile(beside[counts], 0.99))
    kept = counts & ~stops.reach(at, load, p99_s)
    if kept.sum() < 50:
        return None
    missed = [float((times > queue.bound_s).mean()) for times in (beside[kept], alone[counts])]
    return 1 - float(kept.sum() / counts.sum()), missed[0], missed[1]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=6, help="of each cell (6)")
    runs = parser.parse_args().runs
    print("queue         stopped  load  excluded  missed of kept  without stops")
    for queue in (*QUEUES, *LONG):
        for stopped in SHARES:
            for load in LOADS:
                cells = [one(queue, stopped, load, seed) for seed in range(runs)]
                void = [cell for cell in cells if cell and cell[0] > 0.5]
                if void:
                    means = [statistics.mean(values) for values in zip(*void, strict=True)]
                    print(
                        f"{queue.name:12}  {stopped:7.2f}  {load:4.2f}  "
                        f"{means[0]:8.2f}  {means[1]:14.4f}  {means[2]:13.4f}"
                    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
