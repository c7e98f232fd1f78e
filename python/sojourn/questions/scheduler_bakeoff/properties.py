"""Whether a scheduler setting reserves, conserves work, and lets say who goes first (L24, L25).

    reservations     two want all of a CPU; each gets the share that its level names, or a half
                     where it names none, but for `MARGIN` of the CPU
    work conserving  the first sleeps; the second gets more than its own share, by `MARGIN`
    preemption       one that wakes beside a hog waits longer under one value of the level's own
                     parameter than under another, by a factor of `CHANGED`

Each is judged by Student's 95 % interval over windows. Where others used the CPU meanwhile what was
missing may be theirs, so a "no" is undecided then.

Source: Leverich and Kozyrakis, EuroSys 2014, section 4.3 (L24, L25), for what is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sojourn.papers.schedulers import CONSERVES, NO, PREEMPTS, RESERVES, YES
from sojourn.questions.beside import interference as beside
from sojourn.questions.beside.interference import Number
from sojourn.questions.scheduler_bakeoff.files import Properties, Waking
from sojourn.stats.method import Method

METHOD = Method(
    name="properties",
    about="what a scheduler setting can do, by processes of the lab's own under it",
    ids=("L24", "L25"),
    source="Leverich and Kozyrakis, EuroSys 2014",
)

UNDECIDED = "undecided"  # or YES or NO, as the paper has them
ALL = (RESERVES, CONSERVES, PREEMPTS)
MARGIN = 0.1  # of a CPU
HALF = 0.5
OTHERS_MAX = 0.05  # of the CPU, of others and of the host; more may be what was missing
FULL = 0.85  # a share of its own that leaves nothing to be seen to take
CHANGED = 1.5
BATCHES = 10
WINDOWS_MIN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """One property of one setting.

    Attributes:
        name: `RESERVES`, `CONSERVES` or `PREEMPTS`.
        verdict: "yes", "no" or "undecided".
        said: the number that it rests on, with its interval.
    """

    name: str
    verdict: str
    said: str


def judged(seen: Sequence[Properties]) -> tuple[Property, ...]:
    """All three of one setting.

    Args:
        seen: of its measurements, one at least.
    """
    return reserves(seen), conserves(seen), preempts(seen)


def reserves(seen: Sequence[Properties]) -> Property:
    """Whether both get what their levels name."""
    known = [one.share for one in seen if len(one.share.got) == 2]
    labels = seen[0].labels
    numbers = [_mean([s for one in known for s in one.got[nth]]) for nth in range(2)]
    if not known or None in numbers:
        return _unknown(RESERVES, [one.share.refused for one in seen])
    asked = known[-1].asked
    wanted = [share if share is not None else HALF for share in asked]
    is_busy = _is_busy([(one.others, one.steal) for one in known])
    texts, verdicts = [], []
    for label, share, want, got in zip(labels, asked, wanted, numbers, strict=True):
        assert got is not None  # noqa: S101  # looked at above
        named = f"{want:.2f} asked" if share is not None else f"{want:.2f}, its level names none"
        texts.append(f"{label} {_share(got)} of {named}")
        verdicts.append(_at_least(got, want - MARGIN, is_busy=is_busy))
    return Property(name=RESERVES, verdict=_all(verdicts), said="; ".join(texts) + _busy(is_busy))


def conserves(seen: Sequence[Properties]) -> Property:
    """Whether the second takes what the first leaves idle."""
    known = [one.sleeps for one in seen if one.sleeps.got]
    got = _mean([s for one in known for s in one.got])
    if got is None:
        return _unknown(CONSERVES, [one.sleeps.refused for one in seen])
    asked = next((one.share.asked[1] for one in seen if len(one.share.asked) == 2), None)
    own = asked if asked is not None else HALF
    is_busy = _is_busy([(one.others, one.steal) for one in known])
    label = seen[0].labels[1]
    text = f"{label} {_share(got)} while the other sleeps, {own:.2f} its own{_busy(is_busy)}"
    if own > FULL:
        return Property(name=CONSERVES, verdict=UNDECIDED, said=f"{text}: it leaves nothing")
    verdict = _at_least(got, own + MARGIN, is_busy=is_busy)
    return Property(name=CONSERVES, verdict=verdict, said=text)


def preempts(seen: Sequence[Properties]) -> Property:
    """Whether the level's own parameter changes how late one runs that wakes beside a hog."""
    batches: dict[str, list[float]] = {}
    for one in seen:
        for run in one.wake.runs:
            batches.setdefault(run.level, []).extend(_batches(run))
    means = ((level, _mean(values)) for level, values in batches.items())
    each = [(level, mean) for level, mean in means if mean is not None]
    if not each:
        return _unknown(PREEMPTS, [one.wake.refused for one in seen])
    text = " and ".join(f"{_late(late)} late under {level}" for level, late in each)
    if len(each) == 1:  # else it was not heard under the other value, or both are the same
        is_without = all(len(one.wake.runs) <= 1 for one in seen)
        verdict = NO if is_without else UNDECIDED
        why = "which has no parameter" if is_without else "and under no other value"
        return Property(name=PREEMPTS, verdict=verdict, said=f"{text}, {why}")
    verdict = _differ(each[0][1], each[1][1])
    is_coupled = any(one.wake.is_coupled for one in seen)
    coupled = "; its share of the CPU changes with it" if is_coupled and verdict == YES else ""
    return Property(name=PREEMPTS, verdict=verdict, said=f"{text}{coupled}")


def _batches(run: Waking) -> Iterator[float]:
    """Of each batch of wake-ups in a row, the second latest, ns: they depend on each other."""
    size = len(run.late_ns) // BATCHES
    for at in range(BATCHES if size >= 2 else 0):
        yield float(sorted(run.late_ns[at * size : (at + 1) * size])[-2])


def _differ(one: Number, other: Number) -> str:
    """Whether one time is surely, or surely not, `CHANGED` times the other."""
    ratio = beside.quotient(one, other) if min(one.value, other.value) > 0 else None
    ends = ratio.interval if ratio else None
    if ends is None:
        return UNDECIDED
    if ends.lo > CHANGED or ends.hi < 1 / CHANGED:
        return YES
    return NO if ends.lo >= 1 / CHANGED and ends.hi <= CHANGED else UNDECIDED


def _mean(values: Sequence[float]) -> Number | None:
    return beside.over_blocks(values) if len(values) >= WINDOWS_MIN else None


def _at_least(got: Number, want: float, *, is_busy: bool) -> str:
    assert got.interval is not None  # noqa: S101  # of several windows
    if got.interval.lo >= want:
        return YES
    return NO if got.interval.hi < want and not is_busy else UNDECIDED


def _all(verdicts: Sequence[str]) -> str:
    if NO in verdicts:
        return NO
    return YES if all(v == YES for v in verdicts) else UNDECIDED


def _is_busy(shares: Sequence[tuple[float | None, float | None]]) -> bool:
    return any((others or 0.0) + (steal or 0.0) > OTHERS_MAX for others, steal in shares)


def _busy(is_busy: object) -> str:
    return "; others used the CPU as well" if is_busy else ""


def _share(got: Number) -> str:
    assert got.interval is not None  # noqa: S101
    lo, hi = max(0.0, got.interval.lo), got.interval.hi
    return f"had {got.value:.2f} ({lo:.2f} to {hi:.2f})"


def _late(late: Number) -> str:
    assert late.interval is not None  # noqa: S101
    ends = (max(0.0, late.interval.lo), late.interval.hi)
    texts = [f"{ns / 1e6:.3g}" for ns in (late.value, *ends) if math.isfinite(ns)]
    return f"{texts[0]} ms ({texts[1]} to {texts[2]})"


def _unknown(name: str, refused: Sequence[str]) -> Property:
    why = next(filter(None, refused), "nothing was measured")
    return Property(name=name, verdict=UNDECIDED, said=why)
