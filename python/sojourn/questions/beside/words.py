"""What a neighbour costs, in words: more time a request, or where the tail breaks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from sojourn.plan.setting import level_text
from sojourn.questions.beside.costs import Beside
from sojourn.questions.beside.interference import Break, Number
from sojourn.text.numbers import load_share, percent, percentile
from sojourn.units import show_ns

SENTENCE_LOAD = 0.5  # the load whose difference is in the sentence, or the nearest
NAMED_MAX = 3


def others_words(most: Mapping[str, float]) -> str:
    """Who was neither service nor neighbour, in a sentence; "" if no one."""
    ranked = sorted(most.items(), key=lambda pair: -pair[1])[:NAMED_MAX]
    if not ranked:
        return ""
    text = ", ".join(f"{task} {percent(share)}" for task, share in ranked)
    return (
        f"Neither service nor neighbour, on the server's CPUs: {text} of their time, in the mean."
    )


def answer_sentences(each: Sequence[Beside]) -> Iterator[str]:
    """The answer: of one setting the difference, of several where they break."""
    for service, neighbour in dict.fromkeys((one.service, one.neighbour) for one in each):
        own = [one for one in each if (one.service, one.neighbour) == (service, neighbour)]
        if len(own) == 1:
            yield from cost_words(own[0])
        else:
            tail = percentile(own[0].q)
            parts = "; ".join(
                f"{_called(one)} {break_words(one.breaks)}{_left(one)}" for one in own
            )
            yield f"Beside {neighbour} the {tail} of {service} is twice that alone: {parts}."
    if text := _others_words(each):
        yield text


def _called(one: Beside) -> str:
    """A setting by the levels alone, where there is one factor."""
    return level_text(one.levels[0][1]) if len(one.levels) == 1 else one.setting or "as it is"


def break_words(result: Break) -> str:
    """Where a tail breaks, in words.

    >>> break_words(Break(0.1, 0.3, 0.6)), break_words(Break(0.6, math.inf, 0.6))
    ('between 10 % and 30 % load', 'not up to 60 % load')
    >>> break_words(Break(0.0, 0.1, 0.6)), break_words(Break(0.0, math.inf, 0.6))
    ('at 10 % load or below', 'undecided up to 60 % load')
    """
    if not result.most:
        return "not measured"
    if math.isinf(result.hi):
        if result.lo >= result.most:
            return f"not up to {load_share(result.most)} load"
        above = f" above {load_share(result.lo)}" if result.lo else ""
        return f"undecided{above} up to {load_share(result.most)} load"
    if not result.lo:
        return f"at {load_share(result.hi)} load or below"
    return f"between {load_share(result.lo)} and {load_share(result.hi)} load"


def _left(one: Beside) -> str:
    return f" (neighbour kept {share_words(one.kept)})" if one.kept else ""


def pace_words(shared: Sequence[float], every: Sequence[float]) -> Iterator[str]:
    """Over which loads a neighbour's pace is averaged, where these are not all.

    Args:
        shared: loads that every block of all settings has.
        every: all at which any pace is known.

    >>> list(pace_words([0.1, 0.3], [0.1, 0.3, 0.6]))
    ["The neighbour's pace is the mean over 10 %, 30 % load; at 60 % a block has no valid run."]
    >>> list(pace_words([0.1], [0.1]))
    []
    """
    left = [load_share(load) for load in every if load not in shared]
    if not left:
        return
    if not shared:
        yield "The neighbour's pace has no mean: no load has a valid run in every block."
        return
    over, at = ", ".join(map(load_share, shared)), ", ".join(left)
    yield f"The neighbour's pace is the mean over {over} load; at {at} a block has no valid run."


def share_words(result: Number) -> str:
    """A share in percent, with its interval where it has one.

    >>> from sojourn.stats.interval import Interval
    >>> share_words(Number(0.912, Interval(0.9, 0.93))), share_words(Number(0.5))
    ('91 % (90 to 93 %)', '50 % (one block)')
    """
    value = percent(result.value)
    if result.interval is None:
        return f"{value} (one block)"
    return f"{value} ({100 * result.interval.lo:.0f} to {100 * result.interval.hi:.0f} %)"


def time_words(result: Number) -> str:
    """A difference in time, with its interval and its sign.

    >>> from sojourn.stats.interval import Interval
    >>> time_words(Number(1500.0, Interval(-200.0, 3000.0)))
    '+1.50 µs (−0.20 to +3.00 µs)'
    >>> time_words(Number(1500.0, Interval(-200.0, math.inf)))
    '+1.50 µs (−0.20 to +∞ µs)'
    """

    def us(ns: float) -> str:
        size = f"{abs(ns) / 1e3:.2f}" if math.isfinite(ns) else "∞"
        return f"{'−' if ns < 0 else '+'}{size}"

    ends = result.interval
    between = f"{us(ends.lo)} to {us(ends.hi)} µs" if ends else "no interval"
    return f"{us(result.value)} µs ({between})"


def cost_words(one: Beside) -> Iterator[str]:
    """What the neighbour costs a request at the load that is reported."""
    known = [row for row in one.rows if row.mean_ns]
    if not known:
        return
    row = min(known, key=lambda row: (abs(row.load - SENTENCE_LOAD), row.load))
    assert row.mean_ns  # noqa: S101  # chosen so
    under = f" with {one.setting}" if one.setting else ""
    tail = percentile(one.q)
    yield (
        f"Beside {one.neighbour} {one.service}{under} takes {time_words(row.mean_ns)} a request "
        f"more than alone in the mean, at {load_share(row.load)} load"
        + (f", and {time_words(row.tail_ns)} more at {tail}" if row.tail_ns else "")
        + f"; its {tail} is twice that alone {break_words(one.breaks)}{_left(one)}."
    )


def _others_words(each: Sequence[Beside]) -> str:
    """Who else ran on the server's CPUs, the most of any setting."""
    most: dict[str, float] = {}
    for one in each:
        for task, share in one.others or ():
            most[task] = max(share, most.get(task, 0.0))
    return others_words(most)


def tail_ns(ns: float | None) -> str:
    """A time for people; "lost" where requests never came back."""
    if ns is None:
        return "–"
    return "lost" if math.isinf(ns) else show_ns(ns)
