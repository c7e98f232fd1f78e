"""QoS matrices: which of two services meets its target, at every pair of loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings
from sojourn.papers import matrices as paper_matrices
from sojourn.questions.qos_matrix.matrix import BOTH, NONE, OPEN, Matrix, MatrixCell, QosMatrix
from sojourn.report import labels, show
from sojourn.report.draw import matrix as draw_matrix
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.draw.frontier import edged
from sojourn.report.draw.table import Record, from_records
from sojourn.report.section import Shown

NAME = "qos_matrix"
DRAWN = "qos-matrix"
COLUMNS = (
    "matrix",
    "row",
    "column",
    "who",
    "chance_row",
    "chance_column",
    "p99_row_ns",
    "p99_column_ns",
    "runs",
    "lost",
)
TOOLTIP = ("matrix", "place", "who", "evidence", "p99")
PAPERS = f"{DRAWN}-paper"
ONLY_ROW, ONLY_COLUMN = "only the row's", "only the column's"
LOOKS = {
    BOTH: ("band", 0.5),
    ONLY_ROW: ("holds", 0.25),
    ONLY_COLUMN: ("crossing", 0.25),
    NONE: ("unknown", 0.3),
    OPEN: ("grid", 0.3),
}
LETTERS = {BOTH: "✓", ONLY_ROW: "A", ONLY_COLUMN: "B", NONE: "✗", OPEN: "?"}
SURE = 0.95  # that a service meets its target, for its frontier to lie beyond the cell
SMALL = 200  # least width of a panel, where there are many, px
FEW, LARGE = 2, 380  # matrices that get this height each, px
MEASURED = "A cell with a dot was measured, the others follow from those."
OF_PAPER = "The targets there: p99 ≤ 1 ms for memcached, p99 ≤ 20 ms for NGINX."
SIDES = {"MN": BOTH, "M": ONLY_ROW, "N": ONLY_COLUMN, "-": NONE}  # of the paper's letters
WIDE = 5  # columns of a cell of the table


def draw(findings: Findings) -> list[Figure]:
    """Ours side by side, with the paper's where it is about the same pair; none without one."""
    section = findings.section(QosMatrix)
    if not section or not section.matrices:
        return []
    first = section.matrices[0]
    row, column = first.services
    ours = [record for each in section.matrices for record in records_of(each)]
    records = _paper(first)
    title = f"Loads at which {row} and {column} keep their targets"
    about = f"{targets_in_words(section.matrices)}. {MEASURED}"
    figures = [_figure(DRAWN, title, first, ours, about)]
    if records:
        figures.append(_figure(PAPERS, "The same in the paper", first, records, OF_PAPER))
    return figures


def targets_in_words(matrices: Sequence[Matrix]) -> str:
    """The target of each service; where matrices differ in it, each with what it holds under.

    A bound that is measured at a low load is measured under each combination of levels.
    """
    texts = []
    for which, service in enumerate(matrices[0].services):
        under: dict[str, list[str]] = {}
        for matrix in matrices:
            under.setdefault(matrix.targets[which], []).append(name_of(matrix))
        each = [f"{target} ({' or '.join(names)})" for target, names in under.items()]
        texts.append(f"{service}: {', '.join(each if len(under) > 1 else under)}")
    return "; ".join(texts)


def _figure(name: str, title: str, first: Matrix, records: list[Record], about: str) -> Figure:
    row, column = first.services
    names = list(dict.fromkeys(str(record["matrix"]) for record in records))
    fits = "; ".join(
        f"{name}: {sum(r['who'] == BOTH for r in records if r['matrix'] == name)}" for name in names
    )
    called = {
        BOTH: "✓ both",
        ONLY_ROW: f"A: only {row}",
        ONLY_COLUMN: f"B: only {column}",
        NONE: "✗ neither",
        OPEN: "? not settled",
    }
    shown: list[Record] = [record | {"who": called[str(record["who"])]} for record in records]
    is_few = len(names) <= FEW
    return Figure(
        name=name,
        title=title,
        caption=(
            f"{about} Beyond its line a service misses its target, or may. "
            f"Pairs good for both: {fits}."
        ),
        alt=f"{len(names)} matrices of {row} by {column}. Pairs good for both: {fits}.",
        table=from_records(COLUMNS, shown),
        chart=draw_matrix.chart(
            shown,
            {called[who]: look for who, look in LOOKS.items()},
            names=names,
            axes=(f"load of {row}", f"load of {column}"),
            tooltip=TOOLTIP,
            title=title,
            frontiers=tuple(f"up to here {each} keeps its target" for each in first.services),
            height=LARGE if is_few else draw_matrix.HEIGHT,
        ),
        facet_min=draw_matrix.PANEL_MIN if is_few else SMALL,
        panels=len(names),
        is_wide=not is_few,
    )


def records_of(matrix: Matrix) -> list[Record]:
    """A record of each cell, row by row, with the edges along which frontiers run."""
    records = [_record(matrix, cell) for cell in matrix.cells]
    return edged(records, [tuple(keeps(matrix, cell)) for cell in matrix.cells])


def keeps(matrix: Matrix, cell: MatrixCell) -> Iterator[bool]:
    """Of each service whether it surely meets its target there."""
    for chance, only in zip(cell.chances, matrix.services, strict=True):
        yield cell.meets in {BOTH, f"{only} only"} or (cell.meets == OPEN and chance >= SURE)


def side(matrix: Matrix, cell: MatrixCell) -> str:
    """What a cell is, by row and column rather than by name."""
    row, column = matrix.services
    return {f"{row} only": ONLY_ROW, f"{column} only": ONLY_COLUMN}.get(cell.meets, cell.meets)


def _record(matrix: Matrix, cell: MatrixCell) -> Record:
    row, column = matrix.services
    who = side(matrix, cell)
    a, b = (f"{chance:.0%}" for chance in cell.chances)
    lost = f", {cell.lost} not valid" if cell.lost else ""
    times = [show.time(ns) if ns is not None else "–" for ns in cell.p_ns]
    dot = "·" if cell.runs else ""
    return {
        "matrix": name_of(matrix),
        "row": cell.row,
        "column": cell.column,
        "who": who,
        "letters": f"{LETTERS[who]}{dot}",
        "place": f"{row} {cell.row:.0%}, {column} {cell.column:.0%}",
        "evidence": f"{cell.runs} measurements{lost}; chances {a} and {b}",
        "p99": f"{times[0]} and {times[1]}",
        "chance_row": cell.chances[0],
        "chance_column": cell.chances[1],
        "p99_row_ns": cell.p_ns[0],
        "p99_column_ns": cell.p_ns[1],
        "runs": cell.runs,
        "lost": cell.lost,
    }


def name_of(matrix: Matrix) -> str:
    """What it was measured under, in words; the same for all is "here"."""
    return labels.pair(matrix.levels) if matrix.levels else "here"


def _paper(matrix: Matrix) -> list[Record]:
    """Figure 11 of Chen et al., its rows being those of our matrix."""
    if set(matrix.services) != {"memcached", "nginx"}:
        return []
    is_turned = matrix.services[0] == "nginx"
    every: list[Record] = []
    for name, rows in paper_matrices.PAPER.items():
        records: list[Record] = []
        for m, cells in zip(paper_matrices.LOADS, rows, strict=True):
            for n, cell in zip(paper_matrices.LOADS, cells.split(), strict=True):
                who = SIDES[cell]
                if is_turned:
                    who = {ONLY_ROW: ONLY_COLUMN, ONLY_COLUMN: ONLY_ROW}.get(who, who)
                records.append(
                    {
                        "matrix": f"Chen et al., {name}",
                        "row": n if is_turned else m,
                        "column": m if is_turned else n,
                        "who": who,
                        "letters": LETTERS[who],
                        "place": f"memcached {m:.0%}, NGINX {n:.0%}",
                        "evidence": "figure 11 of the paper",
                        "p99": "–",
                    }
                )
        every += edged(records, [_sides(str(record["who"])) for record in records])
    return every


def _sides(who: str) -> tuple[bool, bool]:
    return who in {BOTH, ONLY_ROW}, who in {BOTH, ONLY_COLUMN}


FIGURE = Kind(
    name=NAME, about="who meets its target at every pair of loads (L19, C22)", of_study=draw
)


class MatrixShown(Shown):
    """A part of the report for itself."""

    name = NAME
    study_template = "qos_matrix/section.html.j2"
    template = ""
    study_link = (NAME, "QoS matrix")
    figures = (FIGURE,)

    def study_answer(self, findings: Findings) -> str:
        """In how many pairs of loads both meet their targets."""
        section = findings.section(QosMatrix)
        if not section or not section.matrices:
            return ""
        fit = sorted({matrix.counts[BOTH] for matrix in section.matrices})
        pairs = len(section.matrices[0].cells)
        most = max(matrix.counts[OPEN] for matrix in section.matrices)
        settled = f", {most} not settled" if most else ""
        number = str(fit[0]) if len(fit) == 1 else f"{fit[0]} to {fit[-1]}"
        return f"both targets met in {number} of {pairs} pairs of loads{settled}"

    def study_head(self, findings: Findings) -> Iterator[str]:
        """How many pairs fit, in a sentence for each matrix."""
        if section := findings.section(QosMatrix):
            yield from filter(None, [section.answer])
            yield from (f"{why}." for why in section.reasons)

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """Each matrix as letters, the highest row first, as in the picture."""
        section = findings.section(QosMatrix)
        for matrix in section.matrices if section else ():
            yield f"QoS matrix, {name_of(matrix)} ".ljust(width, "=")
            yield from drawn(matrix)
            yield f"rows: load of {matrix.services[0]}, columns: load of {matrix.services[1]}"


def drawn(matrix: Matrix) -> Iterator[str]:
    """The matrix in letters, the highest row first, as in the picture; its axes are loads."""
    columns = sorted({cell.column for cell in matrix.cells})
    for load in sorted({cell.row for cell in matrix.cells}, reverse=True):
        letters = [LETTERS[side(matrix, cell)] for cell in matrix.cells if cell.row == load]
        yield f"{show.load(load):>6}" + "".join(text.rjust(WIDE) for text in letters)
    yield " " * 6 + "".join(show.load(load).rjust(WIDE) for load in columns)


KIND = MatrixShown()
