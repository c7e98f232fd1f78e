"""The QoS matrices of one experiment: who meets the target at every pair of loads."""

from __future__ import annotations

import altair as alt

from sojourn.models.replicate.kind import Matrix, Replica
from sojourn.report.draw import marks
from sojourn.report.draw.figure import Figure, Sheet, finish
from sojourn.report.draw.lookup import slug
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, from_records

COLUMNS = ("matrix", "row", "column", "meets_target")
PANEL_MIN = 250
WORDS = {"AB": "both", "A": "A only", "B": "B only", "MN": "both", "M": "M only", "N": "N only",
         "-": "neither"}  # fmt: skip
LOOKS = {"both": ("band", 0.45), "A only": ("holds", 0.35), "B only": ("crossing", 0.35),
         "M only": ("holds", 0.35), "N only": ("crossing", 0.35),
         "neither": ("unknown", 0.12)}  # fmt: skip


def figure(replica: Replica) -> list[Figure]:
    """All matrices side by side, or nothing."""
    if not replica.matrices:
        return []
    records = [record for matrix in replica.matrices for record in _records(matrix)]
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
            chart=_chart(replica, records, title),
            facet_min=PANEL_MIN,
            panels=len(replica.matrices),
        )
    ]


def _records(matrix: Matrix) -> list[Record]:
    return [
        {
            "matrix": matrix.name, "row": row, "column": column, "meets_target": cell,
            "letters": "" if cell == "-" else cell, "who": WORDS[cell],
            "place": f"{matrix.row_label} {row:.0%}, {matrix.column_label} {column:.0%}",
        }
        for row, cells in zip(matrix.rows, matrix.cells, strict=True)
        for column, cell in zip(matrix.columns, cells, strict=True)
    ]  # fmt: skip


def _chart(replica: Replica, records: list[Record], title: str) -> dict[str, object]:
    first, sheet = replica.matrices[0], Sheet()
    names = [matrix.name for matrix in replica.matrices]
    present = [who for who in LOOKS if any(r["who"] == who for r in records)]
    scale = alt.Scale(domain=present, range=[role(LOOKS[who][0]) for who in present])
    opacity = alt.Scale(domain=present, range=[LOOKS[who][1] for who in present])
    base = alt.Chart().encode(
        x=alt.X("column:O", title=first.column_label, axis=alt.Axis(format="~%", labelAngle=0,
                labelOverlap="parity", grid=False)),
        y=alt.Y("row:O", title=first.row_label, sort="descending",
                axis=alt.Axis(format="~%", grid=False)),
        tooltip=marks.tooltip("matrix", "place", "who"),
    )  # fmt: skip
    key = alt.Legend(title=None)
    cells = base.mark_rect(stroke=role("paper"), strokeWidth=1).encode(
        fill=alt.Fill("who:N", scale=scale, legend=key),
        fillOpacity=alt.FillOpacity("who:N", scale=opacity, legend=key),
    )
    letters = base.mark_text(fontSize=10, color=role("ink")).encode(text="letters:N")
    chart = (
        alt.layer(cells, letters)
        .properties(width=PANEL_MIN, height=220)
        .facet(
            facet=alt.Facet("matrix:N", sort=names, title=None),
            columns=3,
            data=sheet.data("cells", records),
        )
    )
    return finish(chart, sheet, title=title)
