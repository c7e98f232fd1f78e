"""Services at once: how much longer each one's tail is beside the others than alone (L19, C22).

The ratio is taken within a block, in which both were measured in an order that was drawn: a machine
that is slow for an hour is slow for both. Blocks are few, so the interval is Student's on the
logarithms of the ratios, and one block alone tells nothing. Of a measurement the first attempt
counts that was believed of all services; without one its block is left out. Requests that were lost
are infinitely late: such a block has no ratio, so there is none at all, but they miss the target.

Whether the target is met is a probability over blocks (`targets`), beside the others and alone; a
bound that is measured counts like one that is given.

With factors all of that is done under each combination of levels of what the services feel, and
`meetings` says what each factor does to the ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

from sojourn.analysis import qos_probability as targets
from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.counted import Counted, count, is_narrow
from sojourn.findings.effects import FactorFinding
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import Measured, StudyData
from sojourn.findings.section import Section
from sojourn.plan import axis, design
from sojourn.plan.axis import Target
from sojourn.plan.next import Progress
from sojourn.plan.points import Outcome, Verdict, worst
from sojourn.plan.setting import Setting, level_text
from sojourn.questions.together import plan
from sojourn.questions.together.meetings import Met, by_factor
from sojourn.questions.together.words import in_words, missed
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.levels import names
from sojourn.stats import log_ratio_contrasts, quantiles
from sojourn.stats.interval import Interval

Blocks: TypeAlias = Mapping[int, Measured]
Tried: TypeAlias = Mapping[int, Mapping[str, Sequence[Measured]]]  # block → service → attempts
Runs: TypeAlias = dict[str, dict[int, dict[str, list[Measured]]]]  # setting → block → service

Q = 0.99
_NEEDED = quantiles.smallest_sample(Q)  # requests of a run whose p99 says anything (M10)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a study measured of services at once.

    Attributes:
        study: with its factors.
        runs: every attempt.
        targets: by service, then by the text of the levels that it feels.
    """

    study: Study
    runs: Runs
    targets: Mapping[str, Mapping[str, Target | None]]

    def tried(self, shares: Mapping[str, float], levels: Setting) -> Tried:
        """Every attempt of a combination of loads under some levels, by block."""
        return self.runs.get(plan.setting_of(shares, levels).text, {})

    def target(self, label: str, levels: Setting) -> Target | None:
        """The target of a service under some levels; None: it has none, or no bound yet."""
        text = design.factor_levels(self.study, label, levels).text
        inputs = axis.target(self.study.under(levels).service(label), ())
        return inputs or self.targets[label].get(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Together(Section):
    """Every service in every combination, in the study's order.

    Attributes:
        factors: what each factor does to the ratios; () without factors.
    """

    met: tuple[Met, ...] = ()
    factors: tuple[FactorFinding, ...] = ()


class TogetherAnswer(Answer):
    """About all services, so no service has a section of its own."""

    name = plan.NAME
    section = Together

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> None:
        """None: it is about several services, and has no section of one."""
        del data, spec, progress, finding

    def whole(self, data: StudyData) -> Together | None:
        """What services do to each other."""
        colocated = tuple(meetings(data))
        if not colocated:
            return None
        factors = by_factor(data.study, colocated)
        effects = [factor.sentence for factor in factors]
        text = " ".join(
            [*effects, *filter(None, map(missed, colocated))]
            if effects
            else map(in_words, colocated)
        )
        doubts = (
            f"{', '.join(filter(None, (m.service, m.under)))}: {why}"
            for m in colocated
            for why in m.reasons
        )
        reasons = tuple(dict.fromkeys(doubts))
        verdicts = [m.qos for m in colocated if m.qos is not None]
        # fmt: off
        return Together(
            headline=text, answer=text, verdict=worst(verdicts) if verdicts else None,
            reasons=reasons, met=colocated, factors=factors,
        )
        # fmt: on

    def counted(self, findings: Findings) -> Counted | None:
        """Ratios of tails beside the others to tails alone."""
        section = findings.section(Together)
        if section is None:
            return None
        ends = ((one.lo, one.hi) for one in section.met)
        each = (lo and hi and is_narrow(Interval(lo=lo, hi=hi)) for lo, hi in ends)
        return count(map(bool, each), "ratios")


def meetings(data: StudyData) -> Sequence[Met]:
    """What became of each service of each combination; () if the study has none."""
    runs: Runs = {}
    for measured in data.measured:
        point = measured.outcome.point
        if point.phase is plan.PHASE:
            of = runs.setdefault(point.setting.text, {}).setdefault(point.repeat, {})
            for label in plan.shares_of(point):  # one that a kill left without an outcome, too
                of.setdefault(label, [])
            of[point.service].append(measured)
    study, labels = data.study, plan.members(data.study) if runs else ()
    outcomes = [measured.outcome for measured in data.measured]
    known = {label: targets.of_service(study, label, outcomes, data.questions) for label in labels}
    seen = Seen(study, runs, known)
    return [
        _colocated(seen, label, shares, Setting.of(levels))
        for levels in (study.combinations(*labels) if labels else ())
        for shares in plan.loads(study)
        if len(shares) > 1
        for label in shares
        if any(of[label] for of in seen.tried(shares, Setting.of(levels)).values())
    ]


def _colocated(seen: Seen, label: str, shares: Mapping[str, float], levels: Setting) -> Met:
    both = [seen.tried(of, levels) for of in (shares, {label: shares[label]})]
    beside, alone = (_valid_blocks(blocks, label) for blocks in both)
    blocks = sorted(beside.keys() & alone.keys())
    pairs = [(_p99_ns(beside[n].outcome), _p99_ns(alone[n].outcome)) for n in blocks]
    known = pairs if all(math.isfinite(a) and math.isfinite(b) for a, b in pairs) else []
    target, values = seen.target(label, levels), ratio_of(known)
    qos, alone_qos = (
        targets.judged([of[n] for n in blocks], target) if target else None
        for of in (beside, alone)
    )
    why = (
        f"{result.reason}{where}"
        for result, where in ((qos, ""), (alone_qos, ", alone"))
        if result and result.reason
    )
    return Met(
        service=label,
        fraction=shares[label],
        offered_rps=next(
            m.outcome.offered_rps for of in both[0].values() for m in of.get(label, ())
        ),
        beside=tuple((other, share) for other, share in shares.items() if other != label),
        blocks=len(pairs),
        p99_ns=_middle([a for a, _ in pairs]),
        alone_ns=_middle([b for _, b in pairs]),
        ratio=values[0] if values else None,
        lo=values[1] if values else None,
        hi=values[2] if values else None,
        qos=qos.verdict if qos else None,
        alone_qos=alone_qos.verdict if alone_qos else None,
        chance=qos.chance if qos else None,
        alone_chance=alone_qos.chance if alone_qos else None,
        target=targets.words(target) if target else "",
        reasons=(*_doubts(both, label), *why, *_short(pairs)),
        levels=levels.levels,
        under=_under(seen.study, levels),
        by_block=tuple(
            (n, a / b if math.isfinite(b) else None)
            for n, (a, b) in zip(blocks, pairs, strict=True)
        ),
    )


def _under(study: Study, levels: Setting) -> str:
    """`threads = 2, neighbour = spin`, in the study's order."""
    called = names(study.factors)
    own = (key for key in study.factors if key in levels)
    return ", ".join(f"{called[key]} = {level_text(levels[key])}" for key in own)


def _valid_blocks(blocks: Tried, label: str) -> Blocks:
    """What a service saw by block, where all that were measured with it were believed."""
    measured: dict[int, Measured] = {}
    for block, tried in blocks.items():
        whole = plan.whole(_outcomes(tried)) or {}
        for one in tried.get(label, ()):
            if one.outcome is whole.get(label) and one.outcome.requests >= _NEEDED:
                measured[block] = one
    return measured


def _outcomes(tried: Mapping[str, Sequence[Measured]]) -> Mapping[str, Sequence[Outcome]]:
    return {label: [measured.outcome for measured in of] for label, of in tried.items()}


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
    value, ends = log_ratio_contrasts.ratio([math.log(a / b) for a, b in pairs])
    return None if value is None or ends is None else (value, ends.lo, ends.hi)


def _doubts(both: Sequence[Tried], label: str) -> Iterator[str]:
    """Why measurements of a service do not count: the last word of whoever was not believed."""
    for tried in (_outcomes(tried) for blocks in both for tried in blocks.values()):
        last = [runs[-1] for runs in tried.values() if runs]
        if plan.whole(tried) is None:
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
        yield f"{len(pairs)} blocks were valid both together and alone; two are needed"


KIND = TogetherAnswer()
