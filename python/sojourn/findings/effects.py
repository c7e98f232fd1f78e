"""What factors do: effects of levels, and trends over ordered levels."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.findings.platform_load import PlatformLoad
from sojourn.stats.interval import Interval

MORE_THAN_SERVED = "that is more load than is served"  # why a number is endless: the queue grew
LOST_OR_GREW = "requests were lost, or the queue grew"  # why a number is infinite in some blocks
INFINITE_IN = "it is infinite in {} of {} blocks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What one level of a factor does to one number, beside another level.

    Attributes:
        what: the number: "p99 at 70 % load", "max RPS", "highest load within QoS".
        is_time: it is a time, of which less is better; else a rate.
        base, level: the two levels, as texts; the ratio is that of `level` to `base`.
        ratio: averaged over the other factors' levels; None if it cannot be told.
        interval: of the ratio, `coverage` of the probability; None if it cannot be told.
        blocks: that it rests on; 0 where it rests on all runs together.
        reason: why there is no interval; "" if there is one.
        doubt: what to keep in mind beside the interval; "" if nothing.
        sentence: the effect in words.
        noise_gate: the ratio up to which it could be equal runs' (A/A); None if that is not known.
        is_noise: it is no more than that.
        endless: 1 where the number is infinite under `level` in every block and not under `base`,
            −1 the other way round. Of how much load fits: 1 where none fits under `base` alone, −1
            where none fits under `level` alone. It is an answer that no ratio has; 0 else.
    """

    what: str
    is_time: bool
    base: str
    level: str
    ratio: float | None
    interval: Interval | None
    coverage: float
    blocks: int
    reason: str
    doubt: str
    sentence: str
    noise_gate: float | None = None
    is_noise: bool = False
    endless: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """How a number goes with a factor whose levels are numbers.

    Attributes:
        what: the number: "p99 at 70 % load", "max RPS".
        kind: flat, cliff, knee, rises, falls, mixed; unclear: no step is sure; unknown: too
            few blocks.
        levels: their texts, lowest first.
        blocks: that it rests on.
        ratio, interval: of the step that is named, or from the lowest level to the highest; None
            where neither is.
        span: from one end to the other, as a ratio, of the widest interval of any level beside the
            lowest, all at once; None where there is none.
        sentence: the same in words.
        between: the two levels of the step that is named; () where none is.
        curve: (ratio, lo, hi) of each level to the lowest, 95 % for all at once; () if unknown.
    """

    what: str
    kind: str
    levels: tuple[str, ...]
    blocks: int
    ratio: float | None
    interval: Interval | None
    sentence: str
    span: float | None = None
    between: tuple[str, ...] = ()
    curve: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """A standard deviation as a share: 0.05 is about 5 %.

    Attributes:
        share: the estimate; None where it is hardly known.
        interval: 95 % of the probability.
    """

    share: float | None
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualMachines:
    """What holds for machines like those that were measured.

    Attributes:
        what: the number, or the effect on it, in words.
        machines, blocks: that it rests on; 0 blocks: each machine has one number.
        value, interval: geometric mean over machines like these, with 95 % of the probability: ns,
            requests/s, or a ratio of two levels; None where that is hardly known.
        another: where the same lies for one more such machine, over all its runs; None as before.
        between: from machine to machine.
        runs: from run to run on one machine; None where it is not known.
        starts, windows: what of `runs` is from start to start, and a window within a run; None
            where that is not known.
        reason: why there is no number; "" if there is one.
        sentence: the same in words.
    """

    what: str
    machines: int
    blocks: int = 0
    value: float | None = None
    interval: Interval | None = None
    another: Interval | None = None
    between: Scatter | None = None
    runs: Scatter | None = None
    starts: Scatter | None = None
    windows: Scatter | None = None
    reason: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorFinding:
    """What a factor does to one service.

    Attributes:
        service: label.
        key, name: of the factor, in the study and for people.
        levels: their texts, in the study's order; the first is what others are compared with.
        effects: number by number, each level beside the first.
        aliases: effects of other factors together that cannot be told from this one.
        sentence: the effects that matter most, in words.
        trends: of three or more levels that are amounts, what they do in order.
        paper: what the papers found of it; "" if nothing.
        asked: names of the numbers that the question is about: tails, means and rates, and no
            medians beside them; () where it is about all.
        equal: of equal machines, what holds for machines like these; () elsewhere.
        platforms: of servers on several machines, the load of each and its cost; () elsewhere.
    """

    service: str
    key: str
    name: str
    levels: tuple[str, ...]
    effects: tuple[Effect, ...]
    aliases: tuple[str, ...]
    sentence: str
    trends: tuple[Trend, ...] = ()
    paper: str = ""
    asked: tuple[str, ...] = ()
    equal: tuple[EqualMachines, ...] = ()
    platforms: tuple[PlatformLoad, ...] = ()
