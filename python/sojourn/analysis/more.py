"""The one command that would settle what a study leaves open, and how long it takes (M37).

Effects of factors say by themselves how many blocks they want: their half-width on the logarithm is
h = t(n − 1)·s/√n of n blocks, so that s is known, and with it the least n at which the interval
spans a factor of three at most. Where a block is infinite, it is the least n of which the median
has an interval. Where a question knows of no such number, four times as much of what it asks for
halves its intervals. A study that is not finished wants no more than its rest.

A command measures the whole study: its time is that of all services and combinations.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from sojourn.analysis import counted, reasons, rerun
from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.effect_sentences import LIMIT, NO_LOAD_SOME, PEAK, UNLIKE
from sojourn.findings.effects import INFINITE_IN, Effect
from sojourn.findings.findings import Findings
from sojourn.findings.measured import StudyData
from sojourn.findings.state import Settle
from sojourn.half_width import student
from sojourn.plan import design, difference
from sojourn.plan.left_out import ABANDONED
from sojourn.plan.points import Outcome, Phase
from sojourn.plan.rehearsal import Rehearsal
from sojourn.spec import Study
from sojourn.stats.log_ratio_contrasts import BLOCKS_MIN, blocks_for_middle

HALVES = 4  # times as much halves an interval
AIM = 0.9  # of the widest interval that answers, on the logarithm: the next one scatters too
BLOCKS_MAX = 1000
SHIELD = "run.shield"
REPEATS, PEAKS, SEARCH = "run.repeats", "run.peak_repeats", "run.search.budget_s"
_KEYS = {LIMIT: SEARCH, PEAK: PEAKS}  # what these numbers want more of, other than blocks
_INFINITE = re.compile(INFINITE_IN.format(r"(\d+)", r"(\d+)"))


def settle(
    data: StudyData, findings: Findings, who: Sequence[Answer], left: Rehearsal | None = None
) -> Settle | None:
    """What would settle the rest; None where nothing was measured, or where no more runs can.

    Args:
        data: the study and its points; more runs of wrong replies are wrong as well.
        findings: what it found.
        who: the questions that speak for the study; () where its factors do.
        left: what an unfinished study still has to measure; None of one that is finished.
    """
    if not data.measured or _are_replies_wrong(data):
        return None
    takes_values = rerun.takes_values(data)
    if takes_values and (any_length := _any_length(data)):
        return any_length
    if left is not None:
        return _rest(data, left)
    if own := [one for kind in who if (one := kind.settle(findings))]:
        longest = max(own, key=lambda one: one.seconds)
        return replace(longest, seconds=max(longest.seconds, _searched_s(data, longest.command)))
    if not takes_values:
        return None
    again = _failed(data, findings, who)
    return again or (_longer(data, findings, who) if who else _of_factors(data, findings))


def _rest(data: StudyData, left: Rehearsal) -> Settle:
    """The same command, which goes on where the study ended."""
    count = len(left.points)
    many = f"{count}{' or more' if left.is_cut else ''} points"
    what = "the point that is" if count == 1 else f"the {many} that are"
    return Settle(command=rerun.again(data), seconds=left.wall_s, why=f"measure {what} left")


def _failed(data: StudyData, findings: Findings, who: Sequence[Answer]) -> Settle | None:
    """All of it once more, where nothing is open but what has no answer at all.

    Such as combinations that failed, or questions beside those that speak for the study.
    """
    parts = [kind.counted(findings) for kind in who] or [counted.of_factors(findings.factors)]
    is_open = any(part is not None and part.done < part.of for part in parts)
    is_silent = findings.unanswered or any(one.state == ABANDONED for one in data.left_out)
    if is_open or not is_silent:
        return None
    return Settle(
        command=rerun.anew(data),
        seconds=sum(o.wall_s for o in _outcomes(data)),
        why="measure what has no answer, once it can run",
    )


def _longer(data: StudyData, findings: Findings, who: Sequence[Answer]) -> Settle:
    """Four times as much of what the open questions rest on, each phase as long as that makes it.

    A question may have no phase of its own, and judge what another one measures.
    """
    open_ = [kind for kind in who if _is_open(kind, findings)] or who
    keys = dict.fromkeys(key for kind in open_ for key in kind.wants(findings))
    times = {key: HALVES * _value(data.study, key) for key in keys}
    return Settle(
        command=rerun.with_values(data, times),
        seconds=_seconds(data, times),
        why="halve the intervals",
    )


def _is_open(kind: Answer, findings: Findings) -> bool:
    part = kind.counted(findings)
    return kind.name in findings.unanswered or part is None or part.done < part.of


def _searched_s(data: StudyData, command: str) -> float:
    """What a command takes in which every search has its new time; 0 if it sets none.

    Each service under each combination searches by itself, and all of them are measured anew.
    """
    typed = re.search(rf" --set {re.escape(SEARCH)}=([\d.]+)(?=\s|$)", command)
    if typed is None:
        return 0.0
    budget_s, rest_s = float(typed[1]), 0.0
    spent: dict[tuple[str, str], float] = defaultdict(float)
    for one in _outcomes(data):
        if one.point.phase is Phase.SEARCH:
            levels = design.own_levels(data.study, one.point)
            spent[one.point.service, levels.text] += one.wall_s
        else:
            rest_s += one.wall_s
    each = (
        max(spent_s, budget_s * data.study.service(label).stretch)
        for (label, _), spent_s in spent.items()
    )
    return rest_s + sum(each)


def _are_replies_wrong(data: StudyData) -> bool:
    """Whether every run failed because of what was replied, whatever its length."""
    firsts = [next(iter(one.reasons), "") for one in _outcomes(data)]
    return all(map(reasons.is_of_replies, firsts)) and not any(map(_is_of_length, firsts))


def _is_of_length(reason: str) -> bool:
    return reasons.WRONG_LENGTH.match(reason) is not None


def _any_length(data: StudyData) -> Settle | None:
    """Where every run failed because replies have several lengths: accept them all.

    More runs of the same kind would fail in the same way.
    """
    failed = [o for o in _outcomes(data) if any(map(reasons.WRONG_LENGTH.match, o.reasons))]
    labels = dict.fromkeys(o.point.service for o in failed)
    if not failed or len(failed) < len(data.measured):
        return None
    return Settle(
        command=rerun.with_values(
            data, {f"services.{one}.params.expect_bytes": 0 for one in labels}
        ),
        seconds=sum(o.wall_s for o in failed),
        why="accept replies of any length",
    )


def blocks_wanted(effect: Effect) -> int:
    """Blocks of which an effect's interval spans a factor of three at most, by its own scatter.

    One that has no interval yet is taken to scatter as equal runs usually do. One that is infinite
    in some blocks wants as many as its median needs for an interval.

    >>> from sojourn.stats.interval import Interval
    >>> of = Effect(what="p99", is_time=True, base="1", level="2", ratio=2.0, coverage=0.95,
    ...             interval=Interval(0.5, 8.0), blocks=3, reason="", doubt="", sentence="")
    >>> blocks_wanted(of)
    8
    """
    if infinite := _INFINITE.match(effect.reason):
        return blocks_for_middle(int(infinite[1]))
    aim = AIM * math.log(counted.SPAN_MAX) / 2
    if effect.interval is None or effect.blocks < BLOCKS_MIN:
        return difference.blocks_for(math.exp(aim), difference.SPREAD, most=BLOCKS_MAX)
    half = math.log(effect.interval.hi / effect.interval.lo) / 2
    freedom = effect.blocks - 1
    of_one = half * math.sqrt(effect.blocks) / student(freedom)
    return difference.blocks_for(math.exp(aim), of_one / math.sqrt(2), most=BLOCKS_MAX)


def _is_closable(effect: Effect) -> bool:
    """Whether more of anything can settle it.

    Nothing can where no load fits, or where all blocks are infinite.
    """
    if effect.reason == NO_LOAD_SOME:
        return False
    infinite = _INFINITE.match(effect.reason)
    return not infinite or infinite[1] != infinite[2] or int(infinite[2]) < BLOCKS_MIN


def _of_factors(data: StudyData, findings: Findings) -> Settle | None:
    """More blocks of the sweep, of the peaks, or a longer search: what the open effects rest on.

    None where nothing of that can settle any of them.
    """
    every = list(chain.from_iterable(map(counted.open_effects, findings.factors)))
    left = [effect for effect in every if _is_closable(effect)]
    if every and not left:
        return None
    run = data.study.run
    is_unlike = any(effect.reason.startswith(UNLIKE) for effect in left)
    now: dict[str, float] = {REPEATS: run.repeats, PEAKS: run.peak_repeats}
    wanted: dict[str, float] = {}
    for effect in left:
        key = _KEYS.get(effect.what, REPEATS)
        if key == SEARCH:
            value = _search_s(effect, run.search.budget_s)
        else:
            lost = now[key] / effect.blocks if effect.blocks else 1.0  # blocks without a number
            value = min(BLOCKS_MAX, math.ceil(blocks_wanted(effect) * max(1.0, lost)))
            value = max(value, now[key] + 1)
        wanted[key] = max(value, wanted.get(key, 0.0))
    if not wanted:
        wanted = {REPEATS: HALVES * run.repeats}  # trends alone are open
    seconds = _seconds(data, wanted)
    why = f"bring {len(left) or 'all'} intervals within a factor of {counted.SPAN_MAX:g}"
    why = why.replace(" 1 intervals", " 1 interval")
    shield = {SHIELD: "none"} if is_unlike else {}
    return Settle(command=rerun.with_values(data, {**wanted, **shield}), seconds=seconds, why=why)


def _search_s(effect: Effect, budget_s: float) -> float:
    """Its width falls as 1/√time; open ends take twice as long at least."""
    ends, aim = effect.interval, AIM * math.log(counted.SPAN_MAX)
    times = (math.log(ends.hi / ends.lo) / aim) ** 2 if ends else 2.0
    return 10.0 * math.ceil(max(2.0, times) * budget_s / 10.0)


def _seconds(data: StudyData, values: Mapping[str, float]) -> float:
    """What the study takes with these values, s: each phase grows with its own keys."""
    grown = {key: value / _value(data.study, key) for key, value in values.items()}
    return sum(
        o.wall_s * math.prod(grown.get(key, 1.0) for key in _grows_with(data, o.point.phase))
        for o in _outcomes(data)
    )


def _grows_with(data: StudyData, phase: Phase) -> Sequence[str]:
    return data.questions.kind_of(phase).grows_with


def _outcomes(data: StudyData) -> list[Outcome]:
    return [measured.outcome for measured in data.measured]


def _value(study: Study, key: str) -> float:
    """A number of the study by its dotted key."""
    node: object = study
    for name in key.split("."):
        node = getattr(node, name)
    assert isinstance(node, int | float)  # noqa: S101  # keys of the table above
    return node
