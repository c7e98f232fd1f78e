"""Services at once: how much longer each one's tail is beside the others than alone (L19, C22).

The ratio is taken within a block, in which both were measured in an order that was drawn: a machine
that is slow for an hour is slow for both. Blocks are few, so the interval is Student's on the
logarithms of the ratios, and one block alone tells nothing. Of a measurement the first attempt
counts that was believed of all services; without one its block is left out. Requests that were lost
are infinitely late: such a block has no ratio, so there is none at all, but it violates the target.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

from sojourn.analysis import contrasts, quantiles
from sojourn.analysis.data import StudyData
from sojourn.analysis.findings import ServiceFinding
from sojourn.analysis.questions.question import Answer
from sojourn.analysis.section import Section
from sojourn.analysis.words import percent, worst
from sojourn.plan.next import Progress
from sojourn.plan.points import Outcome, Verdict
from sojourn.plan.questions import together
from sojourn.spec import ServiceSpec
from sojourn.units import show_ns

Blocks: TypeAlias = Mapping[int, Outcome]
Runs: TypeAlias = dict[str, dict[int, dict[str, list[Outcome]]]]  # setting → block → service

Q = 0.99
_NEEDED = quantiles.smallest_sample(Q)  # requests of a run whose p99 says anything (M10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """One service while it was measured beside others.

    Attributes:
        service: its label.
        fraction: its load as a share of max RPS; offered_rps: the same, requests/s.
        beside: (label, share of max RPS) of the others.
        blocks: in how many the runs together and alone were both believed.
        p99_ns, alone_ns: medians over those blocks, ns; None: infinite, or without any.
        ratio, lo, hi: p99 together over alone with its interval; None: fewer than two blocks, or
            infinite in one of them.
        qos: whether p99 met the target beside the others in all of those blocks.
        reasons: why something is not known.
    """

    service: str
    fraction: float
    offered_rps: float
    beside: tuple[tuple[str, float], ...]
    blocks: int
    p99_ns: float | None = None
    alone_ns: float | None = None
    ratio: float | None = None
    lo: float | None = None
    hi: float | None = None
    qos: Verdict | None = None
    reasons: tuple[str, ...] = ()

    @property
    def is_longer(self) -> bool:
        """Whether it takes longer beside the others, beyond what chance does."""
        return self.lo is not None and self.lo > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Together(Section):
    """Every service in every combination, in the study's order."""

    met: tuple[Met, ...] = ()


class TogetherAnswer(Answer):
    """About all services, so no service has a section of its own."""

    name = together.NAME
    section = Together

    def answer(
        self, given: StudyData, spec: ServiceSpec, stands: Progress, found: ServiceFinding
    ) -> None:
        """None: it is about several services, and has no section of one."""
        del given, spec, stands, found

    def whole(self, given: StudyData) -> Together | None:
        """What services do to each other."""
        met = tuple(meetings(given))
        if not met:
            return None
        said = " ".join(map(in_words, met))
        reasons = tuple(dict.fromkeys(f"{m.service}: {why}" for m in met for why in m.reasons))
        verdicts = [m.qos for m in met if m.qos is not None]
        return Together(
            headline=said, answer=said, verdict=worst(verdicts) if verdicts else None,
            reasons=reasons, met=met,
        )  # fmt: skip


def meetings(given: StudyData) -> Sequence[Met]:
    """What became of each service of each combination; () if the study has none."""
    runs: Runs = {}
    for measured in given.measured:
        point = measured.outcome.point
        if point.phase is together.PHASE:
            of = runs.setdefault(point.setting.text, {}).setdefault(point.repeat, {})
            for label in together.shares_of(point):  # one that a kill left without an outcome, too
                of.setdefault(label, [])
            of[point.service].append(measured.outcome)
    return [
        _met(given, label, shares, runs)
        for shares in together.loads(given.study)
        if len(shares) > 1
        for label in shares
        if any(of[label] for of in runs.get(together.setting_of(shares).text, {}).values())
    ]


def _met(given: StudyData, label: str, shares: Mapping[str, float], runs: Runs) -> Met:
    both = [runs.get(together.setting_of(of).text, {}) for of in (shares, {label: shares[label]})]
    beside, alone = (_believed(blocks, label) for blocks in both)
    pairs = [(_p99_ns(beside[n]), _p99_ns(alone[n])) for n in sorted(beside.keys() & alone.keys())]
    known = pairs if all(math.isfinite(a) and math.isfinite(b) for a, b in pairs) else []
    qos = given.study.service(label).qos
    bound_ns = qos.bound_ns if qos and qos.q == Q else None  # p99 is what we have
    found = ratio_of(known)
    return Met(
        service=label,
        fraction=shares[label],
        offered_rps=next(o.offered_rps for of in both[0].values() for o in of.get(label, ())),
        beside=tuple((other, share) for other, share in shares.items() if other != label),
        blocks=len(pairs),
        p99_ns=_middle([a for a, _ in pairs]),
        alone_ns=_middle([b for _, b in pairs]),
        ratio=found[0] if found else None,
        lo=found[1] if found else None,
        hi=found[2] if found else None,
        qos=_within(bound_ns, [a for a, _ in pairs]),
        reasons=(*_doubts(both, label), *_short(pairs)),
    )


def _believed(blocks: Mapping[int, Mapping[str, Sequence[Outcome]]], label: str) -> Blocks:
    """What a service saw by block, where all that were measured with it were believed."""
    whole = {block: together.whole(tried) for block, tried in blocks.items()}
    mine = {block: found[label] for block, found in whole.items() if found and label in found}
    return {block: outcome for block, outcome in mine.items() if outcome.requests >= _NEEDED}


def _p99_ns(outcome: Outcome) -> float:
    """p99 of a run that is believed; infinite where more requests were lost than it leaves out."""
    return math.inf if outcome.p99_ns is None else outcome.p99_ns


def _middle(times: Sequence[float]) -> float | None:
    middle = median(times) if times else math.inf
    return middle if math.isfinite(middle) else None


def ratio_of(pairs: Sequence[tuple[float, float]]) -> tuple[float, float, float] | None:
    """(ratio, lo, hi) of a / b with its interval, from pairs (a, b); None from fewer than two.

    >>> [round(number, 2) for number in ratio_of([(2.0, 1.0), (8.0, 2.0), (4.0, 1.0)]) or ()]
    [3.17, 1.17, 8.58]
    """
    value, ends = contrasts.ratio([math.log(a / b) for a, b in pairs])
    return None if value is None or ends is None else (value, ends.lo, ends.hi)


def _within(bound_ns: int | None, p99s: Sequence[float]) -> Verdict | None:
    if bound_ns is None:
        return None
    held = [p99 <= bound_ns for p99 in p99s]
    if len(held) < 2 or any(held) != all(held):  # one block tells nothing
        return Verdict.UNKNOWN
    return Verdict.HOLDS if all(held) else Verdict.VIOLATED


def _doubts(
    both: Sequence[Mapping[int, Mapping[str, Sequence[Outcome]]]], label: str
) -> Iterator[str]:
    """Why measurements of a service do not count: the last word of whoever was not believed."""
    for tried in (tried for blocks in both for tried in blocks.values()):
        last = [runs[-1] for runs in tried.values() if runs]
        if together.whole(tried) is None:
            lost = [o for o in last if o.verdict is Verdict.UNKNOWN and o.reasons]
            yield from (f"{o.point.key}: {o.reasons[0]}" for o in lost)
        else:
            few = [o for o in tried.get(label, ())[-1:] if o.requests < _NEEDED]
            yield from (
                f"{o.point.key}: {o.requests} requests have no p99, it needs {_NEEDED}" for o in few
            )


def _short(pairs: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Why all that was believed makes no ratio."""
    lost = sum(math.isinf(a) or math.isinf(b) for a, b in pairs)
    if lost:
        yield f"p99 is infinite in {lost} of {len(pairs)} blocks: requests were lost"
    if len(pairs) < 2:  # no spread
        yield f"{len(pairs)} blocks were believed both together and alone; two are needed"


def in_words(met: Met) -> str:
    """What the others do to it, in a sentence."""
    others = " and ".join(f"{label} at {percent(share)}" for label, share in met.beside)
    where = f"Beside {others}, p99 of {met.service} at {percent(met.fraction)}"
    if met.ratio is None or met.lo is None or met.hi is None:
        return f"{where} cannot be compared with p99 alone."
    interval = f"({met.lo:.2g} to {met.hi:.2g} times, 95 % interval)"
    if met.lo <= 1 <= met.hi:
        return f"{where} is {met.ratio:.2g} times that alone {interval}: no difference was shown."
    assert met.p99_ns is not None  # noqa: S101  # it has a ratio
    assert met.alone_ns is not None  # noqa: S101
    longer = "as long as" if met.ratio > 1 else "as long only as"
    return (
        f"{where} is {met.ratio:.2g} times {longer} alone {interval}: "
        f"{show_ns(met.p99_ns)} instead of {show_ns(met.alone_ns)}."
    )


KIND = TogetherAnswer()
