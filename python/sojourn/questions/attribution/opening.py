"""Which factor moves the tail, by how much: effects as dots with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sojourn.findings.findings import Findings
from sojourn.questions.attribution.judge import SENTENCE_QUANTILE, Attributed, Attributions
from sojourn.questions.attribution.plan import NAME
from sojourn.questions.attribution.words import named, term_name
from sojourn.report import dot_rows, labels, numbers, show
from sojourn.report.openings.opening import Opening, Opens, fitting, sentence
from sojourn.stats.quantile_regression import MOVES, NOT_SHOWN, SEEMS, Fit, Term
from sojourn.text.numbers import percentile

NAMED_MAX = 3
TINY = 1e-9


class Attribution(Opens):
    """Factors of two levels each, all combinations at one rate."""

    name = NAME
    place = 80

    def applies(self, findings: Findings) -> bool:
        """Where the study asks for attribution."""
        return findings.section(Attributions) is not None

    def opening(self, findings: Findings, width: int) -> Opening:
        """What moves the tail; then what only seems to; then what was not shown."""
        section = findings.section(Attributions)
        of = section.of if section else ()
        text = [line for one in of for line in lines(findings, one, width)]
        texts = [line for one in of for line in sentences(findings, one)]
        return Opening(
            headline=headline(findings, of[0]) if of else "nothing was measured",
            sentences=tuple(texts[:3]),
            figures=(NAME,),
            text=tuple(text),
        )


def sentence_fit(one: Attributed) -> Fit | None:
    """The quantile that is reported; None where too few blocks are whole."""
    return next((fit for fit in one.fits if fit.q == SENTENCE_QUANTILE), None)


def ranked(fit: Fit) -> list[Term]:
    """What moves it first, then what seems to, each the largest first."""
    order = (MOVES, "", NOT_SHOWN)
    return sorted(
        fit.terms,
        key=lambda term: (
            order.index(term.said) if term.said in order else 1,
            -max(term.ratio, 1 / term.ratio),
        ),
    )


def headline(findings: Findings, one: Attributed) -> str:
    """The factor that moves it most."""
    fit, called = sentence_fit(one), named(findings, one)
    if fit is None:
        return "Which factor moves p99 is unknown"
    moves = [term for term in ranked(fit) if term.said == MOVES]
    tail = percentile(fit.q)
    if not moves:
        return f"No factor was shown to move {tail}"
    first = moves[0]
    number = numbers.ratio(first.ratio, first.interval).partition(" (")[0]
    return fitting(
        f"{tail} is moved by {term_name(first, called)}: {number} times",
        f"{term_name(first, called)}: {tail} {number} times",
    )


def sentences(findings: Findings, one: Attributed) -> Iterator[str]:
    """What moves it and by how much; what seems to; what was not shown, once."""
    fit, called = sentence_fit(one), named(findings, one)
    if fit is None:
        yield sentence(*(reason.partition(": run on")[0] for reason in one.reasons[:1]), "unknown")
        return
    terms, tail = ranked(fit), percentile(fit.q)
    by = {word: [t for t in terms if t.said == word] for word in (MOVES, SEEMS, NOT_SHOWN)}
    for term in by[MOVES][:2]:
        number, _, ends = numbers.ratio(term.ratio, term.interval).partition(" ")
        base = f" {labels.than(called[term.factors[0]][0])}" if len(term.factors) == 1 else ""
        with_ = f"With {term_name(term, called)}"
        yield sentence(
            f"{with_} {tail} of {one.service} is {number} times {ends} as long{base}",
            f"{with_} {tail} is {number} times {ends} as long",
        )
    yield from _seems(by[SEEMS], called, tail)
    rest = by[NOT_SHOWN]
    singles = [term_name(term, called) for term in rest if len(term.factors) == 1]
    pairs = sum(len(term.factors) > 1 for term in rest)
    if rest:
        more = f"{pairs} pair{'' if pairs == 1 else 's'} of factors" if pairs else ""
        who = show.listed([*singles, *filter(None, [more])], NAMED_MAX)
        limit = max(max(t.interval.hi, 1 / max(t.interval.lo, TINY)) for t in rest)
        yield sentence(
            f"No effect of {who} was shown; none is above {numbers.factor(limit)}",
            f"No effect of {who} was shown",
        )


def _seems(terms: list[Term], called: Mapping[str, tuple[str, str]], tail: str) -> Iterator[str]:
    """What would be an effect if it had been the only one that was tested."""
    if not terms:
        return
    who = show.listed([term_name(term, called) for term in terms], NAMED_MAX)
    does = f"seem{'s' if len(terms) == 1 else ''} to move {tail}"
    number, _, ends = numbers.ratio(terms[0].ratio, terms[0].interval).partition(" ")
    size = f", {number} times {ends}," if len(terms) == 1 else ""
    why = "because several effects were tested at once"
    count = f"{len(terms)} effects only {does}"
    yield sentence(f"{who}{size} only {does}, {why}", f"{who} only {does}", count)


def lines(findings: Findings, one: Attributed, width: int) -> Iterator[str]:
    """A row for each term: factors first, then pairs."""
    fit, called = sentence_fit(one), named(findings, one)
    if fit is None:
        return
    yield f"{percentile(fit.q)} of {one.service} at {one.rate} requests/s, times as long; │ is 1"[
        :width
    ]
    yield from dot_rows.lines([_row(term, called) for term in ranked(fit)], width)


def _row(term: Term, called: Mapping[str, tuple[str, str]]) -> dot_rows.Row:
    return dot_rows.Row(
        name=term_name(term, called),
        at=term.ratio,
        lo=term.interval.lo,
        hi=term.interval.hi,
        words=numbers.ratio(term.ratio, term.interval),
        sign="shown" if term.said == MOVES else "open",
    )


KIND = Attribution()
