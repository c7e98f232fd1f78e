"""What a study found: everything the report shows, and nothing it has to compute.

All times are float ns; `math.inf` where requests that never completed decide the quantile; None
where a number is refused, with the reason beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from sojourn.findings.point_row import PointRow
from sojourn.findings.resource_use import ResourceUse
from sojourn.findings.section import Section
from sojourn.plan.left_out import LeftOut
from sojourn.plan.points import Verdict
from sojourn.stats.interval import Estimate, Interval

S = TypeVar("S", bound=Section)
ANSWERED, IN_PART, UNDECIDED = "answered", "answered in part", "undecided"  # states of a study


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a point: a dot in every figure.

    Attributes:
        quantiles: (q, ns) pairs; ns None if refused.
        sample: the same of its own requests, however much they depend on each other: what is
            compared with other runs, and says nothing alone. None if fewer than two lie above.
        verdict: `unknown` also where the run is believed but too short to decide.
        series: per second: (s since start, achieved requests/s, p50 ns, p99 ns).
        is_believed: its self-checks passed, so its numbers stand, whatever the verdict.
        lateness_ns: (q, ns) pairs of what the client can have added, as in `Estimate`; q None is
            the mean. Only where it is more than little.
        grows: its queue grew from the first eighth to the last (M8): its times have no level.
        cpu_ns: CPU time of the server for each completed request, ns; None: not counted.
    """

    key: str
    repeat: int
    offered_rps: float
    fraction: float | None
    achieved_rps: float
    mean_ns: float | None
    quantiles: tuple[tuple[float, float | None], ...]
    verdict: Verdict
    reasons: tuple[str, ...]
    timely_ratio: float | None
    outage_share: float | None
    excluded_share: float | None
    steal_share: float | None
    send_lag_p99_ns: float | None
    pick_up_p99_ns: float | None
    errors: tuple[tuple[str, int], ...]
    series: tuple[tuple[float, float, float | None, float | None], ...] = ()
    is_believed: bool = True
    sample: tuple[tuple[float, float | None], ...] = ()
    lateness_ns: tuple[tuple[float | None, float], ...] = ()
    grows: bool = False
    cpu_ns: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPoint:
    """All runs at one load together.

    Attributes:
        verdict: `unknown` if no run at this load can be believed, or if those that can do not
            decide; `is_believed` tells which, and `reasons` why.
        mean, quantiles: over the valid runs' merged histograms.
        is_bimodal: the restarts fall into two groups (M15).
        is_steady: no trend within the runs (M8).
        is_overloaded: none has a level, and in two or more the queue grew: it is more load than is
            served.
        distribution: (share of requests at or below, ns), for the full distribution figure.
        undisturbed: the target's quantile, or p99, of the requests that no stop of the server's
            CPUs reached (M29); None where nobody watched, or nearly all were undisturbed.
        disturbed_share: of the requests, those that such a stop reached, 0 to 1.
    """

    fraction: float
    offered_rps: float
    achieved_rps: float
    verdict: Verdict
    reasons: tuple[str, ...]
    mean: Estimate
    quantiles: tuple[Estimate, ...]
    is_bimodal: bool
    is_steady: bool
    distribution: tuple[tuple[float, float], ...]
    runs: tuple[Run, ...]
    is_believed: bool = True
    undisturbed: Estimate | None = None
    disturbed_share: float = 0.0
    is_overloaded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A curve to draw: load as a fraction of max RPS against ns.

    Attributes:
        name: "lowess p99", "M/M/1 mean", …
        about: how it was made, with its source.
    """

    name: str
    about: str
    fraction: tuple[float, ...]
    value_ns: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Qos:
    """The target: quantile, bound, and where the bound comes from (given, or LQoS of P8)."""

    q: float
    bound_ns: float
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """How much load fits: a number and its interval, always.

    Attributes:
        estimate_rps: median of what the runs allow, requests/s; the known end where one is open.
        interval_rps: `level` of the probability lies in it. `lo` 0: nothing was seen to hold ("at
            most"); `hi` infinite: nothing was seen to fail ("at least").
        level: 0.9 is a 90 % interval.
        fraction: the interval as shares of max RPS; None without a load axis.
        runs, starts, measured_s: what it rests on: runs, starts of the service, s of load.
        curve: (offered requests/s, probability that this load meets the target), ascending.
    """

    estimate_rps: float
    interval_rps: Interval
    level: float
    fraction: Interval | None
    runs: int
    starts: int
    measured_s: float
    curve: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """The one command that would settle what is still open.

    Attributes:
        command: to be typed as it stands.
        seconds: how long it takes.
        why: what it would settle, in half a sentence.
    """

    command: str
    seconds: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How far a study has answered its own question (M37).

    Attributes:
        word: `ANSWERED`, `IN_PART` or `UNDECIDED`.
        done: how many of `of` are decided; unit: what is counted, plural: "cells", "effects".
        settle: the one command that would decide the rest; None where nothing is open, or where
            nothing was measured.
    """

    done: int
    of: int
    unit: str
    settle: Settle | None = None
    word: str = field(init=False)

    def __post_init__(self) -> None:
        """The word follows from the numbers."""
        word = UNDECIDED
        if self.done:
            word = ANSWERED if self.done == self.of else IN_PART
        object.__setattr__(self, "word", word)

    @property
    def text(self) -> str:
        """The same with numbers, where a part is open.

        >>> State(done=47, of=49, unit="cells").text, State(done=2, of=2, unit="services").text
        ('answered in part (47 of 49 cells)', 'answered')
        """
        if self.word == ANSWERED or not self.of:
            return self.word
        return f"{self.word} ({self.done} of {self.of} {self.unit})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """The same service as the machine schedules it, without the shield (M32).

    Attributes:
        border: how much load fits then; None where no run without the shield can be believed.
        quantile_ns: (with the shield, without it) at the found load, medians of runs that took
            turns; None where one of them has no number.
        at_rps: the load at which they took turns.
        pairs: how many pairs.
        culprits: who ran on the server's CPUs meanwhile, the most time first.
    """

    border: Border | None
    quantile_ns: tuple[float, float] | None
    at_rps: float
    pairs: int
    culprits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxLoad(Section):
    """The highest load that meets the QoS target (M18, M28).

    Attributes:
        verdict: `holds` if the interval is narrow enough to decide by, `violated` if no load meets
            the target, else `unknown`, beside the numbers.
        border: how much load fits, as experienced; None only if not one run can be believed.
        probes: (offered requests/s, what that run alone saw: "pass" | "fail" | "unknown").
        wall_s: time the search took, the last runs included, s.
        undisturbed: the same without the windows that an independent log of the server's CPUs
            marks; None where nothing was marked or it says the same (M29).
        scheduled: the same without the shield; None where there was none.
        shield: what kept the server's CPUs for the server: "priority", "move", "none", or why not.
        stall_s: stalls rarer than one in this many seconds cannot be excluded.
        settle: what would make the interval narrow; None if it is.
    """

    verdict: Verdict
    border: Border | None
    probes: tuple[tuple[float, str], ...]
    wall_s: float
    undisturbed: Border | None = None
    scheduled: Scheduled | None = None
    shield: str = ""
    stall_s: float | None = None
    settle: Settle | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRow:
    """One run's client against the probe client beside it (M5).

    Attributes:
        key: of the run's point.
        q: quantile that both can bound; None: nothing was compared.
        probe, load: what each saw.
        why: nothing was compared.
    """

    key: str
    fraction: float
    q: float | None
    probe: Estimate | None = None
    load: Estimate | None = None
    why: str = ""

    @property
    def is_apart(self) -> bool:
        """Whether the intervals of the two lie apart: the client is in the numbers."""
        own, others = (one and one.interval for one in (self.probe, self.load))
        return bool(own and others and (own.lo > others.hi or others.lo > own.hi))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFloor:
    """What two runs of the same setting differ by (A/A, M16).

    Attributes:
        q: quantile that was compared.
        sigma: standard deviation of the logarithm of their ratio.
        interval: of `sigma`, 95 %.
        gate: ratios whose logarithm is smaller than this cannot be told from noise, at 5 %.
        pairs: (load as a share of max RPS, ns, ns of its twin).
    """

    q: float
    sigma: float
    interval: Interval
    gate: float
    pairs: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a neighbour kept of its pace alone, beside a service at one load (L27, M22).

    Attributes:
        neighbour: as the study has it: "batch:xz".
        fraction: the load, as a share of max RPS.
        called: the neighbour, to people: "xz".
        unit: of its progress.
        share: of its pace alone, at what it was asked for; None: not known, see `reason`.
        interval: of the share, 95 %; None where it cannot be told, see `reason`.
        is_across_runs: the interval is that over runs; else that of the seconds within them.
        per_s: its pace beside the service, units/s, mean over runs.
        asked_per_s: what it was asked for, mean over runs; None: as much as it can get.
        alone_per_s, alone_interval: its pace alone and flat out, measured as it entered each run.
        runs: that are believed, on which it rests.
        core_share: share that the server had of the CPUs of both; 1: they shared one.
        reason: why something is not known; "" if all is.
    """

    neighbour: str
    fraction: float
    called: str = ""
    unit: str = ""
    share: float | None = None
    interval: Interval | None = None
    is_across_runs: bool = False
    per_s: float | None = None
    asked_per_s: float | None = None
    alone_per_s: float | None = None
    alone_interval: Interval | None = None
    runs: int = 0
    core_share: float = 1.0
    reason: str = ""

    @property
    def most(self) -> float:
        """What it was asked for, as a share of its pace alone; 1: as much as it can get."""
        if not self.asked_per_s or not self.alone_per_s:
            return 1.0
        return min(self.asked_per_s, self.alone_per_s) / self.alone_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFinding:
    """All about one service of the study: what is common, and what each question found.

    Attributes:
        service: its label; under factors with the levels, `memcached, threads = 2`.
        label, levels: the same apart: (factor, level) pairs; () without factors.
        max_rps_rule: M19's definition in use: `achieved_peak`, `no_drop` or `qos`; for the null
            service `highest_asked`.
        crossing: fraction at which the curve of the QoS quantile crosses the bound; None if it
            does not within the measured loads.
        paper: (what, paper's value in words, ours in words, id) rows, such as C7's 70 %.
        setup: service facts for people: version, threads, CPUs, items, scaling.
        sections: what each question found, by its name, those that speak first first.
        noise_floor: what equal runs differ by; None without pairs of them.
        twins: second runs of a load in the same block (A/A), on no curve.
        probes: the load's client against the probe beside it, run by run.
        resources: what it used, at the QoS crossing and at every load; None in older records.
        kept: what its neighbour kept of its pace alone, loads ascending; () without one that tells.
    """

    service: str
    kind: str
    qos: Qos | None
    max_rps: float | None
    max_rps_interval: Interval | None
    max_rps_rule: str
    points: tuple[LoadPoint, ...]
    lines: tuple[Line, ...]
    crossing: Interval | None
    paper: tuple[tuple[str, str, str, str], ...]
    setup: tuple[tuple[str, str], ...]
    answer: str
    verdict: Verdict
    reasons: tuple[str, ...]
    sections: Mapping[str, Section] = field(default_factory=dict)
    noise_floor: NoiseFloor | None = None
    twins: tuple[Run, ...] = ()
    probes: tuple[ProbeRow, ...] = ()
    resources: ResourceUse | None = None
    kept: tuple[Kept, ...] = ()
    label: str = ""
    levels: tuple[tuple[str, bool | int | float | str], ...] = ()

    def section(self, kind: type[S]) -> S | None:
        """What the question found that gives this type; None if it was not asked or begun."""
        return _of_type(self.sections, kind)

    def having(self, name: str, section: Section | None) -> Self:
        """The same with this section, or without it."""
        return replace(self, sections=_changed(self.sections, name, section))


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
        endless: 1 where the number grows without end under `level` in every block and not under
            `base`, −1 the other way round: an answer that no ratio has; 0 else.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a study found, ready to be shown.

    Attributes:
        answer: the answer in one or two sentences, first thing in every report.
        factors: what each factor does to each service that feels it.
        environment: the manifest of M25 (nested, JSON).
        noise: (what adds noise on this host, how to mend it).
        study_file: the resolved study, TOML.
        command: the command that reproduces it.
        sections: what questions found of all services together, by name.
        points: every measured point, in order of time.
        left_out: combinations of levels without an answer, each with its reason.
        unanswered: names of questions that it asks and of which nothing is known, once for each
            service; once for all of them where the question is about several.
        state: how far the study has answered its own question, and what would settle the rest.
    """

    study: str
    question: str
    answer: str
    verdict: Verdict
    reasons: tuple[str, ...]
    started: str
    wall_s: float
    services: tuple[ServiceFinding, ...]
    sections: Mapping[str, Section] = field(default_factory=dict)
    factors: tuple[FactorFinding, ...] = ()
    environment: dict[str, object] = field(default_factory=dict)
    noise: tuple[tuple[str, str], ...] = ()
    study_file: str = ""
    command: str = ""
    points: tuple[PointRow, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    unanswered: tuple[str, ...] = ()
    state: State = State(done=0, of=0, unit="")

    def section(self, kind: type[S]) -> S | None:
        """What the question found that gives this type; None if it was not asked."""
        return _of_type(self.sections, kind)

    def having(self, name: str, section: Section | None) -> Self:
        """The same with this section, or without it."""
        return replace(self, sections=_changed(self.sections, name, section))


def _of_type(sections: Mapping[str, Section], kind: type[S]) -> S | None:
    return next((one for one in sections.values() if isinstance(one, kind)), None)


def _changed(
    sections: Mapping[str, Section], name: str, section: Section | None
) -> Mapping[str, Section]:
    changed = {**sections, name: section}
    return {name: one for name, one in changed.items() if one is not None}
