"""How a run or a point looks by what became of it: shape and fill say it, colour repeats it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sojourn.findings.load_point import LoadPoint, Run
from sojourn.plan.points import Verdict
from sojourn.report import show
from sojourn.report.draw.charts import alt
from sojourn.report.draw.known import Known, Sort
from sojourn.report.draw.palette import role
from sojourn.report.draw.table import Cell

CROSS = "M-0.8,-0.8L0.8,0.8M-0.8,0.8L0.8,-0.8"
ARROW = "M-0.9,0.1L0,-1L0.9,0.1L0.35,0.1L0.35,1L-0.35,1L-0.35,0.1Z"  # upwards
KITE = "M-0.7,-0.2L0,-0.8L0.7,-0.2L0,1Z"  # a diamond that points downwards
SHIELD = "M-0.7,-0.8L0.7,-0.8L0.7,0.1L0,0.9L-0.7,0.1Z"  # a square that does
DOUBTED = Sort.DOUBTED.value
AT_MOST = " ≤"  # after the verdict of a number that is an upper bound

# status: (shape, role of the stroke, is filled); in the order of the legend. Hollow is what is not
# believed and nothing else.
_LOOKS: dict[str, tuple[str, str, bool]] = {
    "holds": ("circle", "holds", True),
    f"holds{AT_MOST}": ("triangle-down", "holds", True),
    "violated": ("diamond", "violated", True),
    f"violated{AT_MOST}": (KITE, "violated", True),
    "undecided": ("square", "unknown", True),
    f"undecided{AT_MOST}": (SHIELD, "unknown", True),
    Sort.AT_LEAST.value: ("triangle-up", "unknown", True),
    Sort.ENDLESS.value: (ARROW, "violated", True),
    DOUBTED: ("circle", "unknown", False),
    Sort.NOTHING.value: (CROSS, "unknown", False),
}


STATUSES = tuple(_LOOKS)


def word(result: Run | LoadPoint) -> str:
    """The verdict in words that keep apart what is not believed and what is not decided."""
    if result.verdict is Verdict.UNKNOWN:
        return "undecided" if result.is_believed else DOUBTED
    return result.verdict.value


def status(result: Run | LoadPoint, known: Known) -> str:
    """What the mark of a number says: its verdict, or what else is known of it."""
    if known.sort is Sort.NUMBER:
        return word(result)
    return word(result) + AT_MOST if known.sort is Sort.AT_MOST else known.sort.value


def colours(statuses: Sequence[str]) -> list[str]:
    """The colour of each status."""
    return [role(_LOOKS[name][1]) for name in statuses]


def run_tooltip(run: Run, fraction: float) -> dict[str, Cell]:
    """The fields that every run's tooltip shows."""
    return {
        "offered": f"{show.load(fraction)} of max RPS, {show.count(run.offered_rps)} requests/s",
        "restart": run.repeat + 1,
        "run": run.key,
        "verdict": word(run),
        "reason": show.sentences(run.reasons) or "–",
    }


TOOLTIP = ("offered", "restart", "verdict", "reason")


def tooltip(*fields: str) -> list[alt.Tooltip]:
    """Tooltips from fields that already hold text."""
    return [alt.Tooltip(f"{field}:N", title=field) for field in fields]


def encodings(statuses: Iterable[str], *, legend: bool = True) -> dict[str, object]:
    """Shape, stroke and fill by the field `status`, with one legend for those that occur."""
    present = [name for name in _LOOKS if name in set(statuses)]
    looks = [_LOOKS[name] for name in present]
    key = alt.Legend(title=None) if legend else None

    def channel(kind: type, values: list[str]) -> object:
        return kind("status:N", scale=alt.Scale(domain=present, range=values), legend=key)

    return {
        "shape": channel(alt.Shape, [shape for shape, _, _ in looks]),
        "stroke": channel(alt.Stroke, [role(name) for _, name, _ in looks]),
        "fill": channel(
            alt.Fill, [role(name) if full else "transparent" for _, name, full in looks]
        ),
    }
