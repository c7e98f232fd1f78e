"""The race: search rules of public tools and ours against queues whose border is known.

Usage: .venv/bin/python bench/race/run.py [--searches 20] [--only RULE] [--queue mm1] [--out DIR]

Each queue has a border that theory or a long simulation gives (`bench/search/truth.py`): the load
at which 1 % of requests miss the bound. Starts of the service differ by 5 % of capacity, as real
ones do. In `modes`, half of them have 85 % of the capacity of the others, and 1 % of the requests
of all starts miss. A rule of another tool keeps one start, because none of them restarts the
service; so it cannot know those 5 %. Ours restarts between runs and pays for it in seconds.

An answer is *too high* if the load that is said to fit is more than 5 % above the border: more than
1 % of the requests would miss. Rows, table and figure go to the folder OUT.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import zlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "search"))
sys.path.insert(0, str(Path(__file__).parent))
import mlr
import table
from rules import RULES, Answer
from searches import one as our_search
from table import OURS
from world import World

from sojourn.analysis.queue import QUEUES, Queue

MLR = "MLRsearch"
RESTART_SD = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One search: loads as shares of the true border; nan: not given."""

    rule: str
    queue: str
    seed: int
    load: float
    lo: float
    hi: float
    seconds: float
    trials: int
    cpu_s: float


def run(job: tuple[str, str, int]) -> Row:
    """One search of a rule on a queue."""
    name, of, seed = job
    queue = next(queue for queue in QUEUES if queue.name == of)
    began_s = time.process_time()
    if name == OURS:
        result = our_search((of, seed, "quick", 0.0))
        return Row(
            rule=name,
            queue=of,
            seed=seed,
            load=result.estimate,
            lo=result.lo,
            hi=result.hi,
            seconds=result.wall_s + result.last_s,
            trials=result.runs,
            cpu_s=time.process_time() - began_s,
        )
    world = started(queue, seed, name)
    answer = mlr.search(world) if name == MLR else driven(name, world)
    truth_rps = queue.border * queue.rate_rps

    def share(rps: float | None) -> float:
        return float("nan") if rps is None else rps / truth_rps

    return Row(
        rule=name,
        queue=of,
        seed=seed,
        load=share(answer.load_rps),
        lo=share(answer.lo_rps),
        hi=share(answer.hi_rps),
        seconds=world.spent_s if answer.spent_s is None else answer.spent_s,
        trials=world.trials,
        cpu_s=time.process_time() - began_s,
    )


def started(queue: Queue, seed: int, name: str) -> World:
    """One start of the service; all rules of a seed see the same capacity."""
    capacity = queue.start(np.random.default_rng([seed, 1]), RESTART_SD)
    draws = np.random.default_rng([seed, 2, zlib.crc32(name.encode())])
    return World(queue=queue, capacity=capacity, rng=draws)


def driven(name: str, world: World) -> Answer:
    """Send a rule the trials that it asks for, until it answers."""
    rule = RULES[name]()
    ask = next(rule)
    while True:
        try:
            ask = rule.send(world.measure(ask))
        except StopIteration as end:
            answer: Answer = end.value
            return answer


def main() -> int:
    """Run, print the table, keep rows, table and figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--searches", type=int, default=20, help="of each rule and queue (20)")
    parser.add_argument("--seed", type=int, default=1, help="of the first search (1)")
    parser.add_argument("--only", default="", help="name of one rule")
    parser.add_argument("--queue", default="", help="name of one queue")
    parser.add_argument("--processes", type=int, default=2, help="at a time (2)")
    parser.add_argument("--out", type=Path, help="folder; default: bench/race/runs/TIME")
    asked = parser.parse_args()
    names = [OURS, *([MLR] if mlr.IS_HERE else []), *RULES]
    if asked.only and asked.only not in names:
        parser.error(f"no rule {asked.only!r}; there are: {', '.join(names)}")
    jobs = [
        (name, queue.name, seed)
        for name in names
        for queue in QUEUES
        for seed in range(asked.seed, asked.seed + asked.searches)
        if asked.only in {"", name} and asked.queue in {"", queue.name}
    ]
    with ProcessPoolExecutor(asked.processes) as pool:
        rows = list(pool.map(run, jobs))
    out = asked.out or Path(__file__).with_name("runs") / f"{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}"
    out.mkdir(parents=True, exist_ok=True)
    with (out / "rows.csv").open("w", newline="") as file:
        lines = csv.DictWriter(file, fieldnames=list(asdict(rows[0])), lineterminator="\n")
        lines.writeheader()
        lines.writerows(asdict(row) for row in rows)
    text = table.text(out / "rows.csv")
    (out / "table.md").write_text(text)
    print(text)
    table.figure(out / "rows.csv", out / "race.png")
    print(f"kept in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
