"""Times with units, times of day, and quantiles, as tools write them."""

from __future__ import annotations

import re
from datetime import datetime

from sojourn.importers.file import fault, time_ns

UNITS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}
_TIME = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")


def duration_ns(text: str, what: str, at: str) -> float:
    """A time such as `1.27ms`."""
    match = _TIME.fullmatch(text.strip())
    if not match:
        raise fault(f"{what} is '{text[:40]}', where a time such as 1.27ms is needed", at)
    return time_ns(match[1], what, at, unit_ns=UNITS[match[2]])


def seconds_of(text: object, at: str) -> float:
    """The time at which a request ended, s."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError):
        raise fault(f"'{str(text)[:40]}' is no time of day", at) from None


def quantile(percent: str) -> float:
    """A quantile from a percentage: `99.9` is 0.999, without the dust of binary fractions.

    >>> quantile("99.9"), quantile("50")
    (0.999, 0.5)
    """
    return round(float(percent) / 100, 9)
