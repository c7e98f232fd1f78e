"""MLRsearch (FD.io) by its own library: a request above the bound counts as a lost packet.

`pip install MLRsearch` (Apache-2.0); the race leaves the row out where it is missing. The goal is a
loss ratio of 1 %; all else is the library's default: trials of 1 s, 21 s a bound, width 0.5 %.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from rules import Answer
from world import Ask, Client, World

IS_HERE = importlib.util.find_spec("MLRsearch") is not None
MIN_RPS, MAX_RPS = 1000.0, 200_000.0


def search(world: World) -> Answer:
    """One search; the load is the conditional throughput, its interval the two relevant bounds."""
    import MLRsearch as mlr  # noqa: N813, PLC0415  # need not be installed

    class Measurer(mlr.AbstractMeasurer):  # type: ignore[misc, unused-ignore]
        def measure(self, intended_duration: float, intended_load: float) -> Any:
            seen = world.measure(
                Ask(client=Client.POISSON, load=intended_load, seconds=intended_duration)
            )
            return mlr.MeasurementResult(
                intended_duration=intended_duration,
                intended_load=intended_load,
                offered_count=len(seen.latencies),
                loss_count=seen.over,
                # The library ends a search by the clock; a simulated trial takes no time.
                duration_with_overheads=intended_duration,
            )

    config = mlr.Config()
    config.goals = [mlr.SearchGoal(loss_ratio=0.01, fail_fast=False)]
    config.min_load, config.max_load = MIN_RPS, MAX_RPS
    result = mlr.MultipleLossRatioSearch(config=config).search(Measurer(), debug=lambda _: None)
    (bounds,) = result.values()
    load = bounds.conditional_throughput
    lo, hi = bounds.relevant_lower_bound, bounds.relevant_upper_bound
    return Answer(
        load_rps=float(load) if load else 0.0,
        lo_rps=float(lo) if lo else None,
        hi_rps=float(hi) if hi else None,
    )
