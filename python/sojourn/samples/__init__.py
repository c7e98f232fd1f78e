"""A point's folder → arrays and numbers; checks the contract of every file it reads."""

from sojourn.samples.contract import LoadResult, Span, check_version, load_result, read_json
from sojourn.samples.dependence import Dependence
from sojourn.samples.histogram import Histogram, decode
from sojourn.samples.intervals import Interval, intervals
from sojourn.samples.raw import sojourn_ns as raw_sojourn_ns
from sojourn.samples.read import HOSTS, correlation, read, read_point

__all__ = [
    "HOSTS",
    "Dependence",
    "Histogram",
    "Interval",
    "LoadResult",
    "Span",
    "check_version",
    "correlation",
    "decode",
    "intervals",
    "load_result",
    "raw_sojourn_ns",
    "read",
    "read_json",
    "read_point",
]
