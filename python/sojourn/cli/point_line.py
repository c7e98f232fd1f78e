"""What became of a point, in one line of at most 110 characters.

The place in the plan, the load, the p99, the verdict and its three words stand in every line; the
service, levels and what all runs say so far are shortened to the room that is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.analysis import reasons
from sojourn.analysis.load_point import SURE
from sojourn.browse.words import chance, load_words
from sojourn.plan import Outcome, Point, Verdict, design
from sojourn.plan.evidence import is_late
from sojourn.plan.points import Course
from sojourn.report import labels
from sojourn.spec import Study
from sojourn.units import show_count, show_ns

WIDTH = 110
SERVICE, LEVEL = 14, 8  # characters that a name and a level keep at least, where they are longer
AGAIN = "again"  # the point was measured before, and was not valid
BORDERLINE = "borderline"
_TAIL = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line in three parts: what was measured, the verdict in a word, and what belongs to it."""

    before: str
    word: str
    after: str

    @property
    def text(self) -> str:
        """The line as it is printed, without colours."""
        return f"{self.before}{self.word}{self.after}"


def line(
    study: Study, outcome: Outcome, outcomes: Sequence[Outcome], *, place: str, so_far: str = ""
) -> Line:
    """One point.

    Args:
        study: with its factors.
        outcome: of the point.
        outcomes: all so far, this one included.
        place: in the plan: `14/42`.
        so_far: what all runs of its combination say; left out where there is no room.
    """
    point = outcome.point
    word, why = _verdict(study, outcome, outcomes)
    again = _again(study, point)
    fixed = [place, load_words(point), again, p99(outcome), word, why]
    room = WIDTH + 2 - sum(len(part) + 2 for part in fixed if part)  # no gap after the last
    service = _cut(point.service, max(SERVICE, room - LEVEL))
    room -= len(service) + 1
    phase = str(point.phase) if len(point.phase) + 1 <= room else ""
    room -= len(phase) + 1 if phase else 0
    levels = shortened(_levels(study, point), room - 2)
    room -= len(levels) + 2 if levels else 0
    after = [why, so_far if len(so_far) + 2 <= room else ""]
    what = " ".join(part for part in (service, phase, load_words(point)) if part)
    before = [place, what, levels, again, p99(outcome)]
    return Line(
        before="  ".join(part for part in before if part) + "  ",
        word=word,
        after="".join(f"  {part}" for part in after if part),
    )


def p99(outcome: Outcome) -> str:
    """`p99 145 µs`, `p99 ≤145 µs`, `p99 (145 µs)` if it is not believed; the rate of a peak."""
    if outcome.point.offered_rps is None:
        text = f"{show_count(outcome.achieved_rps)}/s"
        return f"({text})" if outcome.verdict is Verdict.UNKNOWN else text
    p99_ns = outcome.p99_ns
    if not outcome.is_believed and p99_ns is not None:
        return f"p99 ({show_ns(p99_ns)})"
    if p99_ns is None:
        return "p99 never" if outcome.is_lost(_TAIL) else "p99 –"
    return f"p99 ≤{show_ns(p99_ns, 1)}" if is_late(outcome) else f"p99 {show_ns(p99_ns)}"


def _verdict(study: Study, outcome: Outcome, outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """The verdict in a word, by all runs so far where they decide, and what belongs to it."""
    if outcome.verdict is Verdict.UNKNOWN:
        why = reasons.short(outcome.reasons[0]) if outcome.reasons else "nothing was measured"
        return outcome.verdict.value, why
    if outcome.course is not Course.STEADY:
        return Verdict.UNKNOWN.value, reasons.of_course(outcome.course)
    likely = chance(study, outcome, outcomes)
    if likely is None:
        return outcome.verdict.value, ""
    is_sure = likely >= SURE or likely <= 1 - SURE
    verdict = Verdict.HOLDS if likely >= SURE else Verdict.VIOLATED
    return verdict.value if is_sure else BORDERLINE, f"P = {likely:.2f}"


def _again(study: Study, point: Point) -> str:
    """`again`, and for how many times as long, because it was not steady before."""
    if point.key == point.cell.key():
        return ""
    times = point.warmup_s / study.run.warmup_s if study.run.warmup_s else 1.0
    return f"{AGAIN} {times:.0f}× as long" if times > 1 else AGAIN


def _levels(study: Study, point: Point) -> list[str]:
    """`2 threads`: of the factors that the service feels, as the report has them."""
    return labels.map_labels(design.own_levels(study, point).items())


def shortened(parts: Sequence[str], room: int) -> str:
    """Levels in at most `room` characters: the longest are cut first, then the last left out.

    >>> parts = ("xz on the same CPU as SCHED_IDLE", "2 threads")
    >>> shortened(parts, 60)
    'xz on the same CPU as SCHED_IDLE  2 threads'
    >>> shortened(parts, 32), shortened(parts, 18), shortened(parts, 3)
    ('xz on the same CPU a…  2 threads', 'xz on …  2 threads', '')
    """
    left = list(parts)
    while left and _length(left) > room:
        longest = max(left, key=len)
        spare = len(longest) - max(LEVEL - 1, len(longest) - (_length(left) - room))
        if spare > 0 and longest[-1:] != "…":
            left[left.index(longest)] = _cut(longest, len(longest) - spare)
        else:
            left.pop()
    return "  ".join(left)


def _length(parts: Sequence[str]) -> int:
    return sum(map(len, parts)) + 2 * (len(parts) - 1)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
