"""Which factor moves the tail: all combinations of a study together (M17)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn import quantiles as table
from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.combinations import Part, parts
from sojourn.analysis.counted import Counted, is_narrow
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.plan import make
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.plan.setting import level_text
from sojourn.questions.attribution import asks
from sojourn.questions.attribution.plan import NAME, PHASE
from sojourn.spec import ServiceSpec
from sojourn.spec.levels import names
from sojourn.stats import quantile_regression
from sojourn.stats.quantile_regression import MOVES, SAMPLES, SEEMS, Cell, Fit, Floats, Term
from sojourn.stats.times import Times
from sojourn.text.numbers import percentile

HIGHEST = 0.99  # of the quantiles, by regression
SENTENCE_QUANTILE = 0.99
TWO = 2  # levels of each factor
LATEST_NS = 3.6e12  # of a request that never completed, as the generator's log has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributed(Section):
    """One service.

    Attributes:
        service: label.
        rate: offered under every combination, requests/s, as the study has it.
        levels: (factor, low, high): a ratio is of high over low.
        fits: a quantile each, without those that lost requests made infinite in any run; () where
            too few blocks are whole.
    """

    service: str = ""
    rate: str = ""
    levels: tuple[tuple[str, str, str], ...] = ()
    fits: tuple[Fit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributions(Section):
    """Every service that it was asked of."""

    of: tuple[Attributed, ...] = ()


class AttributionAnswer(Answer):
    """About all combinations, so none has a section of its own."""

    name = NAME
    section = Attributions

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> None:
        """None: it is about all combinations."""
        del data, spec, progress, finding

    def is_part(self, spec: ServiceSpec) -> bool:
        """A combination is measured for the sake of all of them."""
        return NAME in spec.measure

    def whole(self, data: StudyData) -> Attributions | None:
        """What each factor does to each quantile."""
        asked = [part for part in parts(data) if self.is_part(part.spec)]
        labels = dict.fromkeys(part.spec.label for part in asked)
        every = tuple(
            _service(data, [part for part in asked if part.spec.label == label]) for label in labels
        )
        if not every:
            return None
        reasons = tuple(reason for one in every for reason in one.reasons)
        return Attributions(
            headline=" ".join(one.headline for one in every),
            answer=" ".join(one.answer for one in every),
            verdict=Verdict.UNKNOWN if reasons else Verdict.HOLDS,
            reasons=reasons,
            of=every,
        )

    def counted(self, findings: Findings) -> Counted | None:
        """Factors of which is known by how much they move the tail."""
        section = findings.section(Attributions)
        if section is None:
            return None
        tails = [fit for one in section.of for fit in one.fits if fit.q == SENTENCE_QUANTILE]
        terms = [term for fit in tails for term in fit.terms if len(term.factors) == 1]
        done = sum(is_narrow(term.interval) for term in terms)
        return Counted(done, sum(len(one.levels) for one in section.of), "factors")

    def service_json(self, section: Section | None) -> Mapping[str, object]:
        """Nothing: it is about all combinations."""
        del section
        return {}

    def service_types(self) -> Mapping[str, Any]:
        """No type either: there is no such section."""
        return {}

    def study_types(self) -> Mapping[str, Any]:
        """A section where it was asked."""
        return {}


def _service(data: StudyData, own: Sequence[Part]) -> Attributed:
    study, label = data.study, own[0].spec.label
    keys = study.factors_of(label)
    called = names(study.factors)
    asked = asks.of(own[0].spec)
    rate = asked.rate if asked else ""
    if not keys or any(len(study.factors[key]) != TWO for key in keys):
        why = "attribution needs factors of two levels each: a 2^k design"
        return _unknown(label, rate, why)
    ends = {key: [level_text(level) for level in study.factors[key]] for key in keys}
    levels = tuple((called[key], low, high) for key, (low, high) in ends.items())
    blocks: dict[int, dict[Cell, Times]] = {}
    for part in own:
        cell = tuple(study.factors[key].index(part.levels[key]) for key in keys)
        for one in part.data.measured:
            outcome = one.outcome
            is_valid = outcome.point.phase is PHASE and outcome.verdict is not Verdict.UNKNOWN
            if is_valid and one.sojourn.n:
                blocks.setdefault(outcome.point.repeat, {})[cell] = one.sojourn
    whole = [block for block in blocks.values() if len(block) == TWO ** len(keys)]
    if len(whole) < quantile_regression.BLOCKS_MIN:
        why = (
            f"{len(whole)} of {study.run.repeats} blocks have a valid run of every combination, "
            f"{quantile_regression.BLOCKS_MIN} are needed: "
            "run on a quieter host, or with more repeats"
        )
        return _unknown(label, rate, why, levels)
    seed = make.seed_of(study, f"{label}/{NAME}")
    factors = [name for name, _, _ in levels]
    samples = [{cell: _samples(times) for cell, times in block.items()} for block in whole]
    fits = tuple(
        quantile_regression.fit(samples, factors, q, seed=seed)
        for q in reversed(table.falling(HIGHEST))
        if not _infinite(whole, q)
    )
    tail = next((one for one in fits if one.q == SENTENCE_QUANTILE), None)
    if tail is None:
        runs = f"{_infinite(whole, SENTENCE_QUANTILE)} of {len(whole) * TWO ** len(keys)} runs"
        why = (
            f"{percentile(SENTENCE_QUANTILE)} is infinite in {runs}, because requests were lost: "
            "lower the rate"
        )
        return _unknown(label, rate, why, levels, fits)
    text = sentence(label, rate, tail, levels)
    return Attributed(
        headline=text,
        answer=text,
        verdict=Verdict.HOLDS,
        service=label,
        rate=rate,
        levels=levels,
        fits=fits,
    )


def _infinite(blocks: Sequence[Mapping[Cell, Times]], q: float) -> int:
    """In how many runs lost requests make a quantile infinite.

    One is enough to refuse it: blocks without such a run would be chosen for their success.
    """
    return sum(times.quantile(q) == math.inf for block in blocks for times in block.values())


def _samples(times: Times) -> Floats:
    """As many times of every run, evenly spaced in order, ns; those of lost requests are last.

    Each is the middle of an equal share of the requests. Where that was lost, it is the beginning
    of the share, so a quantile that is finite lies between two samples that are. Where that was
    lost too, it is an hour: how late a sample above the quantile is does not move the fit.
    """
    begin = np.arange(SAMPLES) / SAMPLES
    middle, first = (
        np.array([times.quantile(float(q)) for q in shares], np.float64)
        for shares in (begin + 0.5 / SAMPLES, begin)
    )
    finite = np.where(np.isfinite(middle), middle, first)
    return np.asarray(np.minimum(finite, LATEST_NS), np.float64)


def _unknown(
    label: str,
    rate: str,
    why: str,
    levels: tuple[tuple[str, str, str], ...] = (),
    fits: tuple[Fit, ...] = (),
) -> Attributed:
    text = f"{label}: which factor moves p99 is unknown."
    return Attributed(
        headline=text,
        answer=text,
        verdict=Verdict.UNKNOWN,
        reasons=(f"{label}: {why}",),
        service=label,
        rate=rate,
        levels=levels,
        fits=fits,
    )


def sentence(label: str, rate: str, fit: Fit, levels: Sequence[tuple[str, str, str]]) -> str:
    """What moves the tail, and what does not."""
    tail = percentile(fit.q)
    both = {name: f"{name} {low} → {high}" for name, low, high in levels}
    moves = [_moved(term, both) for term in fit.terms if term.said == MOVES]
    seems = [_moved(term, both) for term in fit.terms if term.said == SEEMS]
    rest = [" with ".join(t.factors) for t in fit.terms if t.said not in (MOVES, SEEMS)]
    texts = [f"moved by {'; '.join(moves)}" if moves else "not shown to be moved by any factor"]
    texts += [f"only seems to be moved by {'; '.join(seems)}"] if seems else []
    texts += [f"not shown: {', '.join(rest)}"] if rest and moves else []
    return f"{label} at {rate} requests/s: {tail} is {'; '.join(texts)} ({fit.blocks} blocks)."


def _moved(term: Term, both: Mapping[str, str]) -> str:
    what = " together with ".join(both[name] for name in term.factors)
    return f"{what}, {term.ratio:.2f} times ({term.interval.lo:.2f} to {term.interval.hi:.2f})"


KIND = AttributionAnswer()
