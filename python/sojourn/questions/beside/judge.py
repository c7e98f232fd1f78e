"""What a neighbour costs a service under each setting, in words (L17, L18).

One setting: the difference a request, which beside a task that only wants the CPU is the cost of
the switch. Several: where each one's tail breaks, what the neighbour kept, and whether the
simulator puts them in the same order, which `simulated_order` adds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.combinations import Part
from sojourn.analysis.counted import Counted, count, is_narrow
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.plan.next import Progress
from sojourn.plan.points import Phase, Verdict
from sojourn.plan.setting import NEIGHBOUR, TWIN, Level, Setting, level_text
from sojourn.questions.beside import interference
from sojourn.questions.beside.interference import Break, Number, Row
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.levels import names
from sojourn.text.numbers import load_share, percent, percentile
from sojourn.units import show_ns

NAME = "beside"
NO_NEIGHBOUR = "none"
TAIL = 0.95  # L18 tells p95; a study's own target comes first
SENTENCE_LOAD = 0.5  # the load whose difference is in the sentence, or the nearest
NAMED_MAX = 3
USED_MIN = 0.005  # of a CPU: who used less is not named

WAVE_ID, SWITCH_ID = "L18", "L17"
PAPER_WAVE = "≈ 12 % of the peak (CFS), 50 % (BVT)"
PAPER_SWITCH = "−2.8 µs in the server: 18.7 µs beside a CPU-bound task, 21.5 µs alone (L12)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """One service beside one neighbour under one setting.

    Attributes:
        service: label.
        setting: levels of all other factors, in words; "" without others.
        levels: the same as (factor, level) pairs.
        neighbour: its level.
        q: of the tail.
        rows: by rising load.
        breaks: where the tail does.
        kept: what the neighbour kept of what it does alone, over all loads; None: not told.
        others: (task, share of the CPUs' time) of those who are neither service nor neighbour;
            None: nobody looked.
    """

    service: str
    setting: str
    levels: tuple[tuple[str, bool | int | float | str], ...]
    neighbour: str
    q: float
    rows: tuple[Row, ...]
    breaks: Break
    kept: Number | None
    others: tuple[tuple[str, float], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Two settings in the simulator's order and in the measured one.

    Attributes:
        one, other: settings; the simulator's tail breaks at a lower load under `one`.
        simulated: loads at which they break there; infinite: not up to the highest.
        measured: the same here, in words.
        verdict: "concordant", "reversed" or "undecided".
    """

    one: str
    other: str
    simulated: tuple[float, float]
    measured: tuple[str, str]
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideSection(Section):
    """All services, settings and neighbours of a study.

    Attributes:
        found: each of them.
        order: pairs of settings against the simulator; () where there is nothing to simulate.
        order_words: what they say together, or why there are none.
    """

    found: tuple[Beside, ...] = ()
    order: tuple[Simulated, ...] = ()
    order_words: str = ""


class BesideAnswer(Answer):
    """About combinations of levels, so no service has a section of its own."""

    name = NAME
    section = BesideSection
    methods = (interference.METHOD,)

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> None:
        """None: it compares services under different levels."""
        del data, spec, progress, finding

    def compared(
        self, data: StudyData, parts: Sequence[Part], findings: Sequence[ServiceFinding]
    ) -> BesideSection | None:
        """Each setting beside each neighbour, against the same setting alone."""
        asked = [
            (part, finding)
            for part, finding in zip(parts, findings, strict=True)
            if NAME in part.spec.measure
        ]
        if not asked:
            return None
        each = tuple(_each(data.study, asked))
        if not any(one.breaks.most for one in each):
            why = "no load has valid runs both alone and beside a neighbour"
            return BesideSection(
                headline="", answer="", verdict=Verdict.UNKNOWN, reasons=(why,), found=each
            )
        text = " ".join(_sentences(each))
        return BesideSection(
            headline=text,
            answer=text,
            found=each,
            paper=tuple(_paper(each)),
            reasons=tuple(_reasons(each)),
            leads=True,
        )

    def counted(self, findings: Findings) -> Counted | None:
        """Loads at which the tail is as alone or is not, or at which its ratio is known."""
        section = findings.section(BesideSection)
        if section is None:
            return None
        return count((done for one in section.found for done in _decided(one)), "loads")


def _decided(one: Beside) -> list[bool]:
    """Of each load; above one at which the tail is not as alone any more nothing is open."""
    return [
        row.state != "open"
        or row.load > one.breaks.hi
        or (row.ratio is not None and is_narrow(row.ratio.interval))
        for row in one.rows
    ]


def _each(study: Study, asked: Sequence[tuple[Part, ServiceFinding]]) -> Iterator[Beside]:
    called = names(study.factors)
    alone = {
        (part.spec.label, _without(part.levels).text): finding
        for part, finding in asked
        if level_text(part.levels.get(NEIGHBOUR, "")) == NO_NEIGHBOUR
    }
    for part, finding in asked:
        neighbour = str(part.levels.get(NEIGHBOUR, NO_NEIGHBOUR))
        rest = _without(part.levels)
        reference = alone.get((part.spec.label, rest.text))
        if neighbour == NO_NEIGHBOUR or reference is None:
            continue
        q = finding.qos.q if finding.qos else TAIL
        stored = _pace_by_load(part)
        before = {point.fraction: point for point in reference.points}
        rows = tuple(
            interference.row(
                before[point.fraction], point, q, list(stored.get(point.fraction, {}).values())
            )
            for point in sorted(finding.points, key=lambda point: point.fraction)
            if point.fraction in before
        )
        yield Beside(
            service=part.spec.label,
            setting=", ".join(f"{called[key]} = {level_text(of)}" for key, of in rest.items()),
            levels=rest.levels,
            neighbour=neighbour,
            q=q,
            rows=rows,
            breaks=interference.breaks(rows),
            kept=_mean_pace(stored),
            others=_others(part),
        )


def _without(levels: Setting) -> Setting:
    return Setting.of({key: level for key, level in levels.items() if key != NEIGHBOUR})


def _pace_by_load(part: Part) -> Mapping[float, Mapping[int, float]]:
    """By load and block: what the neighbour did of its pace alone, or of what it was asked for."""
    results: dict[float, dict[int, float]] = {}
    for one in part.data.of(part.spec.label):
        outcome, point = one.outcome, one.outcome.point
        is_reported = point.phase is Phase.SWEEP and outcome.verdict is not Verdict.UNKNOWN
        is_reported &= TWIN not in point.setting
        if is_reported and one.pace is not None and point.fraction is not None:
            results.setdefault(point.fraction, {})[point.repeat] = one.pace.kept
    return results


def _mean_pace(selected: Mapping[float, Mapping[int, float]]) -> Number | None:
    """Mean over all loads by block, over blocks."""
    blocks: dict[int, list[float]] = {}
    for by_block in selected.values():
        for block, value in by_block.items():
            blocks.setdefault(block, []).append(value)
    return interference.over_blocks(
        [float(np.mean(values)) for _, values in sorted(blocks.items())]
    )


def _others(part: Part) -> tuple[tuple[str, float], ...] | None:
    """Who else ran there, with the mean share of the CPUs' time over the runs, most first."""
    seen = [one.others for one in part.data.of(part.spec.label)]
    return shares_of(seen) if any(each is not None for each in seen) else None


def shares_of(
    seen: Iterable[tuple[tuple[str, float], ...] | None],
) -> tuple[tuple[str, float], ...]:
    """The mean share of each task over runs, the most first; None: not measured at that run.

    >>> shares_of([(("a", 0.1), ("b", 0.001)), (("a", 0.3),), None])
    (('a', 0.2),)
    """
    runs = [each for each in seen if each is not None]
    sums: dict[str, float] = {}
    for each in runs:
        for task, share in each:
            sums[task] = sums.get(task, 0.0) + share / len(runs)
    ranked = sorted(sums.items(), key=lambda pair: -pair[1])
    return tuple((task, share) for task, share in ranked if share >= USED_MIN)


def others_words(most: Mapping[str, float]) -> str:
    """Who was neither service nor neighbour, in a sentence; "" if no one."""
    ranked = sorted(most.items(), key=lambda pair: -pair[1])[:NAMED_MAX]
    if not ranked:
        return ""
    text = ", ".join(f"{task} {percent(share)}" for task, share in ranked)
    return (
        f"Neither service nor neighbour, on the server's CPUs: {text} of their time, in the mean."
    )


def _sentences(each: Sequence[Beside]) -> Iterator[str]:
    """The answer: of one setting the difference, of several where they break."""
    for service, neighbour in dict.fromkeys((one.service, one.neighbour) for one in each):
        own = [one for one in each if (one.service, one.neighbour) == (service, neighbour)]
        if len(own) == 1:
            yield from cost_words(own[0])
        else:
            tail = percentile(own[0].q)
            parts = "; ".join(
                f"{_called(one)} {break_words(one.breaks)}{_left(one)}" for one in own
            )
            yield f"Beside {neighbour} the {tail} of {service} is twice that alone: {parts}."
    if text := _others_words(each):
        yield text


def _called(one: Beside) -> str:
    """A setting by the levels alone, where there is one factor."""
    return level_text(one.levels[0][1]) if len(one.levels) == 1 else one.setting or "as it is"


def break_words(result: Break) -> str:
    """Where a tail breaks, in words.

    >>> break_words(Break(0.1, 0.3, 0.6)), break_words(Break(0.6, math.inf, 0.6))
    ('between 10 % and 30 % load', 'not up to 60 % load')
    >>> break_words(Break(0.0, 0.1, 0.6)), break_words(Break(0.0, math.inf, 0.6))
    ('at 10 % load or below', 'undecided up to 60 % load')
    """
    if not result.most:
        return "not measured"
    if math.isinf(result.hi):
        if result.lo >= result.most:
            return f"not up to {load_share(result.most)} load"
        above = f" above {load_share(result.lo)}" if result.lo else ""
        return f"undecided{above} up to {load_share(result.most)} load"
    if not result.lo:
        return f"at {load_share(result.hi)} load or below"
    return f"between {load_share(result.lo)} and {load_share(result.hi)} load"


def _left(one: Beside) -> str:
    return f" (neighbour kept {share_words(one.kept)})" if one.kept else ""


def share_words(result: Number) -> str:
    """A share in percent, with its interval where it has one.

    >>> from sojourn.stats.interval import Interval
    >>> share_words(Number(0.912, Interval(0.9, 0.93))), share_words(Number(0.5))
    ('91 % (90 to 93 %)', '50 % (one block)')
    """
    value = percent(result.value)
    if result.interval is None:
        return f"{value} (one block)"
    return f"{value} ({100 * result.interval.lo:.0f} to {100 * result.interval.hi:.0f} %)"


def time_words(result: Number) -> str:
    """A difference in time, with its interval and its sign.

    >>> from sojourn.stats.interval import Interval
    >>> time_words(Number(1500.0, Interval(-200.0, 3000.0)))
    '+1.50 µs (−0.20 to +3.00 µs)'
    """

    def us(ns: float) -> str:
        return f"{'−' if ns < 0 else '+'}{abs(ns) / 1e3:.2f}"

    ends = result.interval
    between = f"{us(ends.lo)} to {us(ends.hi)} µs" if ends else "no interval"
    return f"{us(result.value)} µs ({between})"


def cost_words(one: Beside) -> Iterator[str]:
    """What the neighbour costs a request at the load that is reported."""
    known = [row for row in one.rows if row.mean_ns]
    if not known:
        return
    row = min(known, key=lambda row: (abs(row.load - SENTENCE_LOAD), row.load))
    assert row.mean_ns  # noqa: S101  # chosen so
    under = f" with {one.setting}" if one.setting else ""
    tail = percentile(one.q)
    yield (
        f"Beside {one.neighbour} {one.service}{under} takes {time_words(row.mean_ns)} a request "
        f"more than alone in the mean, at {load_share(row.load)} load"
        + (f", and {time_words(row.tail_ns)} more at {tail}" if row.tail_ns else "")
        + f"; its {tail} is twice that alone {break_words(one.breaks)}{_left(one)}."
    )


def _others_words(each: Sequence[Beside]) -> str:
    """Who else ran on the server's CPUs, the most of any setting."""
    most: dict[str, float] = {}
    for one in each:
        for task, share in one.others or ():
            most[task] = max(share, most.get(task, 0.0))
    return others_words(most)


def _reasons(each: Sequence[Beside]) -> Iterator[str]:
    for one in each:
        if not one.breaks.most:
            yield f"{one.setting or one.service} beside {one.neighbour}: no load can be compared"


def _paper(each: Sequence[Beside]) -> Iterator[tuple[str, str, str, str]]:
    """The paper's numbers beside ours: of the default under a wave, of nice −20 and a spinner."""
    for one in each:
        policy = next((str(of) for key, of in one.levels if key.endswith(".policy")), "")
        tail = percentile(one.q)
        if "wave" in one.neighbour and policy in {"", "other"}:
            what = f"load at which {tail} departs beside the square wave, kernel default"
            yield what, PAPER_WAVE, break_words(one.breaks), WAVE_ID
        if "cpu@" in one.neighbour and len(each) == 1:
            for row in one.rows:
                if row.mean_ns:
                    what = f"a request beside a CPU-bound task at {load_share(row.load)} load"
                    yield what, PAPER_SWITCH, time_words(row.mean_ns), SWITCH_ID


def tail_ns(ns: float | None) -> str:
    """A time for people; "lost" where requests never came back."""
    if ns is None:
        return "–"
    return "lost" if math.isinf(ns) else show_ns(ns)


def level_of(one: Beside, end: str) -> Level | None:
    """The level of the factor whose key ends so; None: it is not varied."""
    return next((level for key, level in one.levels if key.endswith(end)), None)


KIND = BesideAnswer()
