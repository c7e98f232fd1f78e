"""How the search for the max load went, probe by probe (M18)."""

from __future__ import annotations

from sojourn import units
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.report import labels, show
from sojourn.report.draw import marks
from sojourn.report.draw.axes import COUNT_LABEL
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import slug
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Record, from_records
from sojourn.stats.interval import Interval

COLUMNS = ("probe", "offered_rps", "decision")
HEIGHT = 220

# decision: (shape, role, is filled)
_LOOKS = {
    "pass": ("circle", "holds", True),
    "fail": ("diamond", "violated", True),
    "undecided": ("square", "unknown", True),
    marks.DOUBTED: ("circle", "unknown", False),
}
_WORDS = {"unknown": marks.DOUBTED}


def draw(service: ServiceFinding) -> list[Figure]:
    """One figure; none if the study did not ask for the max load."""
    search = service.section(MaxLoad)
    if search is None:
        return []
    title = f"{labels.called(service)}: search for the max load within QoS"
    records: list[Record] = [
        {"probe": number, "offered_rps": offered, "decision": _WORDS.get(decision, decision)}
        for number, (offered, decision) in enumerate(search.probes, start=1)
    ]
    table = from_records(COLUMNS, records)
    name = slug(f"{service.service}-probes")
    if not records:
        why = show.sentences(search.reasons) or "no probe was made"
        return [
            Figure(
                name=name,
                title=title,
                caption="",
                alt="",
                table=table,
                missing=f"No search: {why}.",
            )
        ]
    return [
        Figure(
            name=name,
            title=title,
            caption=_caption(search),
            alt=f"{len(records)} probes; {_result(search)}.",
            table=table,
            chart=_chart(search, records, title),
        )
    ]


def _result(search: MaxLoad) -> str:
    if search.border is not None:
        return f"{show.border(search.border)} requests/s ({show.within(search.border)})"
    return f"the max load is {search.verdict}: {show.sentences(search.reasons) or 'undecided'}"


def _caption(search: MaxLoad) -> str:
    return (
        "What each run says by itself; the band is how much load fits by all of them together"
        f" (METHOD M18). {len(search.probes)} probes in {units.show_s(search.wall_s)}:"
        f" {_result(search)}."
    )


def _chart(search: MaxLoad, records: list[Record], title: str) -> Spec:
    sheet = Sheet()
    present = [name for name in _LOOKS if any(r["decision"] == name for r in records)]
    # A word that is not known here is drawn as what is not decided.
    words = dict.fromkeys(str(r["decision"]) for r in records)
    present += [word for word in words if word not in present]
    looks = [_LOOKS.get(name, _LOOKS["undecided"]) for name in present]

    def channel(kind: type, values: list[str]) -> object:
        return kind(
            "decision:N",
            scale=alt.Scale(domain=present, range=values),
            legend=alt.Legend(title=None),
        )

    rows = [
        r | {"shown": f"{show.count(float(r['offered_rps'] or 0))} requests/s"} for r in records
    ]
    x = alt.X(
        "probe:O",
        title="probe, in order of time",
        axis=alt.Axis(labelAngle=0, labelOverlap="parity"),
    )
    y = alt.Y(
        "offered_rps:Q",
        title="offered load, requests/s",
        axis=alt.Axis(labelExpr=COUNT_LABEL, tickCount=6),
        scale=alt.Scale(zero=False, padding=12),
    )
    base = sheet.chart("probes", rows).encode(x=x, y=y)
    path = base.mark_line(color=role("muted"), strokeWidth=1)
    dots = base.mark_point(size=80, strokeWidth=1.8, opacity=1).encode(
        shape=channel(alt.Shape, [shape for shape, _, _ in looks]),
        stroke=channel(alt.Stroke, [role(name) for _, name, _ in looks]),
        fill=channel(alt.Fill, [role(name) if full else "transparent" for _, name, full in looks]),
        tooltip=marks.tooltip("probe", "shown", "decision"),
    )
    layers = [*_band(search, sheet), path, dots]
    return finish(alt.layer(*layers, width="container", height=HEIGHT), sheet, title=title)


def _band(search: MaxLoad, sheet: Sheet) -> list[alt.Chart]:
    if search.border is None:
        return []
    interval_rps = search.border.interval_rps
    offered = [rps for rps, _ in search.probes]
    interval_rps = Interval(
        lo=interval_rps.lo or min(offered), hi=min(interval_rps.hi, max(*offered, interval_rps.lo))
    )
    row: Record = {"lo": interval_rps.lo, "hi": interval_rps.hi, "shown": _result(search)}
    band = sheet.chart("band", [row]).mark_rect(
        fill=role("band"), fillOpacity=0.18, stroke=role("band")
    )
    return [band.encode(y=alt.Y("lo:Q"), y2=alt.Y2("hi:Q"), tooltip=marks.tooltip("shown"))]


KIND = Kind(
    name="probes",
    about="the search for the max load within QoS, probe by probe (M12, M18)",
    of_service=draw,
    is_detail=True,
)
