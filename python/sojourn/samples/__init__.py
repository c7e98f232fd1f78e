"""A point's folder → arrays and numbers; checks the contract of every file it reads.

Each name is loaded when it is asked for, because numerics take a quarter of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import late

if TYPE_CHECKING:
    from sojourn.samples.contract import LoadResult, Span, load_result
    from sojourn.samples.dependence import Dependence
    from sojourn.samples.histogram import Histogram, decode
    from sojourn.samples.interval import Interval, intervals
    from sojourn.samples.names import HOSTS
    from sojourn.samples.raw import sojourn_ns as raw_sojourn_ns
    from sojourn.samples.reading import correlation, read, read_point
    from sojourn.samples.versioned import check_version, read_json

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

__getattr__ = late.names(
    __name__,
    {
        "contract": ["LoadResult", "Span", "load_result"],
        "dependence": ["Dependence"],
        "histogram": ["Histogram", "decode"],
        "interval": ["Interval", "intervals"],
        "raw": ["sojourn_ns as raw_sojourn_ns"],
        "names": ["HOSTS"],
        "reading": ["correlation", "read", "read_point"],
        "versioned": ["check_version", "read_json"],
    },
)
