"""Statistics of runs: quantiles, intervals, independence, steady state, trends, queueing."""
