"""Sojourn: a tail-latency lab. `pipeline.py` is the whole program on one screen."""

__version__ = "0.2.0"
