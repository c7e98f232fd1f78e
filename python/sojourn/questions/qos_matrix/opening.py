"""Two services at every pair of loads: the matrix, both frontiers, and the pairs that work."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings
from sojourn.questions.qos_matrix.matrix import BOTH, NONE, OPEN, Matrix, MatrixCell, QosMatrix
from sojourn.questions.qos_matrix.section import DRAWN, drawn, keeps, name_of
from sojourn.report import show
from sojourn.report.draw.table import Table
from sojourn.report.openings.opening import Opening, Opens, fitting, short

LEGEND = "✓ both keep their targets, A only {}, B only {}, ✗ neither, ? open"
CAPTION = "Up to which load each pair works"


class MatrixOpens(Opens):
    """One matrix, or one under each combination of levels."""

    name = "qos_matrix"
    place = 20

    def applies(self, findings: Findings) -> bool:
        """Where a matrix was measured."""
        section = findings.section(QosMatrix)
        return bool(section and section.matrices)

    def opening(self, findings: Findings, width: int) -> Opening:
        """The best matrix in words, all of them as pictures."""
        section = findings.section(QosMatrix)
        assert section is not None  # noqa: S101  # it applies
        best = _best(section.matrices)
        return Opening(
            headline=_headline(best),
            sentences=tuple(_sentences(best, section.matrices))[:3],
            figures=(DRAWN,),
            text=tuple(_text(section.matrices, width)),
            table=_table(best),
            caption=CAPTION + (f", {name_of(best)}" if best.levels else ""),
        )


def _best(matrices: Sequence[Matrix]) -> Matrix:
    """The one in which most pairs surely fit; of several the one with the most that are open."""
    return max(matrices, key=lambda one: (one.counts[BOTH], one.counts[OPEN]))


def _is_surely_best(best: Matrix, matrices: Sequence[Matrix], by: int = 0) -> bool:
    """Whether it fits as many pairs as any other one, or `by` more, whatever open ones become."""
    others = (one for one in matrices if one is not best)
    return all(best.counts[BOTH] >= one.counts[BOTH] + one.counts[OPEN] + by for one in others)


def _headline(matrix: Matrix) -> str:
    fits, pairs = matrix.counts[BOTH], len(matrix.cells)
    still = f", {matrix.counts[OPEN]} open" if matrix.counts[OPEN] else ""
    text = f"Both targets met in {fits} of {pairs} pairs of loads"
    return fitting(f"{text}{still}", text)


def _sentences(matrix: Matrix, matrices: Sequence[Matrix]) -> Iterator[str]:
    first, second = matrix.services
    if len(matrices) > 1:
        fits = f"{matrix.counts[BOTH]} of {len(matrix.cells)}"
        of = f"{len(matrices)} settings"
        if _is_surely_best(matrix, matrices):
            is_tied = not _is_surely_best(matrix, matrices, by=1)
            most = "none fits more pairs of loads than" if is_tied else "most pairs fit with"
            yield f"Of {of} {most} {name_of(matrix)}: {fits}."
        else:
            yield short(
                f"Which of {of} fits most pairs is open; with {name_of(matrix)} surely {fits} fit.",
                f"Which of {of} fits most pairs is open.",
            )
    if reach := frontier(matrix):
        (low, end), (high, least) = reach[0], reach[-1]
        far = f", and {_up_to(matrix, high, least)} beside {show.load(high)}" if high > low else ""
        beside = f"beside {second} at {show.load(low)}"
        yield f"Both fit with {first} {_up_to(matrix, low, end)} load {beside}{far}."
    if cell := matrix.most:
        together = f"{first} at {show.load(cell.row)} with {second} at {show.load(cell.column)}"
        surely = "" if matrix.is_bounded else "surely "
        yield f"The most load that {surely}fits together is {together}."
    else:
        surely = "surely " if matrix.counts[OPEN] else ""
        yield f"No pair of loads {surely}keeps the targets of both {first} and {second}."
    yield from _missed(matrix)


def _above(matrix: Matrix, column: float, most: float | None) -> MatrixCell | None:
    """The next cell above the highest load of the first that fits beside this of the second."""
    return min(
        (c for c in matrix.cells if c.column == column and (most is None or c.row > most)),
        key=lambda cell: cell.row,
        default=None,
    )


def _up_to(matrix: Matrix, column: float, most: float) -> str:
    """`up to 60 %`; `up to at least 60 %` where the next load is open."""
    above = _above(matrix, column, most)
    is_open = above is not None and above.meets == OPEN
    return f"up to {'at least ' if is_open else ''}{show.load(most)}"


def _missed(matrix: Matrix) -> Iterator[str]:
    """Which target is missed in the other pairs; nothing where all fit."""
    first, second = matrix.services
    counts = matrix.counts
    texts = [
        (counts[f"{second} only"], f"only {first} misses its target"),
        (counts[f"{first} only"], f"only {second} does"),
        (counts[NONE], "both do"),
        (counts[OPEN], "it is open"),
    ]
    parts = [f"in {count} {words}" for count, words in texts if count]
    if parts:
        others = "In the other pairs" if counts[BOTH] else f"Of all {len(matrix.cells)} pairs"
        yield f"{others}: {', '.join(parts)}."


def frontier(matrix: Matrix) -> list[tuple[float, float]]:
    """(load of the second service, load of the first up to which both fit), ascending.

    "Up to" means from the lowest load on: where more load does not always make it worse, both may
    fit at a load and not below it. Loads of the second beside which the lowest load of the first
    does not fit are left out.
    """
    reach: dict[float, float] = {}
    stopped: set[float] = set()
    for cell in sorted(matrix.cells, key=lambda cell: cell.row):
        if cell.meets != BOTH:
            stopped.add(cell.column)
        elif cell.column not in stopped:
            reach[cell.column] = cell.row
    return sorted(reach.items())


def _table(matrix: Matrix) -> Table:
    """By load of the second service: up to where both fit, and who misses first above that."""
    first, second = matrix.services
    reach = dict(frontier(matrix))
    rows = []
    for column in sorted({cell.column for cell in matrix.cells}):
        most = reach.get(column)
        above = _above(matrix, column, most)
        who = _who(matrix, above) if above else "nobody"
        fits = any(c.meets == BOTH for c in matrix.cells if c.column == column)
        upto = _fits(most, above) if most or not fits else "not at its lowest load, but above"
        rows.append((show.load(column), upto, who))
    columns = (f"{second} at", f"{first} fits up to", "above that misses")
    return Table(columns=columns, rows=tuple(rows))


def _fits(most: float | None, above: MatrixCell | None) -> str:
    """Up to which load of the first both fit, and whether it may be more."""
    is_open = above is not None and above.meets == OPEN
    if most is None:
        return "open" if is_open else "at no load"
    return f"{show.load(most)}{' or more' if is_open else ''}"


def _who(matrix: Matrix, cell: MatrixCell) -> str:
    """Who misses its target in a cell."""
    if cell.meets == OPEN:
        return "open"
    missed = [
        name
        for name, is_retained in zip(matrix.services, keeps(matrix, cell), strict=True)
        if not is_retained
    ]
    return " and ".join(missed) or "nobody"


def _text(matrices: Sequence[Matrix], width: int) -> Iterator[str]:
    first, second = matrices[0].services
    for matrix in matrices:
        if matrix.levels:
            yield f"{name_of(matrix)}:"[:width]
        yield f"load of {first}"
        yield from drawn(matrix)
        yield ""
    yield f"across: load of {second}"
    yield from textwrap.wrap(LEGEND.format(first, second), width)


KIND = MatrixOpens()
