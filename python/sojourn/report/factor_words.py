"""What a factor does, in sentences of a writer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from sojourn.findings.effects import Effect, FactorFinding
from sojourn.plan.setting import NEIGHBOUR
from sojourn.report import labels, numbers
from sojourn.report.openings.opening import an, sentence, short
from sojourn.report.ratios import named

RAW = re.compile(r'= "')
LONG = 60  # words of a join, from which on no one reads it
NAMED = 3  # levels of a sentence


def sentences(factor: FactorFinding) -> list[str]:
    """What was shown, number by number; then once of how many nothing was, and what is unknown.

    A short sentence without levels as a study file has them stays as the analysis made it.
    """
    is_plain = not RAW.search(factor.sentence) and len(factor.sentence.split()) <= LONG
    if is_plain or factor.equal or factor.platforms or not factor.effects:
        return [factor.sentence]
    return [*_shown(factor), *_rest(factor), *_aliases(factor)]


def is_shown(effect: Effect) -> bool:
    """Whether it is a difference, by its interval or because one side is endless."""
    if effect.endless:
        return True
    ends = effect.interval
    return ends is not None and numbers.excludes_one(ends) and not effect.is_noise


def _shown(factor: FactorFinding) -> Iterator[str]:
    for what in dict.fromkeys(one.what for one in factor.effects):
        own = [one for one in factor.effects if one.what == what and is_shown(one)]
        if not own:
            continue
        how = "as long" if own[0].is_time else "as high"
        by = " beside " if factor.key == NEIGHBOUR else " with "
        base = named(factor.key, own[0].base)
        texts = [f"{_ratio(one)} {how}{by}{_named(factor.key, one)}" for one in own]
        start = f"{what} of {factor.service} is"
        than = labels.than(base)
        rest = len(own) - 1
        also = f", and {rest} more {'level differs' if rest == 1 else 'levels differ'}"
        more = also if rest else f" {than}"
        yield sentence(
            f"{start} {', '.join(texts[:NAMED])}{more if len(own) > NAMED else f' {than}'}",
            f"{start} {texts[0]}{more}",
            f"{start} {_ratio(own[0])} {how}{more}",
        )


def _named(key: str, one: Effect) -> str:
    return an(named(key, one.level))


def _ratio(one: Effect) -> str:
    if one.endless:
        return "without end" if one.endless > 0 else "0 times"
    if one.ratio is None or one.interval is None:
        return "unknown"
    number, _, ends = numbers.span(one.ratio, one.interval, is_shown=True).partition(" (")
    return f"{number} times ({ends}" if ends else f"{number} times"


def _rest(factor: FactorFinding) -> Iterator[str]:
    count = len(factor.effects)
    open_ = sum(one.interval is not None and not is_shown(one) for one in factor.effects)
    if open_:
        yield f"In {open_} of {count} comparisons no difference was shown."
    lacking = Counter(
        one.reason for one in factor.effects if one.interval is None and not one.endless
    )
    for reason, times in lacking.items():
        what = f"{times} of {count} comparisons {'is' if times == 1 else 'are'} unknown"
        yield short(f"{what}: {reason}.", f"{what}.")


def _aliases(factor: FactorFinding) -> Sequence[str]:
    if not factor.aliases:
        return []
    of = ", ".join(factor.aliases)
    return [f"The design is a fraction: this effect cannot be separated from that of {of}."]
