"""How often forecasts are near and intervals hold, in worlds of known truth.

    python bench/predict/simulated.py --worlds 300 --rulers 4

Each world draws services and a neighbour that takes one or two of five resources. The forecast sees
runs with scatter, as a record has them. The truth is the border without scatter.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from sojourn.foresight import guesses, testing
from sojourn.foresight.forecast import forecast

B = "batch:b"
NEAR = 0.2


def world(seed: int, rulers: int, scatter: float) -> dict[str, float | bool]:
    """One forecast beside its truth."""
    rng = np.random.default_rng(seed)
    truths = [testing.service(f"s{number}", rng) for number in range(rulers + 1)]
    pick = rng.choice(list(testing.TAKES), size=int(rng.integers(1, 3)), replace=False)
    neighbour = {str(name): float(rng.uniform(0.2, 1.0)) / len(pick) for name in pick}
    victims = [testing.victim(one, {B: neighbour}, rng, scatter) for one in truths]
    bound_ns = float(truths[0].tail_ns(0.0, {}) * rng.uniform(4, 20))
    gathered = forecast(victims[0], [(one, B) for one in victims[1:]], B, 0.99, bound_ns=bound_ns)
    truth = truths[0].border_rps(bound_ns, neighbour)
    border = gathered.border_rps
    return {
        "seed": seed,
        "predicted": border.value / truth,
        "lo": border.lo / truth,
        "hi": border.hi / truth,
        **{name: value / truth for name, value in gathered.guesses.items()},
    }


def main() -> None:
    """Print the shares; write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=300)
    parser.add_argument("--rulers", type=int, default=4)
    parser.add_argument("--scatter", type=float, default=0.1, help="of the logarithm of a tail")
    parser.add_argument("--rows", type=Path, help="where to write the rows, JSON")
    of = parser.parse_args()
    rows = [world(seed, of.rulers, of.scatter) for seed in range(of.worlds)]
    for name in ("predicted", *guesses.NAMES):
        ratios = np.array([row[name] for row in rows])
        near = np.mean(np.abs(ratios - 1) <= NEAR)
        middle = np.median(np.abs(ratios - 1))
        print(f"{name:<16} within ±20 %: {near:4.0%}   median error {middle:.1%}")
    held = np.mean([row["lo"] <= 1 <= row["hi"] for row in rows])
    width = np.median([row["hi"] - row["lo"] for row in rows])
    print(f"intervals (90 %) hold the truth in {held:.0%}; median width {width:.0%} of it")
    if of.rows:
        about = {"worlds": of.worlds, "rulers": of.rulers, "scatter": of.scatter}
        table = {"schema": "sojourn.bench.predict.simulated/1", **about, "rows": rows}
        of.rows.write_text(json.dumps(table) + "\n")


if __name__ == "__main__":
    main()
