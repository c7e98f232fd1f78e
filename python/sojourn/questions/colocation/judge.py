"""Co-location: up to which load a batch neighbour may stay, and what it keeps (L27 to L30, L34).

A cell (`cells`) is one load beside one neighbour, and holds if the service meets its target there
and the neighbour loses at most what it may. A rule climbs from the lowest load and stops at the
first cell that does not hold; it is known if that is violated, or if there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.actors import neighbours
from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.combinations import Part
from sojourn.analysis.counted import Counted, count
from sojourn.analysis.pace import is_held
from sojourn.findings.findings import Findings, Qos, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.neighbour_pace import Kept
from sojourn.findings.section import Section
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.plan.setting import NEIGHBOUR, level_text
from sojourn.plan.traced import NO_NEIGHBOUR
from sojourn.questions.colocation import asks
from sojourn.questions.colocation.cells import SharedCell, cell_of, climbed, share_in_words
from sojourn.questions.colocation.plan import NAME
from sojourn.spec import ServiceSpec, words
from sojourn.spec.levels import names
from sojourn.text.numbers import load_share, percentile
from sojourn.units import show_ns

SAME, APART = "same CPUs", "separate CPUs"
_PLACES = {"apart": APART, "server": SAME, "one": SAME}


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
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> Shared | None:
        """Cells of one combination; it is undecided where one of them stops the climb unknown."""
        asked = asks.of(spec)
        if finding.qos is None or asked is None:
            return None
        name, place, scheduled = who(data.study.neighbour)
        loss_max = asked.loss_max_apart if place == APART else asked.loss_max
        selected = {one.fraction: one for one in finding.kept}
        cells = tuple(
            cell_of(point, finding.qos, selected.get(point.fraction), loss_max if name else None)
            for point in sorted(finding.points, key=lambda point: point.fraction)
        )
        passed, stop = climbed(cells)
        is_open = not cells or progress.next is not None
        is_open |= stop is not None and stop.verdict is Verdict.UNKNOWN
        text = f"{finding.service}: {_reach(passed, stop)}."
        return Shared(
            headline=text,
            answer=text,
            verdict=Verdict.UNKNOWN if is_open else Verdict.HOLDS,
            reasons=(f"{load_share(stop.load)} load: {stop.why}",) if stop and is_open else (),
            neighbour=name,
            place=place,
            scheduled=scheduled,
            loss_max=loss_max,
            core_share=_core_share(finding.kept) if place == APART else 1.0,
            cells=cells,
        )

    def compared(
        self, data: StudyData, parts: Sequence[Part], findings: Sequence[ServiceFinding]
    ) -> Colocation | None:
        """The rules of all neighbours under all settings."""
        del parts
        own = [one for one in findings if one.section(Shared) is not None]
        if not own:
            return None
        called = names(data.study.factors)
        first = own[0]
        shared = tuple(_placed(service, called) for service in own)
        rules = tuple(_rule(first, one) for one in shared if one.neighbour)
        text = " ".join(in_words(rule, first.qos) for rule in rules)
        return Colocation(
            headline=text or "Nothing was measured beside a neighbour.",
            answer=text or "Nothing was measured beside a neighbour.",
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

    def counted(self, findings: Findings) -> Counted | None:
        """Loads beside a neighbour that are decided, or that lie above one that is not admitted."""
        section = findings.section(Colocation)
        if section is None:
            return None
        each = [one for one in section.shared if one.neighbour]
        return count((decided for one in each for decided in _decided(one.cells)), "cells")


def _decided(cells: Sequence[SharedCell]) -> list[bool]:
    """Of each cell; where the border is known, of all."""
    _, stop = climbed(cells)
    is_known = stop is None or stop.verdict is Verdict.VIOLATED
    return [is_known or cell.verdict is not Verdict.UNKNOWN for cell in cells]


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
    if text == NO_NEIGHBOUR or kind is None:
        return "", "", ""
    result = words.read(text, lead=kind.lead, at=kind.at)
    params = {param.name: str(param.default) for param in kind.params} | dict(result.params)
    lead = params.get(kind.lead, "") if kind.lead != words.WHERE else ""
    much = f"@{result.params[kind.at]}" if kind.at in result.params else ""
    where = params.get(words.WHERE, "")
    rest = {k: v for k, v in result.params.items() if k not in {kind.lead, kind.at, words.WHERE}}
    place = _PLACES.get(where, f"CPUs of {where}" if where else SAME)
    return f"{lead or kind.name}{much}", place, ", ".join(f"{k} = {v}" for k, v in rest.items())


def _core_share(selected: Sequence[Kept]) -> float:
    """Of CPUs that are apart, the service's share; a half where none was reported."""
    known = [one.core_share for one in selected if one.core_share < 1]
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
    """Unknown if one rule is; violated if no one may stay at any load."""
    verdicts = {rule.verdict for rule in rules}
    if not verdicts or Verdict.UNKNOWN in verdicts:
        return Verdict.UNKNOWN
    return Verdict.HOLDS if Verdict.HOLDS in verdicts else Verdict.VIOLATED


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
    least = "at least " if rule.verdict is Verdict.UNKNOWN else ""
    return (
        f"Up to {least}{load_share(rule.load)} load {rule.service} keeps {target} {beside}"
        f"{keeps}{_stopped(rule.stop)}."
    )


def _stopped(stop: SharedCell | None) -> str:
    if stop is None:
        return "; no higher load was measured"
    word = "not at" if stop.verdict is Verdict.VIOLATED else "unknown at"
    return f"; {word} {load_share(stop.load)}: {stop.why}"


def _reach(passed: SharedCell | None, stop: SharedCell | None) -> str:
    to = "no load is admitted"
    is_open = stop is not None and stop.verdict is Verdict.UNKNOWN
    if passed:
        to = f"admitted up to {'at least ' if is_open else ''}{load_share(passed.load)} load"
    elif is_open:
        to = "whether any load is admitted is unknown"
    return f"{to}{_stopped(stop)}" if passed or stop else "nothing was measured"


KIND = ColocationAnswer()
