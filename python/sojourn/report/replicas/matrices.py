"""The QoS matrices of one experiment: who meets the target at every pair of loads."""

from __future__ import annotations

from sojourn.models.replicate.kind import Matrix, Replica
from sojourn.report.draw import matrix
from sojourn.report.draw.figure import Figure
from sojourn.report.draw.lookup import slug
from sojourn.report.draw.table import Record, from_records

COLUMNS = ("matrix", "row", "column", "meets_target")
WORDS = {
    "AB": "both",
    "A": "A only",
    "B": "B only",
    "MN": "both",
    "M": "M only",
    "N": "N only",
    "-": "neither",
}
LOOKS = {
    "both": ("band", 0.45),
    "A only": ("holds", 0.35),
    "B only": ("crossing", 0.35),
    "M only": ("holds", 0.35),
    "N only": ("crossing", 0.35),
    "neither": ("unknown", 0.12),
}


def figure(replica: Replica) -> list[Figure]:
    """All matrices side by side, or nothing."""
    if not replica.matrices:
        return []
    records = [record for each in replica.matrices for record in _records(each)]
    title = f"{replica.id}: who meets the QoS target"
    first = replica.matrices[0]
    good = ", ".join(
        f"{m.name}: {sum(WORDS[c] == 'both' for row in m.cells for c in row)}"
        for m in replica.matrices
    )
    return [
        Figure(
            name=slug(f"{replica.id} matrices"),
            title=title,
            caption=f"Letters name who meets the target. Cells good for both: {good}.",
            alt=f"{len(replica.matrices)} matrices of {len(first.rows)} by {len(first.columns)} "
            f"loads. Cells good for both: {good}.",
            table=from_records(COLUMNS, records),
            chart=matrix.chart(
                records,
                LOOKS,
                names=[each.name for each in replica.matrices],
                axes=(first.row_label, first.column_label),
                tooltip=("matrix", "place", "who"),
                title=title,
            ),
            facet_min=matrix.PANEL_MIN,
            panels=len(replica.matrices),
        )
    ]


def _records(shown: Matrix) -> list[Record]:
    return [
        {
            "matrix": shown.name,
            "row": row,
            "column": column,
            "meets_target": cell,
            "letters": "" if cell == "-" else cell,
            "who": WORDS[cell],
            "place": f"{shown.row_label} {row:.0%}, {shown.column_label} {column:.0%}",
        }
        for row, cells in zip(shown.rows, shown.cells, strict=True)
        for column, cell in zip(shown.columns, cells, strict=True)
    ]
