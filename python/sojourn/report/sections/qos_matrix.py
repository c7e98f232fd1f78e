"""QoS matrices: which of two services meets its target, at every pair of loads."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.analysis import paper_matrices
from sojourn.analysis.findings import Findings
from sojourn.analysis.questions.qos_matrix import BOTH, NONE, OPEN, Matrix, MatrixCell, QosMatrix
from sojourn.report import show
from sojourn.report.draw import matrix as draw_matrix
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.draw.table import Record, from_records
from sojourn.report.sections.section import Shown

NAME = "qos_matrix"
COLUMNS = (
    "matrix", "row", "column", "who", "chance_row", "chance_column",
    "p99_row_ns", "p99_column_ns", "runs", "lost",
)  # fmt: skip
TOOLTIP = ("matrix", "place", "who", "evidence", "p99")
ONLY_ROW, ONLY_COLUMN = "only the row's", "only the column's"
LOOKS = {
    BOTH: ("band", 0.45), ONLY_ROW: ("holds", 0.35), ONLY_COLUMN: ("crossing", 0.35),
    NONE: ("unknown", 0.12), OPEN: ("violated", 0.18),
}  # fmt: skip
LETTERS = {BOTH: "AB", ONLY_ROW: "A", ONLY_COLUMN: "B", NONE: "", OPEN: "?"}
SIDES = {"MN": BOTH, "M": ONLY_ROW, "N": ONLY_COLUMN, "-": NONE}  # of the paper's letters
WIDE = 5  # columns of a cell of the table


def draw(findings: Findings) -> list[Figure]:
    """Ours side by side, with the paper's where it is about the same pair; none without one."""
    found = findings.section(QosMatrix)
    if not found or not found.matrices:
        return []
    first = found.matrices[0]
    records = [record for each in found.matrices for record in records_of(each)]
    records += _paper(first)
    row, column = first.services
    title = "Who meets the QoS target"
    names = list(dict.fromkeys(str(record["matrix"]) for record in records))
    fits = "; ".join(f"{_name(m)}: {m.counts.get(BOTH, 0)}" for m in found.matrices)
    return [
        Figure(
            name=NAME,
            title=title,
            caption=(
                f"A: {row} meets {first.targets[0]}, B: {column} meets {first.targets[1]}, ?: not "
                f"settled. A cell with a dot was measured, the others follow from those. Cells "
                f"good for both: {fits}."
            ),
            alt=f"{len(names)} matrices of {row} by {column}. Cells good for both: {fits}.",
            table=from_records(COLUMNS, records),
            chart=draw_matrix.chart(
                records, LOOKS, names=names,
                axes=(f"load of {row}", f"load of {column}"), tooltip=TOOLTIP, title=title,
            ),
            facet_min=draw_matrix.PANEL_MIN,
            panels=len(names),
        )
    ]  # fmt: skip


def records_of(matrix: Matrix) -> list[Record]:
    """A record of each cell, row by row."""
    return [_record(matrix, cell) for cell in matrix.cells]


def side(matrix: Matrix, cell: MatrixCell) -> str:
    """What a cell is, by row and column rather than by name."""
    row, column = matrix.services
    return {f"{row} only": ONLY_ROW, f"{column} only": ONLY_COLUMN}.get(cell.meets, cell.meets)


def _record(matrix: Matrix, cell: MatrixCell) -> Record:
    row, column = matrix.services
    who = side(matrix, cell)
    a, b = (f"{chance:.0%}" for chance in cell.chances)
    lost = f", {cell.lost} not believed" if cell.lost else ""
    times = [show.time(ns) if ns is not None else "–" for ns in cell.p_ns]
    dot = "·" if cell.runs else ""
    return {
        "matrix": _name(matrix),
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


def _name(matrix: Matrix) -> str:
    return f"here, {matrix.under}" if matrix.under else "here"


def _paper(matrix: Matrix) -> list[Record]:
    """Figure 11 of Chen et al., its rows being those of our matrix."""
    if set(matrix.services) != {"memcached", "nginx"}:
        return []
    is_turned = matrix.services[0] == "nginx"
    records: list[Record] = []
    for name, rows in paper_matrices.PAPER.items():
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
    return records


FIGURE = Kind(name=NAME, about="who meets its target at every pair of loads (L19, C22)",
              of_study=draw)  # fmt: skip


class MatrixShown(Shown):
    """A part of the report for itself."""

    name = NAME
    study_template = "qos_matrix.html.j2"
    template = ""
    study_link = (NAME, "QoS matrix")
    figures = (FIGURE,)

    def study_answer(self, findings: Findings) -> str:
        """In how many pairs of loads both meet their targets."""
        found = findings.section(QosMatrix)
        if not found or not found.matrices:
            return ""
        fit = sorted({matrix.counts[BOTH] for matrix in found.matrices})
        pairs = len(found.matrices[0].cells)
        most = max(matrix.counts[OPEN] for matrix in found.matrices)
        settled = f", {most} not settled" if most else ""
        number = str(fit[0]) if len(fit) == 1 else f"{fit[0]} to {fit[-1]}"
        return f"both targets met in {number} of {pairs} pairs of loads{settled}"

    def study_head(self, findings: Findings) -> Iterator[str]:
        """How many pairs fit, in a sentence for each matrix."""
        if found := findings.section(QosMatrix):
            yield from filter(None, [found.answer])
            yield from (f"{why}." for why in found.reasons)

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """Each matrix as letters, the highest row first, as in the picture."""
        found = findings.section(QosMatrix)
        for matrix in found.matrices if found else ():
            yield f"QoS matrix {matrix.under} ".ljust(width, "=")
            yield from _text(matrix)


def _text(matrix: Matrix) -> Iterator[str]:
    """The matrix in letters, the highest row first, as in the picture."""
    row, column = matrix.services
    yield f"A: {row} meets {matrix.targets[0]}, B: {column} meets {matrix.targets[1]}"
    yield "?: not settled, ·: was measured"
    columns = sorted({cell.column for cell in matrix.cells})
    for load in sorted({cell.row for cell in matrix.cells}, reverse=True):
        letters = [
            str(_record(matrix, cell)["letters"]) for cell in matrix.cells if cell.row == load
        ]
        yield f"{show.load(load):>6}" + "".join(text.rjust(WIDE) for text in letters)
    yield " " * 6 + "".join(show.load(load).rjust(WIDE) for load in columns)
    yield f"rows: load of {row}, columns: load of {column}"


KIND = MatrixShown()
