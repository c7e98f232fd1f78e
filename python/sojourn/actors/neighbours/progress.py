"""The progress channel: units of work per second, from any neighbour that prints such lines.

A neighbour prints JSON lines. The first may say what it can do alone:

    {"unit": "lines", "alone_per_s": 1.2e8, "asked_per_s": 6e7, "per_wait_s": 1.2e8,
     "alone_error_per_s": 2e5, …}

and then, about once a second, what it did since its last one:

    {"unit": "lines", "at_ns": 91…, "length_s": 1.0, "asked_per_s": 6e7, "achieved_per_s": 5.9e7,
     "runq_wait_s": 0.01}

`at_ns` is the end of that second by CLOCK_MONOTONIC. Whatever else a line says is left alone, and
lines that are no JSON are for people. Of a load only the seconds that lie within its measured part
count. Where that is too short to hold one, the second counts that has most of it.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import disk

LOG_BYTES = 64 << 20  # of a log that is read; an hour of seconds has less than one
FIRST_S_MAX = 60.0  # for calibration on a machine that is very busy
LOOK_S = 0.02
ALIKE_MAX = 0.9  # correlation of seconds; more cannot be separated from a trend


@dataclass(frozen=True, slots=True, kw_only=True)
class Second:
    """What one neighbour did in about a second.

    Attributes:
        at_ns: its end, CLOCK_MONOTONIC.
        asked_per_s: None: nothing was asked.
        waited_s: ready to run and without a CPU; None: not told.
    """

    at_ns: int
    length_s: float
    per_s: float
    asked_per_s: float | None = None
    waited_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressFacts:
    """What one neighbour reported.

    Attributes:
        unit: of its progress.
        alone_per_s: its progress flat out, alone; None: it did not say.
        alone_error_per_s: its standard error; None: it did not say.
        per_wait_s: units that a second of waiting for a CPU can cost.
        is_flat_out: it takes what it can get, and holds nothing.
    """

    unit: str
    alone_per_s: float | None = None
    alone_error_per_s: float | None = None
    per_wait_s: float = 0.0
    is_flat_out: bool = True
    seconds: tuple[Second, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What the tasks of a neighbour did together while load ran.

    Attributes:
        per_s: mean progress over the seconds of the load, units/s.
        error_per_s: its standard error, as far as seconds tell; None of one second.
        each_per_s: of every second, all tasks together, units/s.
        alone_error_per_s: standard error of `alone_per_s`; None: not told.
        asked_per_s, alone_per_s: of all tasks together; None: not told.
        waited_share: of the tasks' time, ready to run and without a CPU; None: not told.
        is_flat_out: all tasks take what they can get.
        problem: why it was not the neighbour that was asked for; "" if it was.
    """

    unit: str
    per_s: float
    error_per_s: float | None
    each_per_s: tuple[float, ...]
    asked_per_s: float | None
    alone_per_s: float | None
    alone_error_per_s: float | None
    waited_share: float | None
    is_flat_out: bool = True
    problem: str = ""

    @property
    def of_alone(self) -> float | None:
        """Progress as a share of that alone and flat out (L27, M22)."""
        return self.per_s / self.alone_per_s if self.alone_per_s else None

    @property
    def lost(self) -> float | None:
        """Share of what was asked that was not done: what the service cost its neighbour."""
        return 1 - self.per_s / self.asked_per_s if self.asked_per_s else None

    def as_json(self) -> dict[str, Any]:
        """As it is written in `host.json`."""
        return {
            "unit": self.unit,
            "per_s": self.per_s,
            "error_per_s": self.error_per_s,
            "p5_per_s": quantile(self.each_per_s, 0.05),
            "p95_per_s": quantile(self.each_per_s, 0.95),
            "asked_per_s": self.asked_per_s,
            "alone_per_s": self.alone_per_s,
            "alone_error_per_s": self.alone_error_per_s,
            "of_alone": self.of_alone,
            "lost_share": self.lost,
            "waited_share": self.waited_share,
            "is_flat_out": self.is_flat_out,
            "seconds": len(self.each_per_s),
        }


def quantile(values: Sequence[float], q: float) -> float:
    """The value of that rank, the nearest one (no value between two is made up).

    >>> quantile([3.0, 1.0, 2.0], 0.05), quantile([3.0, 1.0, 2.0], 0.95)
    (1.0, 3.0)
    """
    return sorted(values)[round(q * (len(values) - 1))]


def standard_error(values: Sequence[float]) -> float | None:
    """Of the mean of values in order, of which neighbours may be alike (first-order); None of one.

    >>> standard_error([1.0, 3.0, 1.0, 3.0]), standard_error([5.0])
    (0.5773502691896257, None)
    """
    count = len(values)
    if count < 2:
        return None
    mean = sum(values) / count
    off = [value - mean for value in values]
    square = sum(one * one for one in off)
    if not square:
        return 0.0
    alike = sum(a * b for a, b in itertools.pairwise(off)) / square
    alike = min(max(0.0, alike), ALIKE_MAX)
    return math.sqrt(square / (count - 1) / count * (1 + alike) / (1 - alike))


def read(log: Path) -> ProgressFacts | None:
    """What a neighbour's log says; None if it speaks of no progress."""
    first: Mapping[str, Any] = {}
    seconds = []
    for line in _lines(log):
        if line.get("is_summary") or "unit" not in line:
            continue
        first = first or line
        if "achieved_per_s" in line:
            seconds.append(_second(line))
    return _told(first, seconds) if first else None


def _told(first: Mapping[str, Any], seconds: Sequence[Second]) -> ProgressFacts:
    alone, error = first.get("alone_per_s"), first.get("alone_error_per_s")
    return ProgressFacts(
        unit=str(first["unit"]),
        alone_per_s=None if alone is None else float(alone),
        alone_error_per_s=None if error is None else float(error),
        per_wait_s=float(first.get("per_wait_s") or 0.0),
        is_flat_out=bool(first.get("is_flat_out", "asked_per_s" not in first)),
        seconds=tuple(seconds),
    )


def _lines(log: Path) -> Iterator[Mapping[str, Any]]:
    try:
        every = disk.read_bytes(log, most=LOG_BYTES).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):  # none, or more than any neighbour says of its progress
        return
    for text in every:
        try:
            line = json.loads(text) if text.startswith("{") else None
        except (ValueError, RecursionError):
            continue  # cut short by its end
        if isinstance(line, dict):
            yield line


def _second(line: Mapping[str, Any]) -> Second:
    asked, waited = line.get("asked_per_s"), line.get("runq_wait_s")
    return Second(
        at_ns=int(line.get("at_ns", 0)),
        length_s=float(line.get("length_s", 1.0)),
        per_s=float(line["achieved_per_s"]),
        asked_per_s=None if asked is None else float(asked),
        waited_s=None if waited is None else float(waited),
    )


def within(
    reports: Sequence[ProgressFacts], from_ns: int, to_ns: int, *, tolerance: float
) -> Progress | None:
    """What tasks did together in the seconds that lie within a load.

    What is missing of what was asked because a task waited for a CPU is its loss, which is what is
    to be measured; what is missing beyond that, and beyond the tolerance, means that it was not the
    neighbour that was asked for.

    Args:
        reports: of each task; all have the same unit.
        from_ns: begin of the load's measured part, CLOCK_MONOTONIC.
        to_ns: its end.
        tolerance: share of what was asked that may be missing, or too much.

    Returns:
        None where no second lies within, and none has half of it.
    """
    each = [_seconds_within(one, from_ns, to_ns) for one in reports]
    if not each or not all(each):
        return None
    problems = [_problem(t, s, tolerance) for t, s in zip(reports, each, strict=True)]
    asked = [second.asked_per_s for seconds in each for second in seconds]
    alone = [one.alone_per_s for one in reports]
    errors = [one.alone_error_per_s for one in reports]
    together = tuple(sum(s.per_s for s in at) for at in zip(*each, strict=False))
    waited = [second.waited_s for seconds in each for second in seconds]
    length_s = sum(second.length_s for seconds in each for second in seconds)
    known = [value for value in waited if value is not None]
    return Progress(
        unit=reports[0].unit,
        per_s=sum(_mean(seconds, "per_s") for seconds in each),
        error_per_s=standard_error(together),
        each_per_s=together,
        asked_per_s=None if None in asked else sum(_mean(s, "asked_per_s") for s in each),
        alone_per_s=None if None in alone else sum(value or 0.0 for value in alone),
        alone_error_per_s=None
        if None in errors
        else math.sqrt(sum((value or 0.0) ** 2 for value in errors)),
        waited_share=sum(known) / length_s if len(known) == len(waited) and length_s else None,
        is_flat_out=all(one.is_flat_out for one in reports),
        problem=next((problem for problem in problems if problem), ""),
    )


def _seconds_within(report: ProgressFacts, from_ns: int, to_ns: int) -> list[Second]:
    spans = [(s.at_ns - round(s.length_s * 1e9), s.at_ns, s) for s in report.seconds]
    whole = [s for begin_ns, end_ns, s in spans if begin_ns >= from_ns and end_ns <= to_ns]
    if whole or not spans:
        return whole
    begin_ns, end_ns, most = max(spans, key=lambda s: min(s[1], to_ns) - max(s[0], from_ns))
    shared_ns = min(end_ns, to_ns) - max(begin_ns, from_ns)
    # Of two seconds that part a load the larger has half of it; less says nothing of the load.
    return [most] if 2 * shared_ns >= min(end_ns - begin_ns, to_ns - from_ns) > 0 else []


def _mean(seconds: Sequence[Second], name: str) -> float:
    """Mean of a rate over seconds, each with the weight of its length."""
    whole = sum(second.length_s for second in seconds)
    return sum((getattr(s, name) or 0.0) * s.length_s for s in seconds) / whole


def _problem(report: ProgressFacts, seconds: Sequence[Second], tolerance: float) -> str:
    if report.is_flat_out or any(second.asked_per_s is None for second in seconds):
        return ""
    asked, did = _mean(seconds, "asked_per_s"), _mean(seconds, "per_s")
    share = sum(s.waited_s or 0.0 for s in seconds) / sum(s.length_s for s in seconds)
    if did > asked * (1 + tolerance):
        return f"asked {asked:.4g} {report.unit}/s, did {did:.4g}: more than {tolerance:.0%} above"
    if asked - did > tolerance * asked + report.per_wait_s * share:
        return (
            f"asked {asked:.4g} {report.unit}/s, did {did:.4g}: more than {tolerance:.0%} below, "
            f"and it waited for a CPU for only {share:.1%} of the time"
        )
    return ""


def has_begun(log: Path, until_s: float) -> bool:
    """Wait until a neighbour says what it does, until `until_s` of the monotonic clock at most."""
    while read(log) is None:
        if time.monotonic() >= until_s:
            return False
        time.sleep(LOOK_S)
    return True
