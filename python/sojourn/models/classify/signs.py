"""Levels and trends of a service's use, as the paper's Table 3 has them, told from samples (P16).

Let u be the share of its CPUs' time that a service with n threads uses at the highest load within
QoS. Work that takes the same CPU time whoever does it comes at a rate of n·u/d for a demand of d
(utilisation law: Denning and Buzen, Computing Surveys 10, 1978), so the load that it carries grows
from 1 to n threads as n^a with

    a = 1 + ln(u_n / u_1) / ln n

*Sharp* is a drop that leaves a below 1/3: eight threads then do no more than twice the work of one,
which two cores could do, and that is what the paper's provider does about it (P12). A drop is not
sharp where a is above 1/2; between the two nothing is said. The same holds of the bytes that are
moved: they grow with work. The paper's arrows for memory (10², 10³, 10⁴) and its text (ten times)
do not agree with each other; any growth above √n is an arrow here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from sojourn.models.classify import evidence
from sojourn.models.classify.evidence import Ends
from sojourn.models.classify.scenario import CPU, MEMORY, NETWORK, READ, WRITE, Scenario
from sojourn.stats.times import Floats

NO_MORE, MORE = 1 / 3, 1 / 2  # exponents below and above which threads do not and do help
LOW, HIGH = 0.20, 0.60  # CPU; 20 % is section 6.1's, the other is ours and decides nothing
FLAT = 1.25  # a trend within this factor
NEGLIGIBLE = 1e6  # bytes/s of disk and network, sections 6.3 and 6.4
STREAMING = 1e8  # bytes/s of network; ours: a tenth of media-streaming's peaks (6.4)
USED_UP = 0.8  # of what it can take, by three quarters of the samples, as in a report
READER = 0.8  # share of bytes that are read, section 7.4
MOST = 0.5  # of the samples: "during most of the execution time", section 6.3


class Level(StrEnum):
    """How much of a resource is used with one thread."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    UNKNOWN = "unknown"


class Trend(StrEnum):
    """What becomes of it with more threads."""

    SHARP = "falls sharply"
    FALLS = "falls"
    FLAT = "stays"
    RISES = "rises"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One number that was looked at.

    Attributes:
        what: in words.
        ends: the number, in `unit`; None: it could not be seen, and `reads` says why.
        unit: "share", "bytes/s", or "times".
        reads: what it is taken for.
        source: where the rule is in the paper; "ours" where it does not.
    """

    what: str
    ends: Ends | None
    unit: str
    reads: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """A row of the paper's Table 3, of any service.

    Attributes:
        cpu, cpu_trend: with one thread; from there to the most threads.
        cpu_top: with the most threads.
        memory_trend: of memory bandwidth.
        memory: HIGH: used up; else not told.
        network, disk: with the most threads, where they are greatest.
        is_reader: of disk bytes, at least four fifths are read; None: not known.
        readings: the numbers behind them.
    """

    cpu: Level = Level.UNKNOWN
    cpu_trend: Trend = Trend.UNKNOWN
    cpu_top: Level = Level.UNKNOWN
    memory_trend: Trend = Trend.UNKNOWN
    memory: Level = Level.UNKNOWN
    network: Level = Level.UNKNOWN
    disk: Level = Level.UNKNOWN
    is_reader: bool | None = None
    readings: tuple[Reading, ...] = ()


def of(first: Scenario, last: Scenario | None) -> Signs:
    """The signs of a service.

    Args:
        first: with the fewest threads.
        last: with the most; None: only one scenario was measured, and no trend is seen.
    """
    signs = _cpu(Signs(), first, "cpu")
    if last is not None:
        signs = _cpu(signs, last, "cpu_top")
        signs = _memory_trend(_cpu_trend(signs, first, last), first, last)
    top = last or first
    return _disk(_network(_memory(signs, top), top), top)


def _read(signs: Signs, reading: Reading, **report: Level | Trend | bool) -> Signs:
    """The same with one more sign, and the number behind it."""
    return replace(signs, readings=(*signs.readings, reading), **report)  # type: ignore[arg-type]


def _cpu(signs: Signs, at: Scenario, name: str) -> Signs:
    ends = _mean(at, CPU)
    level = Level.UNKNOWN
    if ends and ends.is_below(LOW):
        level = Level.LOW
    elif ends and ends.is_above(LOW):
        level = Level.HIGH if ends.value >= HIGH else Level.MEDIUM
    reading = _reading(f"CPU use, {at.name}", ends, "share", level, "P14, section 6.1")
    return _read(signs, reading, **{name: level})


def _cpu_trend(signs: Signs, first: Scenario, last: Scenario) -> Signs:
    grown, power = _grown(first, last, CPU)
    work = power.plus(1) if power else None  # of n threads together, not of each
    trend = Trend.UNKNOWN
    if grown is None or work is None or not grown.is_bounded:
        trend = Trend.UNKNOWN
    elif work.is_below(NO_MORE):
        trend = Trend.SHARP
    elif grown.is_above(1 / FLAT) and grown.is_below(FLAT) and work.is_above(MORE):
        trend = Trend.FLAT
    elif grown.is_above(1):
        trend = Trend.RISES
    elif grown.is_below(1) and work.is_above(MORE):
        trend = Trend.FALLS
    what = f"CPU use, {first.name} → {last.name}"
    return _read(signs, _reading(what, grown, "times", trend, "P14, P16"), cpu_trend=trend)


def _memory_trend(signs: Signs, first: Scenario, last: Scenario) -> Signs:
    grown, moved = _grown(first, last, MEMORY)
    trend = Trend.UNKNOWN
    if moved and moved.is_above(MORE):
        trend = Trend.RISES
    elif moved and moved.is_below(NO_MORE):
        trend = Trend.FLAT
    why = last.unseen.get(MEMORY) or first.unseen.get(MEMORY)
    reading = _reading(
        f"memory bandwidth, {first.name} → {last.name}",
        grown,
        "times",
        why if grown is None and why else trend,
        "P16",
    )
    return _read(signs, reading, memory_trend=trend)


def _memory(signs: Signs, at: Scenario) -> Signs:
    used = _is_used_up(at, MEMORY)
    if used is None:
        return signs
    word, level = ("used up", Level.HIGH) if used else ("not used up", Level.UNKNOWN)
    what = f"memory bandwidth, {at.name}"
    reading = _reading(what, _mean(at, MEMORY), "bytes/s", word, "P19, section 7.3")
    return _read(signs, reading, memory=level)


def _network(signs: Signs, at: Scenario) -> Signs:
    ends = _mean(at, NETWORK)
    level = Level.UNKNOWN
    if ends and (ends.is_above(STREAMING) or _is_used_up(at, NETWORK)):
        level = Level.HIGH
    elif ends and ends.is_below(NEGLIGIBLE):
        level = Level.LOW
    elif ends and ends.is_below(STREAMING):
        level = Level.MEDIUM
    why = at.unseen.get(NETWORK, level) if ends is None else level
    reading = _reading(f"network, sent, {at.name}", ends, "bytes/s", why, "P15, section 6.4")
    return _read(signs, reading, network=level)


def _disk(signs: Signs, at: Scenario) -> Signs:
    """Its level, and whether it reads; peaks do not count, what it does most of the time does."""
    reads, writes = _runs(at, READ), _runs(at, WRITE)
    what = f"samples with disk traffic above 1 MB/s, {at.name}"
    if not reads or not writes:
        why = at.unseen.get(READ) or at.unseen.get(WRITE) or Level.UNKNOWN
        return _read(signs, _reading(what, None, "share", why, "P15, section 6.3"))
    whole = [read + write for read, write in zip(reads, writes, strict=True)]
    busy = evidence.share_above(whole, NEGLIGIBLE)
    level = Level.UNKNOWN
    if _is_used_up(at, READ) or _is_used_up(at, WRITE):
        level = Level.HIGH
    elif busy and busy.is_above(MOST):
        level = Level.MEDIUM
    elif busy and busy.is_below(MOST):
        level = Level.LOW
    signs = _read(signs, _reading(what, busy, "share", level, "P15, section 6.3"), disk=level)
    return _reader(signs, reads, whole, at) if level in {Level.MEDIUM, Level.HIGH} else signs


def _reader(signs: Signs, reads: Sequence[Floats], whole: Sequence[Floats], at: Scenario) -> Signs:
    total = sum(float(run.sum()) for run in whole)
    share = sum(float(run.sum()) for run in reads) / total if total else 0.0
    is_reader = share >= READER
    reading = _reading(
        f"disk bytes that are read, {at.name}",
        Ends(value=share, lo=share, hi=share),
        "share",
        "reads" if is_reader else "writes",
        "P20, section 7.4",
    )
    return _read(signs, reading, is_reader=is_reader)


def _grown(first: Scenario, last: Scenario, name: str) -> tuple[Ends | None, Ends | None]:
    """How many times as much is used with the most threads, and the exponent of that."""
    both = (evidence.mean(_runs(at, name)) for at in (first, last))
    grown = evidence.ratio(*both)
    return grown, evidence.exponent(grown, last.threads / first.threads)


def _mean(at: Scenario, name: str) -> Ends | None:
    result = evidence.mean(_runs(at, name))
    return result.ends if result else None


def _is_used_up(at: Scenario, name: str) -> bool | None:
    """Whether three quarters of the samples are above four fifths; None: no one knows of what."""
    runs, most = _runs(at, name), at.capacity.get(name)
    if not runs or not most:
        return None
    ends = evidence.share_above(runs, USED_UP * most)
    return bool(ends and ends.value >= 0.75)


def _runs(at: Scenario, name: str) -> Sequence[Floats]:
    return [run for run in at.series.get(name, ()) if len(run)]


def _reading(what: str, ends: Ends | None, unit: str, reads: str, source: str) -> Reading:
    if ends is not None and not ends.is_bounded:
        reads = "too few samples for an interval"
    return Reading(what=what, ends=ends, unit=unit, reads=str(reads), source=source)
