"""TailBench's other services in our own terms."""
