"""Times with units, times of day, and quantiles, as tools write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from sojourn.importers.file import fault, number, time_ns
from sojourn.units import show_ns

DIGIT_MOST = 0.02  # of a time, which its last digit may be worth: a rounding of 1 %
UNITS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}
_TIME = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")


def duration_ns(text: str, what: str, at: str) -> float:
    """A time such as `1.27ms`."""
    value, unit_ns = _parted(text, what, at)
    return time_ns(value, what, at, unit_ns=unit_ns)


def digit_ns(text: str, what: str, at: str) -> float:
    """What the last digit of such a time is worth."""
    value, unit_ns = _parted(text, what, at)
    return digit(value) * unit_ns


def _parted(text: str, what: str, at: str) -> tuple[str, float]:
    """The number of such a time, and its unit, ns."""
    match = _TIME.fullmatch(text.strip())
    if not match:
        raise fault(f"{what} is '{text[:40]}', where a time such as 1.27ms is needed", at)
    return match[1], UNITS[match[2]]


def length_s(text: str, requests: int, rate: str, at: str) -> float:
    """Length of a run, s, of a time such as `10.01s` and the rate beside it; see `finer_s`."""
    value, unit_ns = _parted(text, "length", at)
    return finer_s(value, unit_ns, requests, rate, at)


def finer_s(value: str, unit_ns: float, requests: int, rate: str, at: str) -> float:
    """Length of a run, s, of two printed numbers: by the one that is rounded less.

    Where they differ by more than their rounding, the rate has it: the tool divided by other
    seconds than it printed, such as those after its warm-up.

    Args:
        value: the length as printed.
        unit_ns: of the length.
        requests: that the tool counted in its rate.
        rate: requests/s as printed.
        at: the file, for a message.
    """
    printed_s = time_ns(value, "length", at, unit_ns=unit_ns) / 1e9
    rps = number(rate, "requests/s", at)
    if not requests or not rps:
        return printed_s
    by_rate_s = requests / rps
    step_s, by_rate_step_s = digit(value) * unit_ns / 1e9, digit(rate) / rps * by_rate_s
    is_other = abs(by_rate_s - printed_s) > step_s + by_rate_step_s
    return by_rate_s if is_other or by_rate_step_s < step_s else printed_s


def digit(text: str) -> float:
    """What the last printed digit of a number is worth.

    >>> digit("611.39"), digit("3")
    (0.01, 1.0)
    """
    return 10.0 ** -len(text.partition(".")[2])


def coarse(tool: str, each: Iterable[tuple[float, float]]) -> tuple[str, ...]:
    """A note on times that were printed with few digits, if there are any.

    Args:
        tool: that printed them.
        each: a time and what its last digit is worth, ns.
    """
    steps = [step for ns, step in each if step > DIGIT_MOST * ns]
    if not steps:
        return ()
    step = show_ns(max(steps))
    return (f"{tool} printed times in steps of {step}, so short ones have few digits, or none.",)


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
