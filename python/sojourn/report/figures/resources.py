"""Box plots of every resource at the QoS crossing (P13): a panel each, as the papers have them.

Of one service the highest load that holds is beside the first that does not. Of several, or of
combinations of levels, the highest load that holds of each; of very many, the medians by level.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sojourn.analysis.sample_box import box
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.resource_use import Box, ResourceUse, Side, Use, amount, use_text
from sojourn.host.usage.resource import BY_NAME, BYTES, BYTES_PER_S, SHARE
from sojourn.plan.setting import level_text
from sojourn.report import show
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import slug
from sojourn.report.draw.marks import tooltip
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, from_records
from sojourn.report.labels import called, each, of_factors
from sojourn.report.resources import short
from sojourn.report.volume import COMBINATIONS_MANY

NAME = "resources"
# fmt: off
COLUMNS = (
    "side", "fraction", "offered_rps", "runs", "resource", "unit", "n", "least", "whisker_lo",
    "q1", "median", "q3", "whisker_hi", "greatest", "capacity",
)
# fmt: on
OF_STUDY = ("what", "resource", "unit", "n", "whisker_lo", "q1", "median", "q3", "whisker_hi")
PANEL, PANEL_MIN, ROW_PX = 150, 190, 26  # heights and least width, px
BAR = 24
FEW = 4  # panels that half a page has room for
ROLES = {"holds": "holds", "violated": "violated", "highest": "curve"}
_HOW = (
    "Box: the middle half of the samples, with the median; whiskers: the last samples within 1.5"
    " boxes of it; dots: samples beyond (Tukey). One sample is about a second."
)


def draw(service: ServiceFinding) -> list[Figure]:
    """One figure of a service; none where nothing was sampled."""
    resources = service.resources
    if resources is None or not resources.sides:
        return []
    title = f"{called(service)}: resources at the QoS crossing"
    if resources.sides[0].what == "highest":
        title = f"{called(service)}: resources at the highest load"
    panels = _panels([side.uses for side in resources.sides])
    sheet = Sheet()
    rows = [row for name in panels for row in _of_sides(resources.sides, name)]
    labels = [_label(side) for side in resources.sides]
    colours = [role(ROLES[side.what]) for side in resources.sides]
    records = [*_rows_of_sides(resources), *_rows_of_loads(resources)]
    return [
        Figure(
            name=slug(f"{service.service}-{NAME}"),
            title=title,
            caption=f"{_HOW} {_pooled(resources)} Each panel has its own scale. (P7, P13)",
            alt=resources.sentence,
            table=from_records(COLUMNS, records),
            chart=_boxes(sheet, rows, labels, colours, title=title),
            facet_min=PANEL_MIN,
            panels=len(panels),
            is_wide=len(panels) > FEW,
        )
    ]


def _pooled(use: ResourceUse) -> str:
    each = [
        f"{short(side)}: {side.samples} samples of {side.runs} runs at {_span(side)}"
        for side in use.sides
    ]
    return f"{'; '.join(each)}."


def _span(side: Side) -> str:
    lo, hi = show.count(side.lo_rps), show.count(side.hi_rps)
    return f"{lo} requests/s" if lo == hi else f"{lo} to {hi} requests/s"


def _panels(sides: Sequence[Sequence[Use]]) -> list[str]:
    """The resources worth a panel: those of which any sample is more than nothing."""
    used = {use.name for uses in sides for use in uses if use.box.greatest and not use.is_part}
    return [name for name in BY_NAME if name in used]


def _scale(name: str, greatest: float) -> tuple[float, str]:
    """What a panel's numbers are divided by, and the unit that they have then.

    >>> _scale("service_cpu_share", 0.9), _scale("resident_bytes", 3e7)
    ((0.01, '%'), (1000000.0, 'MB'))
    """
    unit = BY_NAME[name].unit
    if unit == SHARE:
        return 0.01, "%"
    if unit == "s/s":
        return (0.001, "ms/s") if greatest < 1 else (1.0, "s/s")
    is_bytes = unit in {BYTES, BYTES_PER_S}
    steps = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
    by, letter = next(((by, c) for by, c in steps if greatest >= by), (1.0, ""))
    return by, f"{letter}{'B' if is_bytes else ''}{'' if unit == BYTES else '/s'}"


def _box_rows(label: str, use: Use, by: float, unit: str) -> Iterator[Record]:
    """A row for the box, and one for each sample beyond its whiskers."""
    own = use.box
    panel = f"{use.title}, {unit}"
    yield {
        "panel": panel,
        "what": label,
        "lo": own.lo / by,
        "q1": own.q1 / by,
        "median": own.median / by,
        "q3": own.q3 / by,
        "hi": own.hi / by,
        "shown": use_text(use),
        "samples": own.n,
        "can take": amount(use.capacity, use.unit) if use.capacity else "not known",
    }
    for value in own.outliers:
        yield {"panel": panel, "what": label, "value": value / by, "shown": amount(value, use.unit)}


def _label(side: Side) -> str:
    return f"{short(side)} {show.count(_named(side))}/s"


def _of_sides(sides: Sequence[Side], name: str) -> Iterator[Record]:
    uses = [(side, use) for side in sides if (use := side.use(name))]
    by, unit = _scale(name, max(use.box.greatest for _, use in uses))
    for side, use in uses:
        yield from _box_rows(_label(side), use, by, unit)


def _boxes(
    sheet: Sheet,
    rows: Sequence[Record],
    labels: Sequence[str],
    colours: Sequence[str],
    *,
    title: str,
    is_lying: bool = False,
) -> Spec:
    """A panel for each resource, with a scale of its own, and a box for each label.

    One layered chart for all panels: a chart of its own for each would take a second to make.
    """
    label_axis = alt.Axis(labelAngle=0, labelLimit=230 if is_lying else 95)
    along = {"title": None, "sort": list(labels), "axis": label_axis}
    across = {"title": None, "scale": alt.Scale(zero=True), "axis": alt.Axis(tickCount=5)}

    def where(start: str, end: str = "") -> dict[str, object]:
        """The channels of a mark from one number to another."""
        if is_lying:
            results = {"y": alt.Y("what:N", **along), "x": alt.X(f"{start}:Q", **across)}
        else:
            results = {"x": alt.X("what:N", **along), "y": alt.Y(f"{start}:Q", **across)}
        return results | ({("x2" if is_lying else "y2"): f"{end}:Q"} if end else {})

    colour = alt.Color(
        "what:N", scale=alt.Scale(domain=list(labels), range=list(colours)), legend=None
    )
    size = ROW_PX // 2 if is_lying else BAR
    chart = alt.Chart()
    boxes = chart.transform_filter("isValid(datum.lo)").encode(
        color=colour, tooltip=tooltip("what", "shown", "samples", "can take")
    )
    dots = chart.transform_filter("isValid(datum.value)")
    layers = alt.layer(
        boxes.mark_rule(strokeWidth=1.5).encode(**where("lo", "hi")),
        boxes.mark_bar(size=size, opacity=0.55).encode(**where("q1", "q3")),
        boxes.mark_tick(size=size, thickness=2.5).encode(**where("median")),
        dots.mark_point(size=18, opacity=0.8).encode(
            color=colour, tooltip=tooltip("what", "shown"), **where("value")
        ),
        data=sheet.data("boxes", rows),
    )
    panels = list(dict.fromkeys(str(row["panel"]) for row in rows))
    width, height = PANEL_MIN, PANEL
    if is_lying:
        width, height = 2 * PANEL_MIN - 100, ROW_PX * max(2, len(labels))
    facets = (
        layers.properties(width=width, height=height)
        .facet(facet=alt.Facet("panel:N", sort=panels, title=None), columns=2 if is_lying else 3)
        .resolve_scale(**{"x" if is_lying else "y": "independent"})
    )
    return finish(facets, sheet, title=title)


def _named(side: Side) -> float:
    return side.lo_rps if side.what == "violated" else side.hi_rps


def _rows_of_sides(result: ResourceUse) -> Iterator[Record]:
    for side in result.sides:
        for use in side.uses:
            own = use.box
            yield {
                "side": side.what,
                "fraction": side.fraction,
                "offered_rps": _named(side),
                "runs": side.runs,
                "resource": use.name,
                "unit": use.unit,
                "n": own.n,
                "least": own.least,
                "whisker_lo": own.lo,
                "q1": own.q1,
                "median": own.median,
                "q3": own.q3,
                "whisker_hi": own.hi,
                "greatest": own.greatest,
                "capacity": use.capacity,
            }


def _rows_of_loads(use: ResourceUse) -> Iterator[Record]:
    for load in use.loads:
        for name, n, least, q1, median, q3, greatest in load.uses:
            yield {
                "side": "load",
                "fraction": load.fraction,
                "offered_rps": load.offered_rps,
                "runs": load.runs,
                "resource": name,
                "unit": BY_NAME[name].unit,
                "n": n,
                "least": least,
                "q1": q1,
                "median": median,
                "q3": q3,
                "greatest": greatest,
            }


def draw_study(findings: Findings) -> list[Figure]:
    """One figure of several services or combinations; none of one alone."""
    names = each(findings.services)
    sides = {
        names[service.service]: service.resources.sides[0]
        for service in findings.services
        if service.resources and service.resources.sides
    }
    if len(sides) < 2:
        return []
    is_many = len(sides) > COMBINATIONS_MANY
    groups = _by_level(findings, sides) if is_many else _each(sides)
    panels = [name for name in _panels([side.uses for side in sides.values()]) if name in groups]
    sheet, title = Sheet(), "Resources at the highest load within QoS"
    labels = list(dict.fromkeys(label for name in panels for label in groups[name]))
    rows = [row for name in panels for row in _of_groups(name, groups[name])]
    what = (
        f"Medians of {len(sides)} combinations by the levels of each factor"
        if is_many
        else "The samples of each service or combination"
    )
    return [
        Figure(
            name=NAME,
            title=title,
            caption=f"{what}, at the highest load that holds its target, or else the first that"
            f" misses it. {_HOW} (P7, P13)",
            alt=f"{len(panels)} resources of {len(sides)} services or combinations as box plots.",
            table=from_records(
                OF_STUDY, [r for name in panels for r in _table(name, groups[name])]
            ),
            chart=_boxes(
                sheet, rows, labels, [role("curve")] * len(labels), title=title, is_lying=True
            ),
            facet_min=2 * PANEL_MIN,
            panels=len(panels),
            is_wide=True,
        )
    ]


Groups = Mapping[str, Mapping[str, Box]]  # resource → label → box


def _each(sides: Mapping[str, Side]) -> Groups:
    boxes: dict[str, dict[str, Box]] = defaultdict(dict)
    for label, side in sides.items():
        for use in side.uses:
            boxes[use.name][label] = use.box
    return boxes


def _by_level(findings: Findings, sides: Mapping[str, Side]) -> Groups:
    """Boxes over the medians of all combinations that have a level."""
    names_of, names = of_factors(findings.services), each(findings.services)
    medians: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for service in findings.services:
        side = sides.get(names[service.service])
        for use in side.uses if side else ():
            for key, level in service.levels or (("", service.label),):
                of = names_of[key][level_text(level)] if key else str(level)
                medians[use.name][f"{service.label}, {of}" if key else of].append(use.box.median)
    return {
        name: {label: box(np.sort(np.array(values))) for label, values in of.items()}
        for name, of in medians.items()
    }


def _table(name: str, of: Mapping[str, Box]) -> Iterator[Record]:
    for label, own in of.items():
        yield {
            "what": label,
            "resource": name,
            "unit": BY_NAME[name].unit,
            "n": own.n,
            "whisker_lo": own.lo,
            "q1": own.q1,
            "median": own.median,
            "q3": own.q3,
            "whisker_hi": own.hi,
        }


def _of_groups(name: str, of: Mapping[str, Box]) -> Iterator[Record]:
    by, unit = _scale(name, max(own.greatest for own in of.values()))
    what = BY_NAME[name]
    for label, own in of.items():
        use = Use(name=name, title=what.title, unit=what.unit, box=own)
        yield from _box_rows(label, use, by, unit)


KIND = Kind(
    name=NAME,
    about="box plots of each resource at the QoS crossing (P7, P13)",
    of_service=draw,
    of_study=draw_study,
    is_for_few=True,
)
