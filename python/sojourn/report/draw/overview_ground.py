"""What lies behind the curves of all services: where the knees are, and the targets."""

from __future__ import annotations

from sojourn.findings.findings import ServiceFinding
from sojourn.findings.highest_load import MaxLoad, is_closed
from sojourn.report import labels, show
from sojourn.report.draw.charts import alt
from sojourn.report.draw.marks import tooltip
from sojourn.report.draw.overview_frame import Frame
from sojourn.report.draw.palette import role, series
from sojourn.report.draw.table import Record, number

MIDDLE = 0.5  # of the axis: bands beyond have room for words on their left
MANY = 4  # services, or targets: of more the words would lie on one another, and tiles have them
LINE = 15  # px from one band's words to the next


def bands(frame: Frame, services: list[ServiceFinding]) -> list[alt.Chart]:
    """How much load fits, from the least to the most it may be, with its number at the top."""
    rows: list[Record] = []
    top = max(1.0, *(p.fraction for s in services for p in s.points)) * 1.02
    for place, service in enumerate(services):
        border = search.border if (search := service.section(MaxLoad)) else None
        if border is None or border.fraction is None or not service.max_rps:
            continue
        rows.append(
            {
                "service": service.service,
                "lo": border.fraction.lo,
                "hi": min(top, border.fraction.hi),
                "at": min(top, border.estimate_rps / service.max_rps),
                "bottom": frame.axis.lo,
                "top": frame.axis.hi,
                "label": f"{labels.called(service)} {show.border(border)}",
                "shown": f"{show.border(border)} requests/s ({show.within(border)})",
                "place": place,
                "is_open": not is_closed(border),
            }
        )
    if not rows:
        return []
    base = frame.sheet.chart("bands", rows).encode(
        color=frame.colour, tooltip=tooltip("service", "shown")
    )
    rect = base.mark_rect(clip=True).encode(
        x=alt.X("lo:Q"),
        x2=alt.X2("hi:Q"),
        y=alt.Y("bottom:Q"),
        y2=alt.Y2("top:Q"),
        opacity=frame.opacity(0.13 if len(rows) <= MANY else 0.04),
    )
    knee = (
        base.transform_filter("!datum.is_open")
        .mark_rule(clip=True, strokeDash=[2, 3])
        .encode(
            x=alt.X("at:Q"),
            y=alt.Y("bottom:Q"),
            y2=alt.Y2("top:Q"),
            opacity=frame.opacity(),
            strokeWidth=frame.width(1.5),
        )
    )
    if len(rows) > MANY:
        return [rect, knee]
    return [rect, knee, *(words for row in rows for words in _named(frame, base, row))]


def _named(frame: Frame, base: alt.Chart, row: Record) -> list[alt.Chart]:
    """A band's number at the top: left of a band on the right, else inside; lines do not meet."""
    is_right = (number(row["lo"]) or 0.0) > MIDDLE
    words = base.transform_filter(alt.datum.place == row["place"]).mark_text(
        align="right" if is_right else "left",
        baseline="top",
        dx=-5 if is_right else 5,
        dy=4 + LINE * int(str(row["place"])),
        fontWeight="bold",
    )
    shown = words.encode(
        x=alt.X("lo:Q"), y=alt.YValue(0), text=alt.Text("label:N"), opacity=frame.opacity()
    )
    return [_rimmed(shown), shown]


def bounds(frame: Frame, services: list[ServiceFinding]) -> list[alt.Chart]:
    """The targets; one that several services share is drawn once."""
    shared: dict[tuple[float, float], list[str]] = {}
    for service in services:
        if service.qos:
            shared.setdefault((service.qos.q, service.qos.bound_ns), []).append(service.service)
    names = [service.service for service in services]
    called = labels.each(services)
    rows: list[Record] = [
        {
            "bound": bound_ns,
            "label": f"QoS {show.quantile(q)} ≤ {show.time(bound_ns)}"
            + (f", {', '.join(called[one] for one in who)}" if len(shared) > 1 else ""),
            "colour": series(names.index(who[0])) if len(who) == 1 else role("qos"),
            "service": who[0],
        }
        for (q, bound_ns), who in shared.items()
    ]
    if not rows:
        return []
    base = frame.sheet.chart("bounds", rows).encode(y=alt.Y("bound:Q"), tooltip=tooltip("label"))
    if all(len(who) == 1 for who in shared.values()):  # a target of several stays with each of them
        base = base.encode(opacity=frame.opacity())
    colour = alt.Color("colour:N", scale=None)
    words = base.mark_text(align="left", baseline="bottom", dx=5, dy=-3, fontWeight="bold").encode(
        x=alt.XValue(0), text=alt.Text("label:N")
    )
    rule = base.mark_rule(strokeWidth=1.5, strokeDash=[8, 4], clip=True).encode(color=colour)
    if len(rows) > MANY:
        return [rule]
    return [
        rule,
        _rimmed(words),
        words.encode(color=colour),
    ]


def _rimmed(words: alt.Chart) -> alt.Chart:
    """The same words in the ground's colour, broader: they stay readable over bands and grid."""
    return words.encode(
        color=alt.ColorValue(role("paper")),
        stroke=alt.StrokeValue(role("paper")),
        strokeWidth=alt.StrokeWidthValue(4),
    )
