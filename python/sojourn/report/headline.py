"""The study in fewer than 60 characters, and the sentences that stand beneath them."""

from __future__ import annotations

from collections import Counter

from sojourn.findings.effects import Effect, Trend
from sojourn.findings.findings import Findings
from sojourn.report import factor_words, labels, parts, tiles

MOST = 59
FACTORS_FIRST = 3


def of(findings: Findings) -> str:
    """What the study came to; the shorter form where the longer does not fit."""
    own = [text for kind in parts.sections() if (text := kind.study_answer(findings))]
    answers = [f"{labels.called(s)} {tiles.short(s)}" for s in findings.services]
    targets = {tiles.target(s) for s in findings.services}
    same = f" at {targets.pop()}" if len(targets) == 1 and targets != {""} else ""
    checked = ", ".join(filter(None, (kind.study_words(findings) for kind in parts.sections())))
    text = ", ".join(answers)
    forms = [
        *own,
        "; ".join(part for part in (f"{text}{same}" if text else "", checked) if part),
        "; ".join(part for part in (text, checked) if part),
        text,
        *(_of_factors(findings) if len(findings.services) > 1 else ()),
        "; ".join(part for part in (_counted(findings), checked) if part),
        _counted(findings) or checked,
    ]
    count = len(findings.points)
    none = f"{count} points were measured" if count else "nothing was measured"
    return next((form for form in forms if form and len(form) <= MOST), none)


def beneath(findings: Findings) -> tuple[str, ...]:
    """What is asked of the study as a whole, answered in sentences: of all services, by factor.

    Of many factors the first are reported; all stand under "By factor".
    """
    of_all = [
        text
        for kind in parts.sections()
        if not kind.study_words(findings)  # else it is in the headline
        for text in kind.study_head(findings)
    ]
    first = findings.factors[:FACTORS_FIRST]
    return (*of_all, *(text for factor in first for text in factor_words.sentences(factor)))


def answer(findings: Findings) -> str:
    """The answer of the analysis without what `beneath` says in fewer words."""
    text = findings.answer
    for factor in findings.factors[:FACTORS_FIRST]:
        if factor_words.sentences(factor) != [factor.sentence]:
            text = text.replace(factor.sentence, "")
    return " ".join(text.split())


def _of_factors(findings: Findings) -> list[str]:
    """What factors surely do, tails first: `gzip = true: p99 at 60 % load × 1.53 (1.12–2.09)`."""
    reports: list[tuple[int, str]] = []
    for factor in findings.factors:
        every: tuple[Effect | Trend, ...] = (*factor.trends, *factor.effects)
        for one in every:
            ends = one.interval
            if one.ratio is None or ends is None or ends.lo <= 1 <= ends.hi or not _is_certain(one):
                continue
            what = factor.name if isinstance(one, Trend) else f"{factor.name} = {one.level}"
            number = f"{one.ratio:.3g} ({ends.lo:.3g}–{ends.hi:.3g})"
            reports.append((_rank(one.what), f"{what}: {one.what} × {number}"))
    return [text for _, text in sorted(reports, key=lambda each: each[0])]


def _rank(what: str) -> int:
    """Tails, then how much load there can be, then middles."""
    if what.startswith(("p50 ", "the mean ")):
        return 2
    return 0 if what.startswith("p") else 1


def _is_certain(one: Effect | Trend) -> bool:
    """Whether an effect is more than noise, and a trend of one kind."""
    if isinstance(one, Trend):
        return one.kind in {"cliff", "knee", "rises", "falls"}
    return not one.is_noise and not one.doubt


def _counted(findings: Findings) -> str:
    number = Counter(str(s.verdict) for s in findings.services)
    words = ", ".join(f"{n} {word}" for word, n in number.items())
    count = len(findings.services)
    what = "combination" if findings.factors else "service"
    return f"{count} {what}{'' if count == 1 else 's'}: {words}" if count else ""
