"""Scheduler settings side by side: a small matrix each, and what each can and cannot do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from sojourn.findings.findings import Findings
from sojourn.papers.schedulers import CONSERVES, NO, PREEMPTS, RESERVES, YES
from sojourn.questions.qos_matrix.matrix import Matrix, QosMatrix
from sojourn.questions.qos_matrix.opening import LEGEND
from sojourn.questions.qos_matrix.section import DRAWN, drawn
from sojourn.questions.scheduler_bakeoff.judge import Bakeoff, Candidate
from sojourn.questions.scheduler_bakeoff.properties import UNDECIDED, Property
from sojourn.questions.scheduler_bakeoff.section import most_together
from sojourn.report import labels, show
from sojourn.report.draw.table import Table
from sojourn.report.openings.opening import Opening, Opens, capital, fitting, listed, short

CAPTION = "What each setting carries and can do; ✗ marks what it cannot"
SIGNS = {YES: "✓", NO: "✗", UNDECIDED: "?"}
#: Each property as a column, and as a clause about the settings that have it.
COLUMNS = {
    RESERVES: "reserves a share",
    CONSERVES: "uses idle time",
    PREEMPTS: "order can be set",
}
LACKS = {
    RESERVES: "no share is reserved with {}",
    CONSERVES: "idle time is lost with {}",
    PREEMPTS: "the order cannot be set with {}",
}
NAMED = 2  # settings
GAP = 4  # columns between two matrices of text


class BakeoffOpens(Opens):
    """All settings of a bake-off at once."""

    name = "scheduler_bakeoff"
    place = 10

    def applies(self, findings: Findings) -> bool:
        """Where at least one setting was measured."""
        section = findings.section(Bakeoff)
        return bool(section and section.candidates)

    def opening(self, findings: Findings, width: int) -> Opening:
        """The setting that carries most, then what each can do."""
        section, matrices = findings.section(Bakeoff), findings.section(QosMatrix)
        assert section is not None  # noqa: S101  # it applies
        table = _table(section.candidates)
        head = [name.replace("_", " ") for name in table.columns]
        rows = [[str(cell) for cell in row] for row in table.rows]
        own = matrices.matrices if matrices else ()
        return Opening(
            headline=_headline(section.candidates),
            sentences=tuple(_sentences(section)),
            figures=(DRAWN,) if own else (),
            text=(*_side_by_side(own, width), *listed(head, rows, width)),
            table=table,
            caption=CAPTION,
        )


def called(one: Candidate) -> str:
    """A setting in a few words."""
    return labels.pair(one.levels) if one.levels else one.name


def _measured(candidates: Sequence[Candidate]) -> list[Candidate]:
    return [one for one in candidates if one.fits is not None]


def _best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """All that carry as many pairs as any other one, whatever becomes of what is open there."""
    return [
        one
        for one in _measured(candidates)
        if all(_is_beaten(two, one) for two in candidates if two is not one)
    ]


def _is_beaten(one: Candidate, by: Candidate) -> bool:
    """Whether a setting surely carries no more pairs than another one."""
    return (by.fits or 0) >= (one.fits or 0) + one.open


def _able(candidates: Sequence[Candidate]) -> list[Candidate]:
    """All that may carry most: as many pairs as surely fit under the best, if open ones fit.

    Of a setting without a matrix all pairs are open.
    """
    most = max((one.fits or 0 for one in candidates), default=0)
    return [one for one in candidates if (one.fits or 0) + one.open >= most]


def _headline(candidates: Sequence[Candidate]) -> str:
    best = _best(candidates)
    if not _measured(candidates):
        return f"{len(candidates)} scheduler settings, none with a matrix"
    if not best:
        able, of = len(_able(candidates)), len(candidates)
        return f"Which setting carries most is open: {able} of {of} may"
    fits = f"{_surely(best[0])} of {best[0].cells} pairs of loads"
    if len(best) == 1:
        name = called(best[0])
        return fitting(f"{capital(name)} carries most: {fits}", f"{capital(name)}: {fits}", fits)
    return fitting(f"{len(best)} of {len(candidates)} settings carry most: {fits}")


def _sentences(bakeoff: Bakeoff) -> Iterator[str]:
    best = _best(bakeoff.candidates)
    rest = [one for one in _measured(bakeoff.candidates) if one not in best]
    if best:
        names = show.listed([called(one) for one in best], 2)
        usual = next((one for one in rest if called(one) == labels.KERNEL), None)
        least = f"; the kernel default fits {_surely(usual)}, up to {_most(usual)}" if usual else ""
        to = min(best, key=lambda one: one.most or 0)  # with each that is named
        fits = f"With {names} up to {_most(to)} load of both together fits"
        yield short(f"{fits}{least}.", f"{fits}.", f"Up to {_most(to)} load of both together fits.")
    elif rest:
        able = _able(bakeoff.candidates)
        surely = min(one.fits or 0 for one in able)
        perhaps = max((one.fits or 0) + one.open for one in able)
        fits = f"{surely} to {perhaps} of {able[0].cells}"
        names = show.listed([called(one) for one in able], NAMED)
        yield short(
            f"Most may fit with {names}: {fits} pairs of loads.",
            f"Most may fit under {len(able)} settings: {fits} pairs of loads.",
        )
    yield from _lacks(bakeoff.candidates)
    yield from _paper(bakeoff)


def _surely(one: Candidate) -> str:
    return f"{'at least ' if one.open else ''}{one.fits}"


def _most(one: Candidate) -> str:
    """The most load of both together; a bound where pairs are open, which may have more."""
    return f"{'at least ' if one.open else ''}{show.load(one.most or 0.0)}"


def _lacks(candidates: Sequence[Candidate]) -> Iterator[str]:
    """What which setting cannot do: by name, or as a count where names are too long."""
    judged = [(one, p) for one in candidates for p in one.properties]
    lacking = {
        name: [called(one) for one, p in judged if (p.name, p.verdict) == (name, NO)]
        for name in LACKS
    }
    some = {name: names for name, names in lacking.items() if names}
    if judged and not some:
        yield f"No setting lacks any of {len(LACKS)} properties."
    elif some:
        by_name = "; ".join(LACKS[p].format(show.listed(of, NAMED)) for p, of in some.items())
        counted = "; ".join(LACKS[p].format(f"{len(of)} settings") for p, of in some.items())
        yield capital(short(f"{by_name}.", f"{counted}."))


def _paper(bakeoff: Bakeoff) -> Iterator[str]:
    """How many of the paper's words on properties are confirmed."""
    compared = sum(
        bool(others) and own.verdict != UNDECIDED
        for one in bakeoff.candidates
        for own, others in zip(one.properties, one.paper, strict=True)
    )
    if compared:
        agree = compared - len(bakeoff.disagreements)
        yield f"Of {compared} properties that the paper states, {agree} are the same here."


def _table(candidates: Sequence[Candidate]) -> Table:
    rows = tuple(
        (
            called(one),
            _fits(one),
            most_together(one),
            *(_property(one, name) for name in COLUMNS),
        )
        for one in candidates
    )
    return Table(
        columns=("setting", "pairs that fit", "most together", *COLUMNS.values()), rows=rows
    )


def _fits(one: Candidate) -> str:
    if one.fits is None:
        return "–"
    return f"{one.fits} of {one.cells}" + (f", {one.open} open" if one.open else "")


def _property(one: Candidate, name: str) -> str:
    """✓ or ✗, and the paper's word where it is another."""
    pairs: list[tuple[Property, str]] = list(zip(one.properties, one.paper, strict=True))
    for own, others in pairs:
        if own.name == name:
            is_unlike = others and own.verdict not in {others, UNDECIDED}
            return SIGNS[own.verdict] + (f" (paper {SIGNS[others]})" if is_unlike else "")
    return "–"


def _side_by_side(matrices: Sequence[Matrix], width: int) -> Iterator[str]:
    """Small matrices next to each other, as many as fit in a line, each under its setting."""
    if not matrices:
        return
    pictures = [list(drawn(matrix)) for matrix in matrices]
    size = max(len(line) for picture in pictures for line in picture)
    fit = max(1, (width + GAP) // (size + GAP))
    for at in range(0, len(pictures), fit):
        row = pictures[at : at + fit]
        names = [textwrap.wrap(labels.pair(m.levels), size) for m in matrices[at : at + fit]]
        deep = max(map(len, names))
        blocks = [[""] * (deep - len(n)) + n + p for n, p in zip(names, row, strict=True)]
        for line in zip_longest(*blocks, fillvalue=""):
            yield (" " * GAP).join(part.ljust(size) for part in line).rstrip()
        yield ""
    first, second = matrices[0].services
    yield f"up: load of {first}, across: load of {second}"
    yield from textwrap.wrap(LEGEND.format(first, second), width)
    yield ""


KIND = BakeoffOpens()
