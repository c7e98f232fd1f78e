"""Whether a study has an answer: a verdict, or what each of its factors does, told well enough."""

from __future__ import annotations

from sojourn.analysis import trend
from sojourn.analysis.findings import Effect, FactorFinding, Findings, Trend
from sojourn.plan.points import Verdict

AS_MUCH = 2.0  # a ratio that is not told from 1, yet known to be within this either way, is told


def is_answered(found: Findings) -> bool:
    """Whether its question is answered.

    A study of one setting answers by its verdict. One with factors asks what they do: it is
    answered where of each factor one number at least is told, whatever is unknown of its target.
    """
    told = [factor for factor in found.factors if factor.effects]
    if found.verdict is not Verdict.UNKNOWN or not told:
        return found.verdict is not Verdict.UNKNOWN
    return all(map(_is_told, told))


def _is_told(factor: FactorFinding) -> bool:
    return any(map(_is_sure, factor.effects)) or any(map(_is_sure, factor.trends))


def _is_sure(one: Effect | Trend) -> bool:
    if isinstance(one, Trend) and one.kind in {trend.UNKNOWN, "unclear"}:
        return False
    if one.interval is None:
        return isinstance(one, Trend)  # flat
    low, high = one.interval.lo, one.interval.hi
    return not low <= 1 <= high or (low >= 1 / AS_MUCH and high <= AS_MUCH)
