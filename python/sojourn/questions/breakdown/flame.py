"""Time by stack of the slowest requests beside the others: a flame graph of each, side by side.

Drawn anew from the tracer's folded lines, so that it follows the page's colours and widths and is
saved like every other figure; the tracer's own picture lies in the point's folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sojourn.findings.findings import ServiceFinding
from sojourn.questions.breakdown.findings import Breakdown, Culprits
from sojourn.questions.breakdown.show import blamed
from sojourn.report import labels, show
from sojourn.report.draw import marks, palette
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Figure, Kind, Sheet, Spec, finish
from sojourn.report.draw.lookup import slug
from sojourn.report.draw.table import Record, from_records

COLUMNS = ("of", "stack", "mean_ns", "time_share")
OTHERS = "others"  # first frame of stacks that are not the tail's, as the tracer writes it
LEAST = 0.006  # of a group's width: narrower frames are left out of the picture, not of the CSV
GAP = 0.04  # between the groups, as a share of one
ROW = 20  # px
HEAD = 2  # rows above the frames, for the groups' names
LETTER = 6.8  # px of a letter of the frames' font
ROOT = "thread"
# The frame below the thread says what its time is; the tracer's words.
KINDS = {
    "waits for a CPU": "stage-wait-0",
    "sleeps": "stage-irq-0",
    "interrupted": "stage-user",
    "behind other requests": "series-4",
    "works": "stage-call-0",
    "other": "stage-rest-2",
}


@dataclass(slots=True)
class Node:
    """A frame with all that stands on it; times in µs over all requests of the group."""

    us: float = 0.0
    children: dict[str, Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame's place: `x` and `wide` are shares of its group, `level` rows above the thread."""

    name: str
    kind: str
    x: float
    wide: float
    level: int


def draw(service: ServiceFinding) -> list[Figure]:
    """The flame graph at the load whose culprits the answer names; none if no one was asked for."""
    section = service.section(Breakdown)
    column = next((c for c in blamed(section) if section and c.name == section.accused), None)
    if column is None or column.culprits is None:
        return []
    title = f"{labels.called(service)}: what the slowest requests wait for, {column.name}"
    name = slug(f"{service.service}-flame")
    table = from_records(COLUMNS, list(_lines(column.culprits)))
    chart = _chart(column.culprits, title)
    if chart is None:
        why = f"There are no stacks: {column.culprits.answer.rstrip('.')}."
        return [Figure(name=name, title=title, caption="", alt="", table=table, missing=why)]
    return [
        Figure(
            name=name,
            title=title,
            caption=(
                "All the time of both groups of requests, each as wide as its own mean request."
                " Frames are the thread that served, what it waited behind or slept in, what"
                " interrupted it, and the stages in which it worked. Functions of the program come"
                " first, then those of the kernel, ending in _[k]. Slow requests have more of what"
                " is wide on the left and narrow on the right. Frames narrower than 0.6 %, threads"
                " apart, are in the CSV alone;"
                " flame.svg in the folder of each traced point is the tracer's own picture."
            ),
            alt=column.culprits.answer,
            table=table,
            chart=chart,
            is_wide=True,
        )
    ]


def groups(culprits: Culprits) -> tuple[tuple[str, str, int], ...]:
    """(first frame of its stacks, name for people, requests) of tail and body."""
    tail = show.quantile(culprits.q)
    return (tail, f"at and above {tail}", culprits.requests), (
        OTHERS,
        "the others",
        culprits.others,
    )


def _lines(culprits: Culprits) -> Iterator[Record]:
    """Each stack with its mean time per request of its group."""
    for first, name, requests in groups(culprits):
        own = [(frames[1:], us) for frames, us in culprits.stacks if frames[0] == first]
        total = sum(us for _, us in own) or 1.0
        for frames, us in sorted(own, key=lambda one: -one[1]):
            yield {
                "of": name,
                "stack": ";".join(frames),
                "mean_ns": 1e3 * us / max(1, requests),
                "time_share": us / total,
            }


def tree(stacks: Sequence[tuple[tuple[str, ...], float]]) -> Node:
    """Stacks by their common frames.

    >>> root = tree([(("a", "b"), 2.0), (("a", "c"), 1.0)])
    >>> root.us, root.children["a"].us, sorted(root.children["a"].children)
    (3.0, 3.0, ['b', 'c'])
    """
    root = Node()
    for frames, us in stacks:
        node = root
        node.us += us
        for frame in frames:
            node = node.children.setdefault(frame, Node())
            node.us += us
    return root


def _frames(node: Node, at: Frame) -> Iterator[Frame]:
    """The frames on a node, left to right by name, each with its own above it."""
    x = at.x
    for name, child in sorted(node.children.items()):
        wide = at.wide * child.us / node.us if node.us else 0.0
        level = at.level + 1
        if wide >= LEAST or level == 0:
            kind = ROOT if level == 0 else name if level == 1 else at.kind
            frame = Frame(name, kind, x, wide, level)
            yield frame
            yield from _frames(child, frame)
        x += wide


def _chart(culprits: Culprits, title: str) -> Spec | None:
    """Both groups; None if there is no frame in either."""
    boxes: list[Record] = []
    heads: list[Record] = []
    for at, (first, name, requests) in enumerate(groups(culprits)):
        root = tree([(stack[1:], us) for stack, us in culprits.stacks if stack[0] == first])
        each_ns = 1e3 * root.us / max(1, requests)
        left = at * (1 + GAP)
        frames = _frames(root, Frame("", ROOT, left, 1.0, -1))
        boxes += [_box(frame, name, each_ns) for frame in frames]
        heads.append({"x": left, "text": f"{name}: {requests:,}, {show.time(each_ns)} each"})
    tops = [box["top"] for box in boxes]
    if not boxes:
        return None
    rows = HEAD + max(int(top) for top in tops if top is not None)
    return _drawn(boxes, [{**head, "y": rows - 1} for head in heads], rows, title)


def _box(frame: Frame, of: str, each_ns: float) -> Record:
    return {
        "of": of,
        "frame": frame.name,
        "kind": frame.kind,
        "wide": frame.wide,
        "x": frame.x,
        "x2": frame.x + frame.wide,
        "low": frame.level,
        "y": frame.level + 0.5,
        "top": frame.level + 1,
        "time": f"{show.time(frame.wide * each_ns)} a request",
        "share": show.share(frame.wide),
    }


def _drawn(boxes: list[Record], heads: list[Record], rows: int, title: str) -> Spec:
    sheet = Sheet()
    across = alt.Scale(domain=[0, 2 + GAP], nice=False)
    up = alt.Scale(domain=[0, rows], nice=False)
    x, y = alt.X("x:Q", axis=None, scale=across), alt.Y("y:Q", axis=None, scale=up)
    colours = [palette.role("grid"), *(palette.role(role) for role in KINDS.values())]
    frames = (
        sheet.chart("frames", boxes)
        .mark_rect(stroke=palette.role("paper"), strokeWidth=0.6)
        .encode(
            x=x,
            x2=alt.X2("x2:Q"),
            y=alt.Y("low:Q", axis=None, scale=up),
            y2=alt.Y2("top:Q"),
            color=alt.Color(
                "kind:N", scale=alt.Scale(domain=[ROOT, *KINDS], range=colours), title=None
            ),
            tooltip=marks.tooltip("of", "frame", "time", "share"),
        )
    )
    room = f"(datum.wide * width / {2 + GAP} - 8)"
    names = (
        alt.Chart(alt.NamedData("frames"))
        .transform_filter(f"{room} > {4 * LETTER}")
        .mark_text(align="left", dx=4, fontSize=11, limit=alt.ExprRef(expr=f"max(1, {room})"))
        .encode(
            x=x,
            y=y,
            text=alt.Text("frame:N"),
            color=alt.condition(
                f"datum.kind == '{ROOT}'",
                alt.value(palette.role("ink")),
                alt.value(palette.role("paper")),
            ),
        )
    )
    words = (
        sheet.chart("heads", heads)
        .mark_text(align="left", fontSize=12, fontWeight="bold", color=palette.role("ink"))
        .encode(x=x, y=y, text=alt.Text("text:N"))
    )
    chart = alt.layer(frames, names, words, width="container", height=ROW * rows)
    return finish(chart, sheet, title=title)


KIND = Kind(
    name="flame",
    place=92,
    about="time by stack of the slowest requests beside the others (M21, L3)",
    of_service=draw,
)
