"""Values of options on a foreign command line, in all ways to write them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

TLS = ("https://", "wss://", "rediss://", "--tls", "sslmode=require", "sslmode=verify")
TLS_HANDSHAKES = 2  # to the ClientHello, and to what ends the handshake
_NUMBER = re.compile(r"(\d+(?:\.\d+)?|\.\d+)([kKmM]?)")
_SCALES = {"": 1.0, "k": 1e3, "m": 1e6}
_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIME = re.compile(r"(\d+(?:\.\d+)?)?(ns|us|µs|ms|s|m|h)")


def value(words: Sequence[str], *names: str) -> str | None:
    """The last value of an option: `-R 5`, `-R5`, `--rate 5`, `--rate=5`; None without it.

    >>> value(["-t2", "-R", "5"], "-R", "--rate"), value(["--rate=7"], "-R", "--rate")
    ('5', '7')
    >>> value(["-q5"], "-q"), value(["-qps", "5"], "-q")
    ('5', None)
    """
    result = None
    for at, word in enumerate(words):
        for name in names:
            if word == name:
                result = words[at + 1] if at + 1 < len(words) else result
            elif word.startswith(f"{name}="):
                result = word[len(name) + 1 :]
            elif _is_short(name) and word.startswith(name) and word[2:3].isdigit():
                result = word[2:]
    return result


def is_set(words: Sequence[str], letter: str, valued: str) -> bool:
    """Whether a short option without a value is set, alone or with others: `-S`, `-nS`.

    Args:
        words: of the command line.
        letter: of the option.
        valued: letters of the options behind which a value follows.

    >>> is_set(["-nS"], "S", "R"), is_set(["-RS"], "S", "R"), is_set(["--S"], "S", "R")
    (True, False, False)
    """
    bundles = [word[1:] for word in words if word.startswith("-") and not word.startswith("--")]
    ends = [next((at for at, one in enumerate(text) if one in valued), None) for text in bundles]
    return any(letter in text[:end] for text, end in zip(bundles, ends, strict=True))


def handshakes(text: str) -> int:
    """How many replies a new connection gets before its first request: those of TLS, in a command.

    >>> handshakes("wrk https://x/"), handshakes("wrk http://x/")
    (2, 0)
    """
    return TLS_HANDSHAKES if any(mark in text for mark in TLS) else 0


def _is_short(name: str) -> bool:
    return len(name) == 2


def number(text: str | None) -> float | None:
    """A positive number such as `2000` or `2k`; None for anything else.

    >>> number("2k"), number("1.5"), number("x"), number("0"), number(None)
    (2000.0, 1.5, None, None, None)
    """
    match = _NUMBER.fullmatch(text or "")
    if not match:
        return None
    result = float(match[1]) * _SCALES[match[2].lower()]
    return result if 0 < result < math.inf else None


def per_second(text: str | None) -> float | None:
    """A rate with a span: `50`, `50/1s`, `3000/m`; None for anything else, and for 0.

    >>> per_second("50"), per_second("3000/1m"), per_second("5/s"), per_second("5/x")
    (50.0, 50.0, 5.0, None)
    """
    count, _, span = (text or "").partition("/")
    seconds = span_s(span) if span else 1.0
    amount = number(count)
    return amount / seconds if amount and seconds else None


def span_s(text: str) -> float | None:
    """A span of time as Go and k6 write it; None for anything else.

    >>> span_s("1m"), span_s("s"), span_s("0s")
    (60.0, 1.0, None)
    """
    match = _TIME.fullmatch(text)
    result = float(match[1] or 1) * _UNITS_S[match[2]] if match else 0.0
    return result or None
