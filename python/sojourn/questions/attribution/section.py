"""Which factor moves the tail: a row for each term, and a figure of effects with intervals."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.findings.findings import Findings
from sojourn.questions.attribution.judge import SENTENCE_QUANTILE, Attributions
from sojourn.questions.attribution.plan import NAME
from sojourn.questions.attribution.words import named, term_name
from sojourn.report import show
from sojourn.report.draw import dots
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.draw.table import Record, from_records
from sojourn.report.section import Shown
from sojourn.stats.quantile_regression import MOVES, NOT_SHOWN, SEEMS

# fmt: off
COLUMNS = (
    "service", "term", "quantile", "times", "lo", "hi", "p", "p_holm", "said", "blocks",
    "pseudo_r2",
)
# fmt: on
LOOKS = {MOVES: "violated", SEEMS: "crossing", NOT_SHOWN: "unknown"}


def rows(findings: Findings) -> list[Record]:
    """A record of each term and quantile."""
    section = findings.section(Attributions)
    return [
        {
            "service": one.service,
            "term": " with ".join(term.factors),
            "quantile": show.quantile(fit.q),
            "times": term.ratio,
            "lo": term.interval.lo,
            "hi": term.interval.hi,
            "p": term.p,
            "p_holm": term.p_holm,
            "said": term.said,
            "blocks": fit.blocks,
            "pseudo_r2": fit.pseudo_r2,
            "words": f"{term.ratio:.2f} ({term.interval.lo:.2f} to {term.interval.hi:.2f})",
            "chance": f"{term.p_holm:.2g}",
            "what": f"{one.service}: {term_name(term, named(findings, one))}",
            "ratio": term.ratio,
            "row": term_name(term, named(findings, one)),
            "look": term.said,
            "shown": f"{term.ratio:.3g}" if term.said == MOVES else "",
        }
        for one in (section.of if section else ())
        for fit in one.fits
        for term in fit.terms
    ]


def draw(findings: Findings) -> list[Figure]:
    """One figure; none where it was not asked."""
    if findings.section(Attributions) is None:
        return []
    records, title = rows(findings), "What each factor does to p99"
    table = from_records(COLUMNS, records)
    drawn = [record for record in records if record["quantile"] == show.quantile(SENTENCE_QUANTILE)]
    if not drawn:
        missing = (
            "p99 is infinite in some runs, because requests were lost."
            if records
            else "Too few blocks have a valid run of every combination."
        )
        return [Figure(name=NAME, title=title, caption="", alt="", table=table, missing=missing)]
    moved = sum(record["said"] == "moves it" for record in drawn)
    return [
        Figure(
            name=NAME,
            title=title,
            caption=(
                "Ratio of p99 between a factor's levels, averaged over the other factors. For two"
                " factors: by how much the ratio of one differs between the levels of the other."
                " Lines are 95 % intervals over blocks, each for itself. (M17)"
            ),
            alt=f"{moved} of {len(drawn)} terms move p99.",
            table=table,
            chart=dots.ratios(
                drawn,
                looks=LOOKS,
                hollow=NOT_SHOWN,
                title=title,
                across="times as long as with the other level",
                tooltip=("what", "words", "chance", "said"),
            ),
        )
    ]


FIGURE = Kind(name=NAME, about="what each factor does to p99 (M17)", of_study=draw)


class AttributionShown(Shown):
    """A part of the report for itself."""

    name = NAME
    template = ""
    study_template = "attribution/section.html.j2"
    study_link = (NAME, "which factor moves the tail")
    figures = (FIGURE,)

    def rows(self, findings: Findings) -> list[Record]:
        """What the table on the page holds."""
        return rows(findings)

    def study_head(self, findings: Findings) -> Iterator[str]:
        """What moves the tail, in sentences."""
        if section := findings.section(Attributions):
            yield section.answer

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """A line for each term and quantile."""
        records = rows(findings)
        if not records:
            return
        yield "which factor moves the tail ".ljust(width, "=")
        for row in records:
            line = f"{row['what']!s:<34} {row['quantile']!s:<5} {row['words']!s:<22} {row['said']}"
            yield line[:width]


KIND = AttributionShown()
