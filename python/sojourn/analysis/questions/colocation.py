"""Co-location: up to which load a batch neighbour may stay, and what it keeps (L27 to L30, L34).

A cell is one load beside one neighbour: whether the service meets its target there, by all of its
runs together or, where these leave it open, by the interval of that load alone; and whether the
neighbour loses at most what it may, by the interval of its pace. It is violated if one of the two
surely is, holds if both surely do, and is unknown else: so is one whose neighbour died or whose
generator failed its check. A rule climbs from the lowest load and stops at the first cell that does
not hold; it is known if that is violated, or if there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.actors import neighbours
from sojourn.analysis.combinations import Part
from sojourn.analysis.data import StudyData
from sojourn.analysis.findings import Interval, Kept, LoadPoint, Qos, ServiceFinding
from sojourn.analysis.pace import is_held
from sojourn.analysis.questions.question import Answer
from sojourn.analysis.section import Section
from sojourn.analysis.words import load_share, percent, percentile
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.plan.questions.colocation import NAME
from sojourn.plan.setting import NEIGHBOUR, level_text
from sojourn.plan.traced import NOBODY
from sojourn.spec import ServiceSpec, words
from sojourn.spec.levels import names
from sojourn.units import show_ns

SAME, APART = "same CPUs", "separate CPUs"
_PLACES = {"apart": APART, "server": SAME, "one": SAME}


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCell:
    """One load of the service, beside one neighbour or alone.

    Attributes:
        load: share of its max RPS alone.
        tail_ns: of its target's quantile; infinite where lost requests decide it; None: not known.
        tail: 95 % interval, within runs and over restarts, the wider of the two at each end.
        meets: whether the service meets its target.
        kept: what the neighbour keeps of its pace alone; None: there is none, or it told nothing.
        verdict, why: of both bounds; what speaks against it.
        runs, lost: runs, and those of them that cannot be believed.
    """

    load: float
    offered_rps: float
    tail_ns: float | None
    tail: Interval | None
    meets: Verdict
    kept: Kept | None
    verdict: Verdict
    why: str
    runs: int
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(Section):
    """One service under one combination of levels, beside its neighbour or alone.

    Attributes:
        neighbour: what it is called, such as "xz"; "": the service was alone.
        place: whose CPUs it has; scheduled: how its tasks are, where that was asked for.
        loss_max: of its pace alone, that it may lose.
        core_share: share of the CPUs of both that the service has; 1 where they share all.
        setting: place, scheduling and the levels of all other factors, in words.
        cells: loads ascending.
    """

    neighbour: str
    place: str
    scheduled: str
    loss_max: float
    core_share: float
    setting: str = ""
    cells: tuple[SharedCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Up to which load one neighbour may stay under one setting.

    Attributes:
        load: the highest at which, and below, every cell holds; None: none.
        kept: what the neighbour keeps there.
        stop: the next cell; None: all hold.
        verdict: `holds` if the border is known, `violated` if no load is admitted, else `unknown`.
    """

    service: str
    neighbour: str
    setting: str
    loss_max: float
    load: float | None
    kept: Kept | None
    stop: SharedCell | None
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Colocation(Section):
    """All combinations of one service, and the rule of each that has a neighbour.

    Attributes:
        q, bound_ns: the QoS target; max_rps: requests/s that 100 % are, alone.
    """

    service: str = ""
    q: float = 0.0
    bound_ns: float = 0.0
    max_rps: float | None = None
    shared: tuple[Shared, ...] = ()
    rules: tuple[Rule, ...] = ()


class ColocationAnswer(Answer):
    """A section of every combination, and one that puts them together."""

    name = NAME
    section = Shared

    def answer(
        self, given: StudyData, spec: ServiceSpec, stands: Progress, found: ServiceFinding
    ) -> Shared | None:
        """Cells of one combination; it is undecided where one of them stops the climb unknown."""
        if found.qos is None or spec.colocation is None:
            return None
        name, place, scheduled = who(given.study.neighbour)
        asked = spec.colocation
        loss_max = asked.loss_max_apart if place == APART else asked.loss_max
        kept = {one.fraction: one for one in found.kept}
        cells = tuple(
            _cell(point, found.qos, kept.get(point.fraction), loss_max if name else None)
            for point in sorted(found.points, key=lambda point: point.fraction)
        )
        passed, stop = climbed(cells)
        is_open = not cells or stands.next is not None
        is_open |= stop is not None and stop.verdict is Verdict.UNKNOWN
        said = f"{found.service}: {_reach(passed, stop)}."
        return Shared(
            headline=said,
            answer=said,
            verdict=Verdict.UNKNOWN if is_open else Verdict.HOLDS,
            reasons=(f"{load_share(stop.load)} load: {stop.why}",) if stop and is_open else (),
            neighbour=name,
            place=place,
            scheduled=scheduled,
            loss_max=loss_max,
            core_share=_core_share(found.kept) if place == APART else 1.0,
            cells=cells,
        )

    def compared(
        self, given: StudyData, parts: Sequence[Part], found: Sequence[ServiceFinding]
    ) -> Colocation | None:
        """The rules of all neighbours under all settings."""
        del parts
        mine = [one for one in found if one.section(Shared) is not None]
        if not mine:
            return None
        called = names(given.study.factors)
        first = mine[0]
        shared = tuple(_placed(service, called) for service in mine)
        rules = tuple(_rule(first, one) for one in shared if one.neighbour)
        said = " ".join(in_words(rule, first.qos) for rule in rules)
        return Colocation(
            headline=said or "Nothing was measured beside a neighbour.",
            answer=said or "Nothing was measured beside a neighbour.",
            verdict=_verdict(rules),
            reasons=tuple(
                f"beside {rule.neighbour} ({rule.setting}), {load_share(rule.stop.load)} load: "
                f"{rule.stop.why}"
                for rule in rules
                if rule.verdict is Verdict.UNKNOWN and rule.stop
            ),
            service=first.label,
            q=first.qos.q if first.qos else 0.0,
            bound_ns=first.qos.bound_ns if first.qos else 0.0,
            max_rps=first.max_rps,
            shared=shared,
            rules=rules,
        )


def who(text: str) -> tuple[str, str, str]:
    """(name, whose CPUs, how it is scheduled) of a neighbour as a study has it.

    >>> who("none")
    ('', '', '')
    >>> who("noise:cpu@50%,where=apart,nice=19")
    ('cpu@50%', 'separate CPUs', 'nice = 19')
    >>> who("spin:one")
    ('spin', 'same CPUs', '')
    """
    kind = neighbours.KINDS.get(text.partition(":")[0])
    if text == NOBODY or kind is None:
        return "", "", ""
    found = words.read(text, lead=kind.lead, at=kind.at)
    params = {param.name: str(param.default) for param in kind.params} | dict(found.given)
    lead = params.get(kind.lead, "") if kind.lead != words.WHERE else ""
    much = f"@{found.given[kind.at]}" if kind.at in found.given else ""
    where = params.get(words.WHERE, "")
    rest = {k: v for k, v in found.given.items() if k not in {kind.lead, kind.at, words.WHERE}}
    place = _PLACES.get(where, f"CPUs of {where}" if where else SAME)
    return f"{lead or kind.name}{much}", place, ", ".join(f"{k} = {v}" for k, v in rest.items())


def climbed(cells: Sequence[SharedCell]) -> tuple[SharedCell | None, SharedCell | None]:
    """The last of the cells that hold from the lowest load on, and the first that does not."""
    passed: SharedCell | None = None
    for cell in cells:
        if cell.verdict is not Verdict.HOLDS:
            return passed, cell
        passed = cell
    return passed, None


def _cell(point: LoadPoint, qos: Qos, kept: Kept | None, loss_max: float | None) -> SharedCell:
    tail_ns, tail = _tail(point, qos.q)
    lost = sum(not run.is_believed for run in point.runs)
    meets = _meets(point, qos, tail)
    verdict, why = meets, _of_tail(point, qos, tail_ns, tail)
    if loss_max is not None and verdict is not Verdict.VIOLATED:
        keeps, missing = _of_loss(kept, loss_max)
        if Verdict.VIOLATED in (verdict, keeps) or verdict is Verdict.HOLDS:
            verdict, why = keeps, missing
    return SharedCell(
        load=point.fraction,
        offered_rps=point.offered_rps,
        tail_ns=tail_ns,
        tail=tail,
        meets=meets,
        kept=kept if loss_max is not None else None,
        verdict=verdict,
        why="" if verdict is Verdict.HOLDS else why,
        runs=len(point.runs),
        lost=lost,
    )


def _meets(point: LoadPoint, qos: Qos, tail: Interval | None) -> Verdict:
    """By all runs of the service together; what they leave open, by the load's own interval.

    A tail that leaps between two loads is no smooth curve, and the posterior then doubts the last
    load before it, whose own runs leave no doubt.
    """
    if point.verdict is not Verdict.UNKNOWN or not point.is_believed or tail is None:
        return point.verdict
    if tail.hi <= qos.bound_ns:
        return Verdict.HOLDS
    return Verdict.VIOLATED if tail.lo > qos.bound_ns else Verdict.UNKNOWN


def _tail(point: LoadPoint, q: float) -> tuple[float | None, Interval | None]:
    """The quantile, and its interval: what is known within runs and over restarts."""
    found = next((e for e in point.quantiles if e.q is not None and math.isclose(e.q, q)), None)
    if found is None or not point.is_believed:
        return None, None
    ends = [one for one in (found.interval, found.across_restarts) if one is not None]
    if not ends or found.value is None:
        return found.value, ends[0] if ends else None
    lo, hi = min(one.lo for one in ends), max(one.hi for one in ends)
    return found.value, Interval(lo=min(max(lo, 1.0), found.value), hi=max(hi, found.value))


def _of_tail(point: LoadPoint, qos: Qos, tail_ns: float | None, tail: Interval | None) -> str:
    if not point.is_believed or tail_ns is None:
        return "; ".join(point.reasons[:1]) or "its tail is not known"
    said = f"{percentile(qos.q)} {time_in_words(tail_ns, tail)}"
    return f"{said}; {point.reasons[0]}" if point.reasons else said


def _of_loss(kept: Kept | None, loss_max: float) -> tuple[Verdict, str]:
    """Whether the neighbour keeps what it must, and what it keeps in words."""
    if loss_max >= 1:
        return Verdict.HOLDS, ""
    if kept is None or kept.share is None:
        why = kept.reason if kept else "the neighbour told of no progress"
        return Verdict.UNKNOWN, f"what the neighbour keeps is not known: {why}"
    least = 1 - loss_max - 1e-9  # of its pace: a loss of exactly the most that may be fits
    said = f"the neighbour keeps {share_in_words(kept)}, {percent(1 - loss_max)} is the least"
    if kept.interval is None:
        return Verdict.UNKNOWN, f"{said}: {kept.reason}"
    if kept.interval.lo >= least:
        return Verdict.HOLDS, ""
    return (Verdict.VIOLATED if kept.interval.hi < least else Verdict.UNKNOWN), said


def _core_share(kept: Sequence[Kept]) -> float:
    """Of CPUs that are apart, the service's share; a half where nobody told."""
    known = [one.core_share for one in kept if one.core_share < 1]
    return known[0] if known else 0.5


def _placed(service: ServiceFinding, called: dict[str, str]) -> Shared:
    """With the setting in words, which takes the levels of all factors."""
    one = service.section(Shared)
    assert one is not None  # noqa: S101  # those without were left out
    levels = (
        f"{called.get(key, key)} = {level_text(level)}"
        for key, level in service.levels
        if key != NEIGHBOUR
    )
    own = f"neighbour's {one.scheduled}" if one.scheduled else ""
    text = ", ".join(filter(None, (one.place, own, *levels)))
    fields = {name: getattr(one, name) for name in one.__dataclass_fields__}
    return Shared(**fields | {"setting": text})


def _rule(first: ServiceFinding, one: Shared) -> Rule:
    passed, stop = climbed(one.cells)
    verdict = Verdict.HOLDS if passed else Verdict.VIOLATED
    if not one.cells or (stop and stop.verdict is Verdict.UNKNOWN):
        verdict = Verdict.UNKNOWN
    return Rule(
        service=first.label,
        neighbour=one.neighbour,
        setting=one.setting,
        loss_max=one.loss_max,
        load=passed.load if passed else None,
        kept=passed.kept if passed else None,
        stop=stop,
        verdict=verdict,
    )


def _verdict(rules: Sequence[Rule]) -> Verdict:
    """Unknown if one rule is; violated if nobody may stay at any load."""
    found = {rule.verdict for rule in rules}
    if not found or Verdict.UNKNOWN in found:
        return Verdict.UNKNOWN
    return Verdict.HOLDS if Verdict.HOLDS in found else Verdict.VIOLATED


def in_words(rule: Rule, qos: Qos | None) -> str:
    """The rule as a sentence: number first, then what it rests on and where it ends."""
    beside = f"beside {rule.neighbour} ({rule.setting})"
    target = f"{percentile(qos.q)} ≤ {show_ns(qos.bound_ns)}" if qos else "its target"
    if rule.load is None:
        is_known = rule.verdict is Verdict.VIOLATED
        how = "no load is admitted" if is_known else "whether any load is admitted is unknown"
        return f"{beside[0].upper()}{beside[1:]} {how}{_stopped(rule.stop)}."
    keeps = ""
    if rule.kept:
        of = "what it was asked for" if is_held(rule.kept) else "its pace alone"
        keeps = f", which keeps {share_in_words(rule.kept)} of {of}"
    return (
        f"Up to {load_share(rule.load)} load {rule.service} keeps {target} {beside}"
        f"{keeps}{_stopped(rule.stop)}."
    )


def _stopped(stop: SharedCell | None) -> str:
    if stop is None:
        return "; no higher load was measured"
    word = "not at" if stop.verdict is Verdict.VIOLATED else "unknown at"
    return f"; {word} {load_share(stop.load)}: {stop.why}"


def _reach(passed: SharedCell | None, stop: SharedCell | None) -> str:
    to = f"admitted up to {load_share(passed.load)} load" if passed else "no load is admitted"
    return f"{to}{_stopped(stop)}" if passed or stop else "nothing was measured"


def share_in_words(kept: Kept | None) -> str:
    """A share with its interval: `52 % (48 to 55 %)`.

    >>> share_in_words(Kept(neighbour="x", fraction=0.5, share=0.52, interval=Interval(0.48, 0.55)))
    '52 % (48 to 55 %)'
    """
    if kept is None or kept.share is None:
        return "an unknown share"
    ends = kept.interval
    if ends is None:
        return percent(kept.share)
    return f"{percent(kept.share)} ({percent(ends.lo).removesuffix(' %')} to {percent(ends.hi)})"


def time_in_words(ns: float, ends: Interval | None) -> str:
    """A time with its interval; `never` where requests that were lost decide it.

    >>> time_in_words(1.9e6, Interval(1.5e6, 2.2e6))
    '1.90 ms (1.50 to 2.20 ms)'
    """
    value = show_ns(ns) if math.isfinite(ns) else "never (requests were lost)"
    if ends is None or not math.isfinite(ends.lo) or not math.isfinite(ns):
        return value
    lo = show_ns(ends.lo)
    hi = show_ns(ends.hi) if math.isfinite(ends.hi) else "never"
    is_same = hi.split()[-1] == lo.split()[-1]
    return f"{value} ({lo.split()[0] if is_same else lo} to {hi})"


KIND = ColocationAnswer()
