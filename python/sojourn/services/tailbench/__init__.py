"""TailBench's other services in our own terms: queries that are computed anew to be checked."""
