"""Makes points of cells, attempt by attempt: keys that stay over resumes, seeds that follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b

from sojourn.plan.points import Cell, Course, Outcome, Phase, Point
from sojourn.plan.setting import Setting
from sojourn.spec import Study

DOUBLINGS = 2
GROWN_ENOUGH = 2  # runs at one load, of any blocks


def seed_of(study: Study, key: str) -> int:
    """The seed of a study's point, or of an order: it depends on the study's seed and the key."""
    return derived(study.seed, key)


def derived(seed: int, key: str) -> int:
    """A seed of 48 bits, never 0, that depends on another seed and a text only."""
    digest = blake2b(f"{seed}/{key}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") or 1


def point(
    study: Study,
    cell: Cell,
    attempt: int = 0,
    *,
    measure_s: float,
    offered_rps: float | None = None,
    fraction: float | None = None,
    overrides: tuple[tuple[str, str | float | int | bool], ...] = (),
) -> Point:
    """One point: an attempt, from 0, at a cell."""
    key = cell.key(attempt)
    return Point(
        key=key,
        service=cell.service,
        phase=cell.phase,
        setting=cell.setting,
        offered_rps=None if offered_rps is None else rounded(offered_rps),
        fraction=fraction,
        repeat=cell.repeat,
        measure_s=measure_s,
        warmup_s=study.run.warmup_s,
        seed=seed_of(study, key),
        overrides=overrides,
    )


def rounded(rps: float) -> float:
    """Four significant digits: loads that people can read and type again."""
    return float(f"{rps:.4g}")


class Tried:
    """What became of the cells of one service in one phase, attempt by attempt.

    The plan asks for every cell at every point, so cells are found by number and text, which
    Python compares without a call.
    """

    def __init__(self, outcomes: Iterable[Outcome], phase: Phase) -> None:
        self._runs: dict[tuple[int, str], list[Outcome]] = {}
        for outcome in outcomes:
            point = outcome.point
            if point.phase is phase:
                self._runs.setdefault((point.repeat, point.setting.text), []).append(outcome)

    def at(self, repeat: int, setting: Setting) -> Sequence[Outcome]:
        """All attempts at the cell of this block and setting, in order."""
        return self._runs.get((repeat, setting.text), ())


def is_open(tried: Sequence[Outcome], retries: int) -> bool:
    """Whether a point wants another attempt: none was believable, and there may be one more."""
    return len(tried) <= retries and not any(o.is_believed for o in tried)


def is_overloaded(tried: Iterable[Outcome]) -> bool:
    """Whether the runs at one load show that it is more than the server can take.

    A queue may grow beside a burst in one run; it hardly does so in two.
    """
    return sum(o.course is Course.GROWS for o in tried) >= GROWN_ENOUGH


def longer(point: Point, tried: Sequence[Outcome]) -> Point:
    """Another attempt at a point, longer by what those before it were not in steady state for (M8).

    After a cold start the warm-up is twice as long, after a run that moved all of it; at most
    twice so.
    """
    unsteady = [o.course for o in tried if o.course is not Course.STEADY]
    moved = [course for course in unsteady if course is not Course.COLD]
    return replace(
        point,
        warmup_s=point.warmup_s * 2 ** min(DOUBLINGS, len(unsteady)),
        measure_s=point.measure_s * 2 ** min(DOUBLINGS, len(moved)),
    )
