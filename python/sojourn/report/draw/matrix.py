"""QoS matrices side by side: who meets the target at every pair of loads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sojourn.report.draw import marks
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Sheet, finish
from sojourn.report.draw.frontier import AXES
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record

PANEL_MIN = 250
HEIGHT = 220
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
    frontiers: Sequence[str] = (),
    height: int = HEIGHT,
) -> dict[str, object]:
    """A panel for each matrix.

    Args:
        records: a cell each, with `matrix`, `row`, `column` (shares of load), `who` (a key of
            `looks`), `letters` and the fields of the tooltip; with frontiers the edges that
            `frontier.edged` adds.
        looks: of each kind of cell, in the order of the legend.
        names: of the matrices, in order.
        axes: titles of rows and columns.
        tooltip: fields that hold text.
        title: of the whole.
        frontiers: what the line of the row's service is called, and that of the column's.
        height: of a panel, px.
    """
    sheet = Sheet()
    present = [who for who in looks if any(r["who"] == who for r in records)]
    scale = alt.Scale(domain=present, range=[role(looks[who][0]) for who in present])
    opacity = alt.Scale(domain=present, range=[looks[who][1] for who in present])
    base = alt.Chart().encode(
        x=alt.X(
            "column:O",
            title=axes[1],
            axis=alt.Axis(format="~%", labelAngle=0, labelOverlap="parity", grid=False),
        ),
        y=alt.Y("row:O", title=axes[0], sort="descending", axis=alt.Axis(format="~%", grid=False)),
        tooltip=marks.tooltip(*tooltip),
    )
    key = alt.Legend(title=None)
    cells = base.mark_rect(stroke=role("paper"), strokeWidth=1).encode(
        fill=alt.Fill("who:N", scale=scale, legend=key),
        fillOpacity=alt.FillOpacity("who:N", scale=opacity, legend=key),
    )
    letters = base.mark_text(fontSize=10 if height == HEIGHT else 13, color=role("ink")).encode(
        text=alt.Text("letters:N")
    )
    lines = _frontiers(base, frontiers) if frontiers else []
    layered = alt.layer(cells, letters, *lines, width=PANEL_MIN, height=height)
    facets = layered.facet(
        facet=alt.Facet(
            "matrix:N",
            sort=list(names),
            title=None,
            header=alt.Header(
                labelLimit=2 * PANEL_MIN, **({} if len(names) > 1 else {"labelExpr": "''"})
            ),
        ),
        columns=PANELS,
        data=sheet.data("cells", records),
    )
    return finish(facets, sheet, title=title)


def _frontiers(base: alt.Chart, names: Sequence[str]) -> list[alt.Chart]:
    """A line of each service along the edges of cells; where both run together both are seen."""
    scale = alt.Scale(domain=[*names], range=[role("holds"), role("crossing")])
    key = alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=4, columns=1)
    at = {"x": "column:O", "y": "row:O"}
    layers = []
    for owner, name, looks in zip(AXES, names, ((4, [1, 0]), (2.5, [7, 4])), strict=True):
        width, dash = looks
        for edge, ends in (
            (
                "above",
                {
                    "x": alt.X(at["x"], bandPosition=0),
                    "x2": alt.X2("column", bandPosition=1),
                    "y": alt.Y(at["y"], bandPosition=0, sort="descending"),
                },
            ),
            (
                "right",
                {
                    "x": alt.X(at["x"], bandPosition=1),
                    "y": alt.Y(at["y"], bandPosition=0, sort="descending"),
                    "y2": alt.Y2("row", bandPosition=1),
                },
            ),
        ):
            layers.append(
                base.transform_filter(f"datum.{owner}_{edge}")
                .transform_calculate(line=json.dumps(name))
                .mark_rule(strokeWidth=width, strokeDash=dash)
                .encode(color=alt.Color("line:N", scale=scale, legend=key), **ends)
            )
    return layers
