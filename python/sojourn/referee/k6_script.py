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
#: Texts before comments: an address has `//` in it.
_TOKEN = re.compile(
    r"(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|/\*.*?\*/|//[^\n]*", re.DOTALL
)
_EXECUTOR = re.compile(r"executor\s*:\s*['\"]([a-z-]{1,40})['\"]")
_RATE = re.compile(r"\brate\s*:\s*([\d_]{1,12}(?:\.\d{1,6})?)\s*[,}]")
_UNIT = re.compile(r"timeUnit\s*:\s*['\"]([\w.]{1,12})['\"]")
#: All places where these may be set: with quotes, from a variable, in short.
_NAMED = {name: re.compile(rf"(?<![-.\w]){name}\b") for name in ("executor", "timeUnit")}
_NAMED["rate"] = re.compile(r"(?<![-.\w])rate['\"]?\s*[:,}]")
_CALL = re.compile(
    r"\bhttp\s*\.\s*(?:get|post|put|patch|del|head|options|request|asyncRequest|batch)\s*\("
    r"|\.\s*(?:invoke|asyncInvoke)\s*\("
)
_BATCH = re.compile(r"\bhttp\s*\.\s*batch\s*\(")
_CONSTANT, _RAMPING = "constant-arrival-rate", "ramping-arrival-rate"
#: Options that replace the script's scenarios, or take a part of them.
_OVERRIDES = (
    *("--vus", "-u", "--duration", "-d", "--iterations", "-i", "--stage", "-s"),
    *("--execution-segment", "--execution-segment-sequence"),
)
_SCRIPTS = (".js", ".ts")
OPEN = {
    "loop": "open, limited",
    "load": "An open loop at a constant rate; an iteration without a free VU is dropped.",
}


def read(words: Sequence[str], facts: Facts, folder: Path | None = Path()) -> Load:
    """The load of `k6 run SCRIPT`, which lies in `folder`; None: the script is not to be had."""
    scripts = {word for word in words if word.endswith(_SCRIPTS) and not word.startswith("-")}
    closed = Load(tool="k6", facts=facts)
    if len(scripts) != 1:
        what = "No script is" if not scripts else f"{len(scripts)} scripts are"
        return replace(closed, notes=(f"{what} named on the command line of k6.",))
    if folder is None:
        return replace(closed, notes=("The script of k6 lies elsewhere: give --rate.",))
    try:
        raw = foreign.read_named(folder / scripts.pop(), most=SCRIPT_BYTES)
    except (OSError, ValueError):
        return replace(closed, notes=("The script of k6 cannot be read: give --rate.",))
    text = raw.decode("utf-8", "replace")
    load = of_text(text, facts)
    if over := next((word for word in words if _is_override(word)), ""):
        note = f"{over.partition('=')[0]} replaces the scenarios of the script: give --rate."
        load = replace(closed, notes=(note,))
    return replace(load, handshakes=handshakes(text))


def _is_override(word: str) -> bool:
    name = word.partition("=")[0]
    return name in _OVERRIDES or (name[:2] in _OVERRIDES and name[2:3].isdigit())


def of_text(text: str, facts: Facts) -> Load:
    """The same of the script's text.

    A script is a program, so its rate may be anything: what is not written as one plain number is
    not known, and `--rate` says it.
    """
    plain = _TOKEN.sub(lambda match: match[1] or " ", text)
    executors = _EXECUTOR.findall(plain)
    load = Load(tool="k6", facts=facts)
    if _CONSTANT not in plain:
        note = "An arrival rate that ramps is not reconstructed." if _RAMPING in plain else ""
        return replace(load, notes=(note,) if note else ())
    rate = _rate(plain) if len(executors) == 1 else None
    if rate is None:
        return replace(load, notes=("The script's rate is not one plain number: give --rate.",))
    if len(_CALL.findall(plain)) > 1 or _BATCH.search(plain):
        note = "The script has several requests, and its rate is one of iterations: give --rate."
        return replace(load, facts=replace(facts, **OPEN), notes=(note,))
    return replace(
        load,
        rate_rps=rate,
        arrivals="paced",
        facts=replace(facts, **OPEN),
        notes=("One request in each iteration is assumed; if there are more, give --rate.",),
    )


def _rate(plain: str) -> float | None:
    """Iterations per second; None if executor, rate or unit are not each one plain word."""
    rates, units = _RATE.findall(plain), _UNIT.findall(plain)
    counts = {name: len(named.findall(plain)) for name, named in _NAMED.items()}
    if (counts["executor"], counts["rate"], counts["timeUnit"]) != (1, 1, len(units)):
        return None
    seconds = span_s(units[0]) if units else 1.0
    rate = number(rates[0].replace("_", "")) if len(rates) == 1 else None
    return rate / seconds if rate and seconds and len(units) < 2 else None
