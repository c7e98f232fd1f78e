"""QoS matrices side by side: who meets the target at every pair of loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from sojourn.report.draw import marks
from sojourn.report.draw.figure import Sheet, finish
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record

PANEL_MIN = 250
PANELS = 3  # in a row
Looks = Mapping[str, tuple[str, float]]  # who meets the target → role of the colour, opacity


def chart(
    records: Sequence[Record],
    looks: Looks,
    *,
    names: Sequence[str],
    axes: tuple[str, str],
    tooltip: Sequence[str],
    title: str,
) -> dict[str, object]:
    """A panel for each matrix.

    Args:
        records: a cell each, with `matrix`, `row`, `column` (shares of load), `who` (a key of
            `looks`), `letters` and the fields of the tooltip.
        looks: of each kind of cell, in the order of the legend.
        names: of the matrices, in order.
        axes: titles of rows and columns.
        tooltip: fields that hold text.
        title: of the whole.
    """
    sheet = Sheet()
    present = [who for who in looks if any(r["who"] == who for r in records)]
    scale = alt.Scale(domain=present, range=[role(looks[who][0]) for who in present])
    opacity = alt.Scale(domain=present, range=[looks[who][1] for who in present])
    base = alt.Chart().encode(
        x=alt.X("column:O", title=axes[1], axis=alt.Axis(format="~%", labelAngle=0,
                labelOverlap="parity", grid=False)),
        y=alt.Y("row:O", title=axes[0], sort="descending",
                axis=alt.Axis(format="~%", grid=False)),
        tooltip=marks.tooltip(*tooltip),
    )  # fmt: skip
    key = alt.Legend(title=None)
    cells = base.mark_rect(stroke=role("paper"), strokeWidth=1).encode(
        fill=alt.Fill("who:N", scale=scale, legend=key),
        fillOpacity=alt.FillOpacity("who:N", scale=opacity, legend=key),
    )
    letters = base.mark_text(fontSize=10, color=role("ink")).encode(text="letters:N")
    layered = alt.layer(cells, letters).properties(width=PANEL_MIN, height=220)
    facets = layered.facet(
        facet=alt.Facet("matrix:N", sort=list(names), title=None),
        columns=PANELS,
        data=sheet.data("cells", records),
    )
    return finish(facets, sheet, title=title)
