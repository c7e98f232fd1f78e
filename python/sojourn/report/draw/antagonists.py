"""What neighbours do to a number: a cell for each antagonist and intensity, a panel a number."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.report.draw import marks
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Sheet, Spec, finish
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record

PANEL_MIN, ROW = 260, 30  # least width of a panel, height of a row, px
WORSE, BETTER, SAME = "worse", "better", "no difference shown"
_LOOKS = {WORSE: "violated", BETTER: "holds", SAME: "unknown"}


def chart(records: Sequence[Record], *, panels: Sequence[str], title: str) -> Spec:
    """A panel for each number.

    Args:
        records: a cell each, with `panel`, `antagonist`, `intensity`, `state` (`WORSE`, …),
            `depth` (0 to 1, how strong), `shown` and the fields of the tooltip.
        panels: in order.
        title: of the whole.
    """
    sheet = Sheet()
    names, amounts = (
        [*dict.fromkeys(str(r[key]) for r in records)] for key in ("antagonist", "intensity")
    )
    states = [state for state in _LOOKS if any(r["state"] == state for r in records)]
    key = alt.Legend(title=None)
    base = alt.Chart().encode(
        x=alt.X(
            "intensity:O",
            title="intensity, of what it can do alone",
            sort=amounts,
            axis=alt.Axis(labelAngle=0, grid=False, domain=False, ticks=False),
        ),
        y=alt.Y(
            "antagonist:N",
            title=None,
            sort=names,
            axis=alt.Axis(grid=False, domain=False, ticks=False, labelLimit=200),
        ),
        tooltip=marks.tooltip("antagonist", "intensity", "panel", "times", "why"),
    )
    cells = base.mark_rect(stroke=role("paper"), strokeWidth=2).encode(
        fill=alt.Fill(
            "state:N",
            scale=alt.Scale(domain=states, range=[role(_LOOKS[state]) for state in states]),
            legend=key,
        ),
        fillOpacity=alt.FillOpacity(
            "depth:Q", scale=alt.Scale(domain=[0, 1], range=[0.1, 0.75]), legend=None
        ),
    )
    words = base.mark_text(fontSize=12, color=role("ink")).encode(text=alt.Text("shown:N"))
    layered = alt.layer(cells, words, width=PANEL_MIN, height=ROW * len(names))
    facets = layered.facet(
        facet=alt.Facet("panel:N", sort=[*panels], title=None),
        columns=len(panels),
        data=sheet.data("cells", records),
    )
    return finish(facets, sheet, title=title)
