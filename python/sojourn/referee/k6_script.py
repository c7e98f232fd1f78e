"""The rate of a k6 script, if one arrival-rate executor has it as a number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sojourn.disk import foreign
from sojourn.importers.series import Facts
from sojourn.referee.load import Load
from sojourn.referee.options import handshakes, number, span_s

SCRIPT_BYTES = 4 * 1024**2
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_EXECUTOR = re.compile(r"executor\s*:\s*['\"]([a-z-]{1,40})['\"]")
_RATE = re.compile(r"\brate\s*:\s*([\d_]{1,12}(?:\.\d{1,6})?)\s*[,}\n]")
_UNIT = re.compile(r"timeUnit\s*:\s*['\"]([\w.]{1,12})['\"]")
_CONSTANT, _RAMPING = "constant-arrival-rate", "ramping-arrival-rate"
OPEN = {
    "loop": "open, limited",
    "load": "An open loop at a constant rate; an iteration without a free VU is dropped.",
}


def read(words: Sequence[str], facts: Facts) -> Load:
    """The load of `k6 run SCRIPT`."""
    script = next((word for word in reversed(words) if word.endswith((".js", ".ts"))), "")
    closed = Load(tool="k6", facts=facts)
    if not script:
        return replace(closed, notes=("No script is named on the command line of k6.",))
    try:
        text = foreign.read_named(Path(script), most=SCRIPT_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return replace(closed, notes=("The script of k6 cannot be read: give --rate.",))
    return replace(of_text(text, facts), handshakes=handshakes(text))


def of_text(text: str, facts: Facts) -> Load:
    """The same of the script's text.

    A script is a program, so its rate may be anything: what is not written as one plain number is
    not known, and `--rate` says it.
    """
    plain = _COMMENT.sub("", text)
    executors = _EXECUTOR.findall(plain)
    rates, units = _RATE.findall(plain), _UNIT.findall(plain)
    load = Load(tool="k6", facts=facts)
    if _CONSTANT not in executors:
        note = "An arrival rate that ramps is not reconstructed." if _RAMPING in executors else ""
        return replace(load, notes=(note,) if note else ())
    seconds = span_s(units[0]) if units else 1.0
    rate = number(rates[0].replace("_", "")) if len(rates) == 1 else None
    if len(executors) != 1 or rate is None or not seconds or len(units) > 1:
        return replace(load, notes=("The script's rate is not one plain number: give --rate.",))
    return replace(
        load,
        rate_rps=rate / seconds,
        arrivals="paced",
        facts=replace(facts, **OPEN),
        notes=("One request in each iteration is assumed; if there are more, give --rate.",),
    )
