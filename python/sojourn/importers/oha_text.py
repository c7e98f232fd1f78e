"""What oha prints on a terminal: percentiles with four digits, counts by status."""

from __future__ import annotations

import re

from sojourn.importers import runs
from sojourn.importers.durations import coarse, digit, finer_s, quantile
from sojourn.importers.file import File, count, fault, is_success, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.oha_facts import FACTS, MIXED, cut_off, reasons
from sojourn.importers.series import Series

_UNITS = {
    "ns": 1.0,
    "us": 1e3,
    "ms": 1e6,
    "sec": 1e9,
    "secs": 1e9,  # until 1.4
    "10 sec": 10e9,
    "min": 60e9,
    "10 min": 600e9,
    "hr": 3600e9,
}
_HEAD = re.compile(r"^Summary:\n  Success rate:", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_NAMED = re.compile(rf"^  (Total|Slowest|Average):\s+(\S+) ({_UNIT})$", re.MULTILINE)
_RATE = re.compile(r"^  Requests/sec:\s+(\S+)$", re.MULTILINE)
_ROW = re.compile(rf"^  (\d{{1,2}}\.\d{{2}})% in (\S+) ({_UNIT})$", re.MULTILINE)
_STATUS = re.compile(r"^  \[(\d{3})\] (\d+) responses$", re.MULTILINE)
_ERROR = re.compile(r"^  \[(\d+)\] (.+)$", re.MULTILINE)
_EVERY = "Response time distribution:\n"
_OWN = "Response time distribution (2xx only):"


def is_it(head: str) -> bool:
    """Whether it looks like what oha printed."""
    plain = _COLOUR.sub("", head)
    return plain.lstrip().startswith("Summary:\n  Success rate:")


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - units are in the text
    """Of each run the replies with status 2xx if oha printed them apart, else all."""
    return runs.each(_COLOUR.sub("", file.text()), file.at, _HEAD, _run)


def _run(text: str, at: str) -> list[Series]:
    body, is_whole, tail = text.partition("\nStatus code distribution:\n")
    replies, _, troubles = tail.partition("\nError distribution:\n")
    named = {name: (value, unit) for name, value, unit in _NAMED.findall(body)}
    rate = _RATE.search(body)
    if not is_whole or not rate or "Total" not in named:
        raise fault("it ends before the counts by status", at, "wait for oha's end, and keep all")
    statuses = {code: count(n, f"[{code}]", at) for code, n in _STATUS.findall(replies)}
    errors = {why: count(n, why[:40], at) for n, why in _ERROR.findall(troubles)}
    all_ = sum(statuses.values())
    bad = sum(n for code, n in statuses.items() if not is_success(code))
    own = body.partition(_OWN)[2]
    over = sum(n for code, n in statuses.items() if code[0] == "2") if own else all_
    # Where no reply is in them, oha prints NaN.
    rows = own or body.partition(_EVERY)[2]
    stated = _stated(rows.partition("\n\n")[0], at) if over else {}
    if over and not own and "Average" in named and (mean := _ns(*named["Average"], "Average", at)):
        stated[None] = mean
    passed = tuple(code for code in statuses if is_success(code))
    total, unit = named["Total"]
    return [
        Series(
            facts=FACTS,
            stated=stated,
            requests=all_ - bad,
            stated_over=over,
            failed=reasons(statuses, errors, passed=passed),
            seconds=finer_s(total, _UNITS[unit], all_ + sum(errors.values()), rate[1], at) or None,
            most_ns=_ns(*named["Slowest"], "Slowest", at)
            if all_ and not bad and "Slowest" in named
            else None,
            notes=((MIXED,) if bad and not own else ())
            + cut_off(errors)
            + coarse("oha", _digits(rows, at)),
        )
    ]


def _stated(rows: str, at: str) -> dict[float | None, float]:
    """Percentiles; one that was rounded to 0 is none."""
    each = {
        quantile(percent.removesuffix("0")): _ns(value, unit, f"{percent}%", at)
        for percent, value, unit in _ROW.findall(rows)
    }
    return {q: ns for q, ns in each.items() if ns}


def _digits(rows: str, at: str) -> list[tuple[float, float]]:
    """Each percentile and what its last digit is worth, ns."""
    return [
        (_ns(value, unit, value, at), digit(value) * _UNITS[unit])
        for _, value, unit in _ROW.findall(rows.partition("\n\n")[0])
        if value[:1].isdigit()
    ]


def _ns(value: str, unit: str, what: str, at: str) -> float:
    return time_ns(value, what, at, unit_ns=_UNITS[unit])


FORMAT = Format(name="oha", about="what oha prints", is_it=is_it, read=read)
