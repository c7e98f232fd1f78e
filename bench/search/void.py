"""What the rest of a run says where stops excluded more than half of it (M33).

Usage: .venv/bin/python bench/search/void.py [--runs 6] [--seed 0]

The same requests meet a queue with stops of the client and without. Printed are, for each queue,
share of time stopped and load: the share excluded, the share of the requests left that miss the
bound, and the share of all that miss it without stops. `VOID_LEAST` of the second is to be no more
than the third; beyond `VOID_MAX` the rest says nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys

from sojourn.analysis.queue import QUEUES, Queue
from sojourn.analysis.served import void_shares
from sojourn.samples.excluded import EXCLUDED_MAX

SHARES, LOADS = (0.02, 0.05, 0.1, 0.2), (0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 1.0, 1.03, 1.06, 1.1, 1.2)
LONG = (
    Queue(name="mm1, 20 ms", rate_rps=50_000, bound_s=20e-3, border=0.995),
    Queue(name="1 ms each", rate_rps=1000, bound_s=20e-3, border=0.77),
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=6, help="of each cell (6)")
    parser.add_argument("--seed", type=int, default=0, help="of the first run (0)")
    asked = parser.parse_args()
    seeds = range(asked.seed, asked.seed + asked.runs)
    print("queue         stopped  load  excluded  missed of left  without stops")
    for queue in (*QUEUES, *LONG):
        for stopped in SHARES:
            for load in LOADS:
                cells = [void_shares(queue, stopped, load, seed) for seed in seeds]
                void = [cell for cell in cells if cell and cell[0] > EXCLUDED_MAX]
                if void:
                    means = [statistics.mean(values) for values in zip(*void, strict=True)]
                    print(
                        f"{queue.name:12}  {stopped:7.2f}  {load:4.2f}  "
                        f"{means[0]:8.2f}  {means[1]:14.4f}  {means[2]:13.4f}"
                    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
