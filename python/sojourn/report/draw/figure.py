"""A figure is data and a declaration: what it is called, says, holds and looks like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import cast

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.report.draw.charts import alt
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, Table, drawable

Spec = dict[str, object]

WIDTH = 680  # of exported pictures, px; in the page a figure is as wide as its column
HEIGHT = 340


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure, drawn or not.

    Attributes:
        name: stem of its files, unique in the report.
        caption: how to read it, in a sentence or two.
        alt: what a person who cannot see it should know.
        chart: the Vega-Lite specification; None if there is nothing to draw.
        missing: why there is nothing to draw; is where the figure would be.
        facet_min: narrowest panel of small multiples, px; 0 for a single panel.
        panels: how many panels the small multiples have.
        is_detail: for those who doubt: the page folds it away.
        is_wide: it needs the whole width of the page.
    """

    name: str
    title: str
    caption: str
    alt: str
    table: Table
    chart: Spec | None = None
    missing: str = ""
    facet_min: int = 0
    panels: int = 1
    is_detail: bool = False
    is_wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of figure, describing itself.

    Attributes:
        of_service: draws the figures of one service; None if it is not about services.
        of_study: draws the figures of the whole study.
        is_detail: of its figures.
        is_for_few: one of the study is drawn instead of one for each of very many combinations.
        place: of a question's own kind, among those for every study, which are 10 apart.
    """

    name: str
    about: str
    of_service: Callable[[ServiceFinding], Sequence[Figure]] | None = None
    of_study: Callable[[Findings], Sequence[Figure]] | None = None
    is_detail: bool = False
    is_for_few: bool = False
    place: int = 1000


class Sheet:
    """The rows that a chart is drawn from, by name; its layers refer to them.

    Altair would copy and check each row against Vega-Lite's schema for every layer; so it sees the
    names alone, and the rows are put beside the finished specification.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[Record]] = {}

    def data(self, name: str, rows: Sequence[Record]) -> alt.NamedData:
        """Keep rows under a name, as far as JSON can hold them."""
        self.rows[name] = drawable(rows)
        return alt.NamedData(name)

    def chart(self, name: str, rows: Sequence[Record]) -> alt.Chart:
        """A chart of these rows."""
        return alt.Chart(self.data(name, rows))


def vega_lite() -> str:
    """The version of Vega-Lite that figures are written for, as vl-convert names it."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def unchecked() -> AbstractContextManager[None]:
    """Until the end of the block altair checks no mark, axis or scale as it is made.

    The checks take most of the time of drawing. `questions/opening_words_test.py` draws every kind
    of figure with them, because only they see a property that Vega-Lite does not have.
    """
    block: AbstractContextManager[None] = alt.utils.schemapi.debug_mode(arg=False)
    return block


def finish(chart: alt.TopLevelMixin, sheet: Sheet, *, title: str) -> Spec:
    """The chart as a specification with its rows and the house style.

    It is not checked against Vega-Lite's schema, which would take half of the time of a large
    study's report: see `unchecked`.
    """
    spec = cast("Spec", chart.to_dict(validate=False))
    # Altair fills in a default view size that would defeat `width: container`; small multiples
    # are sized panel by panel and cannot be fitted.
    is_single = spec.get("width") == "container"
    fit: Spec = {"autosize": {"type": "fit-x", "contains": "padding"}} if is_single else {}
    # Altair puts rows that a layer brings by itself, such as a rule's only one, under a name too.
    rows = {**cast("dict[str, object]", spec.get("datasets", {})), **sheet.rows}
    return spec | fit | {"title": title, "config": STYLE, "datasets": rows}


def sized(spec: Spec, width: int = WIDTH) -> Spec:
    """The specification for a picture file: a width in pixels instead of the page's column."""
    return {k: width if (k, v) == ("width", "container") else v for k, v in spec.items()}


_FONT = "system-ui, 'Liberation Sans', Arial, sans-serif"

STYLE: Spec = {
    "aria": False,  # the page says in words what a figure shows; marks one by one say nothing
    "background": role("paper"),
    "font": _FONT,
    "view": {"stroke": role("grid")},
    "title": {"color": role("ink"), "anchor": "start", "fontSize": 14, "offset": 12},
    "axis": {
        "labelColor": role("ink"),
        "titleColor": role("ink"),
        "gridColor": role("grid"),
        "domainColor": role("muted"),
        "tickColor": role("muted"),
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "legend": {
        "labelColor": role("ink"),
        "titleColor": role("muted"),
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "orient": "bottom",
        "direction": "horizontal",
        "columns": 4,
        "labelLimit": 300,
        "symbolSize": 80,
        "offset": 8,
        "rowPadding": 4,
        "layout": {"bottom": {"direction": "vertical", "anchor": "start", "margin": 4}},
    },
    "header": {"labelColor": role("ink"), "labelFontSize": 12, "title": None},
    "text": {"color": role("ink"), "fontSize": 12},
}
