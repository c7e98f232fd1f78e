"""What people type and read: `50k`, `30s`, `1.5ms`, `4KiB`; the same forms as in the native tools.

>>> parse_count("50k"), parse_ns("1.5ms"), parse_bytes("4KiB")
(50000.0, 1500000, 4096)
>>> show_ns(1_314_000), show_count(50_000), show_s(754)
('1.31 ms', '50.0k', '12 min 34 s')
"""

from __future__ import annotations

import math

NS_PER_S = 1_000_000_000
THOUSAND_S = 999.5  # rounded to three digits it would be 1e+03

# Longest unit first where one ends in another, so that "5ms" is not 5m of something.
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_TIMES_NS = {
    "ns": 1.0,
    "us": 1e3,
    "µs": 1e3,
    "ms": 1e6,
    "min": 60e9,
    "m": 60e9,
    "h": 3600e9,
    "s": 1e9,
}
_SIZES = {
    "KiB": 1024.0,
    "MiB": 1024.0**2,
    "GiB": 1024.0**3,
    "kB": 1e3,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "B": 1.0,
}


def parse_count(text: str) -> float:
    """A plain count or rate: `50000`, `50k`, `1.2M`; ValueError with an example otherwise."""
    return _parse(text, _SCALES, bare=1.0, wanted="a number such as 50000, 50k or 1.2M")


def parse_ns(text: str, *, needs_unit: bool = False) -> int:
    """A span of time in ns; a bare number means seconds: `30`, `30s`, `1.5ms`, `2min`.

    With `needs_unit` a bare number is a ValueError: a bound of `500` is hardly 500 s.
    """
    if needs_unit and not text.strip().endswith(tuple(_TIMES_NS)):
        raise ValueError(f"'{text}' has no unit")
    return _not_negative(text, _parse(text, _TIMES_NS, bare=1e9, wanted=_A_TIME), "time")


def parse_bytes(text: str) -> int:
    """A size in bytes; a bare number means bytes: `200`, `4KiB`, `1MB`."""
    wanted = "a size such as 200, 4KiB or 1MB"
    return _not_negative(text, _parse(text, _SIZES, bare=1.0, wanted=wanted), "size")


def show_ns(ns: float, way: int = 0) -> str:
    """Three significant digits and a unit: `412 ns`, `1.31 ms`, `12.0 s`; `inf` stays `inf`.

    Args:
        ns: the time.
        way: −1 rounds down, as "at least" needs; 1 rounds up, as "at most" needs; 0: to nearest.

    >>> show_ns(1_319_000, -1), show_ns(1_311_000, 1)
    ('1.31 ms', '1.32 ms')
    """
    if math.isinf(ns):
        return "inf"
    for limit, scale, unit in ((1e3, 1.0, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if abs(ns) < limit:
            return f"{_three_digits(ns / scale, way)} {unit}"
    return f"{_three_digits(ns / 1e9, way)} s"


def show_count(count: float, way: int = 0) -> str:
    """Three significant digits and a scale: `950`, `50.0k`, `1.20M`; `way` as in `show_ns`."""
    for limit, scale, unit in ((1e3, 1.0, ""), (1e6, 1e3, "k"), (1e9, 1e6, "M")):
        if abs(count) < limit:
            return f"{_three_digits(count / scale, way)}{unit}"
    return f"{_three_digits(count / 1e9, way)}G"


def number_text(number: float) -> str:
    """A number as people write it in quotes; an integer may be too large for a float.

    >>> number_text(250), number_text(0.1), len(number_text(10**400))
    ('250', '0.1', 401)
    """
    return f"{number:d}" if isinstance(number, int) else f"{number:.15g}"


def outward(bound: float, digits: int, way: int) -> float:
    """A bound to so many digits after the point, rounded so that it still holds.

    Args:
        bound: what is rounded.
        digits: after the point.
        way: 1: up, as "at most" needs; −1: down, as "at least" needs.

    >>> outward(1.058, 2, -1), outward(1.051, 2, 1), outward(1.1 * 1.1, 2, 1)
    (1.05, 1.06, 1.21)
    """
    if not math.isfinite(bound):
        return bound
    scaled = round(bound * 10.0**digits, 6)  # what is a hair off is no other number
    return (math.ceil(scaled) if way > 0 else math.floor(scaled)) / 10.0**digits


def show_bytes(size: float) -> str:
    """Three significant digits and a unit: `512 B`, `1.31 MB`, `12.0 GB`.

    >>> show_bytes(512), show_bytes(183_100_000)
    ('512 B', '183 MB')
    """
    for limit, scale, unit in ((1e3, 1.0, "B"), (1e6, 1e3, "kB"), (1e9, 1e6, "MB")):
        if abs(size) < limit:
            return f"{_three_digits(size / scale)} {unit}"
    return f"{_three_digits(size / 1e9)} GB"


def show_length(seconds: float) -> str:
    """A measured length of time: three digits, and whole seconds from a thousand on.

    >>> show_length(0.05), show_length(12.04), show_length(999.9), show_length(7200)
    ('0.05 s', '12 s', '1,000 s', '7,200 s')
    """
    return f"{seconds:.3g} s" if seconds < THOUSAND_S else f"{seconds:,.0f} s"


def show_s(seconds: float) -> str:
    """A length of time for people: `8 s`, `12 min 34 s`, `3 h 20 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


_A_TIME = "a time such as 30s, 1.5ms or 200us"


def _parse(text: str, units: dict[str, float], *, bare: float, wanted: str) -> float:
    trimmed = text.strip()
    unit = next((unit for unit in units if trimmed.endswith(unit)), "")
    digits = trimmed.removesuffix(unit).rstrip() if unit else trimmed
    try:
        number = float(digits) * (units[unit] if unit else bare)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"'{text}' is not {wanted}")
    return number


def _not_negative(text: str, value: float, noun: str) -> int:
    if value < 0:
        raise ValueError(f"'{text}' is a negative {noun}; give 0 or more")
    return round(value)


def _three_digits(value: float, way: int = 0) -> str:
    size, is_whole = abs(value), value == int(value)
    if way:
        value = outward(value, 0 if size >= 100 else 1 if size >= 10 else 2, way)
        size = abs(value)
    digits = 1 if size >= 9.995 else 2
    if size >= 99.95 or (size < 10 and is_whole):
        digits = 0
    return f"{value:.{digits}f}"
